"""Turns the user's data (datasets, generators, arrays, files, videos) into batches, unchecked.

There are two kinds of source:
- a tf.data.Dataset, a generator, any iterable or a callable yields whole batches;
- an array, a dict of arrays and .npy or .npz files hold examples along their first axis. They are
  cut into batches of `batch_size`, across the borders of files. The caller may ask to drop an
  incomplete last batch. Without a size, each array or file is one batch. An array of rank 0 holds
  no examples and goes into every batch as it is.

If the model takes only one input of strings, any other file (a video, an image) is an example: its
bytes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, TypeVar, Union

import numpy as np

# A batch as it comes: an array, a sequence of arrays in the inputs' order, or a dict by name.
RawBatch = Any
T = TypeVar("T")
PathLike = Union[str, "os.PathLike[str]"]
_ARRAYS = (".npy", ".npz")


class SourceError(Exception):
    """The data cannot be read; the message names the file or type and the cure."""


@dataclasses.dataclass(frozen=True)
class VideoFiles:
    """Video files read by the user's own function, one file after the other.

    `load` takes a path and gives one batch (an array, a tuple or a dict) or an iterator or list
    of batches, so that a long file need not be held at once.
    """

    paths: Sequence[PathLike]
    load: Callable[[str], Any]


def raw_batches(
    data: Any,
    input_names: Sequence[str],
    batch_size: int | None = None,
    drop_remainder: bool = False,
    limited: bool = False,
    strings: bool = False,
) -> Iterator[RawBatch]:
    """The batches of `data`, lazily. SourceError where `data` is of no known kind or no file.

    `limited`: the caller stops by itself, so the dataset may be endless. `strings`: the inputs are
    strings. Errors of the user's own code pass through unchanged.
    """
    as_bytes = strings and len(input_names) == 1
    if batch_size is not None and batch_size < 1:
        raise SourceError(f"batch_size is {batch_size}; it is at least 1")
    if data is None:
        raise SourceError("there is no data: it is None")
    if isinstance(data, VideoFiles):
        if isinstance(data.paths, (str, os.PathLike)):
            raise SourceError("VideoFiles.paths is one path; give a list of paths")
        if not data.paths:
            raise SourceError("VideoFiles.paths is empty; give the paths of some video files")
        return _videos(data)
    paths = named_paths(data)
    if paths is not None:
        return _cut(_files(paths, input_names, as_bytes), batch_size, drop_remainder)
    if isinstance(data, Mapping):
        return _cut(iter([dict(data)]), batch_size, drop_remainder)
    if isinstance(data, np.ndarray) or _is_tensor(data):
        name = _only(input_names, "an array")
        return _cut(iter([{name: data}]), batch_size, drop_remainder)
    if _is_dataset(data):
        if not limited and _cardinality(data) == -1:
            raise SourceError(
                "the dataset repeats without end; say how many batches to take, or drop .repeat()"
            )
        return iter(eagerly(data.as_numpy_iterator))
    if callable(data):
        return _called(data, input_names, batch_size, drop_remainder, limited, strings)
    if isinstance(data, Iterable):
        return _iterated(data)
    raise SourceError(
        f"data of type {type(data).__name__} is no tf.data.Dataset, iterable, callable, array, "
        "VideoFiles, .npy or .npz file, nor a folder or pattern of them"
    )


def eagerly(function: Callable[[], T]) -> T:
    """Calls `function` in eager mode, even inside a `with tf.Graph()` block.

    TrtGraphConverter asks for batches inside such a block, where datasets cannot be read. The
    default graph belongs to one thread, so another thread is in eager mode.
    """
    tf = sys.modules.get("tensorflow")
    if tf is None or tf.executing_eagerly():
        return function()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def known_count(
    data: Any, batch_size: int | None = None, drop_remainder: bool = False
) -> int | None:
    """The number of batches in `data`, for a progress bar; None if only reading it would tell."""
    if _is_dataset(data):
        count = _cardinality(data)
        return count if count >= 0 else None
    if isinstance(data, Mapping):
        arrays = (value for value in data.values() if isinstance(value, np.ndarray))
        data = next((value for value in arrays if value.ndim), None)
    if isinstance(data, np.ndarray) and data.ndim:
        if not batch_size:
            return 1
        full, rest = divmod(len(data), batch_size)
        return full + bool(rest and not (drop_remainder and full))
    if isinstance(data, (list, tuple)) and not _is_paths(data):
        return len(data)
    return None


def read_once(data: Any) -> bool:
    """Whether the data, or that of a signature, is an iterator: it can be read only once."""
    if isinstance(data, Mapping):
        return any(map(read_once, data.values()))
    return hasattr(data, "__next__")


def named_paths(data: Any) -> Sequence[PathLike] | None:
    """The paths of files, folders and patterns that `data` is; None if it is anything else."""
    if isinstance(data, (str, os.PathLike)):
        return [data]
    return data if _is_paths(data) else None


def files_of(data: Any) -> list[Path]:
    """The files that `data` names, also in a dict by signature; none if it is made of objects."""
    if isinstance(data, Mapping):
        return [path for own in data.values() for path in files_of(own)]
    named = data.paths if isinstance(data, VideoFiles) else data
    paths = [named] if isinstance(named, (str, os.PathLike)) else named
    if not _is_paths(paths):
        return []
    found: list[PathLike] = []
    for path in paths:
        with contextlib.suppress(SourceError, OSError):  # strings may be an input's values
            found += [path] if isinstance(data, VideoFiles) else _expand(Path(path), True)
    return [Path(os.path.abspath(path)) for path in found if os.path.isfile(path)]


def _iterated(data: Iterable[RawBatch]) -> Iterator[RawBatch]:
    yield from data


def _called(
    data: Callable[[], Any],
    input_names: Sequence[str],
    batch_size: int | None,
    drop_remainder: bool,
    limited: bool,
    strings: bool,
) -> Iterator[RawBatch]:
    made = data()
    if callable(made) and not isinstance(made, Iterable):
        raise SourceError("the data is a callable that gave a callable; it must give an iterable")
    yield from raw_batches(made, input_names, batch_size, drop_remainder, limited, strings)


def _videos(videos: VideoFiles) -> Iterator[RawBatch]:
    for path in videos.paths:
        try:
            loaded = videos.load(os.fspath(path))
            several = isinstance(loaded, (Iterator, list))
            yield from loaded if several else [loaded]
        except Exception as error:
            raise SourceError(f"{os.fspath(path)}: loading the video failed: {error}") from error


def _files(
    paths: Iterable[PathLike], input_names: Sequence[str], as_bytes: bool
) -> Iterator[dict[str, Any]]:
    """The arrays of each file by input name. Files are found now, read when they are needed."""
    found = [file for path in paths for file in _expand(Path(path), as_bytes)]
    return (_load(file, input_names) for file in found)


def _expand(path: Path, as_bytes: bool) -> list[Path]:
    """The files of a folder or pattern. `as_bytes`: also those that are no arrays."""
    if path.is_dir():
        inside = sorted(file for file in path.iterdir() if not file.name.startswith("."))
        files = [file for file in inside if file.suffix in _ARRAYS]
        if not files and as_bytes:
            files = [file for file in inside if file.is_file()]
        if not files:
            wanted = "files" if as_bytes else ".npy or .npz files"
            raise SourceError(
                f"{path}: the folder has no {wanted} of its own; name those in its folders by a "
                f"pattern, such as '{path}/*/*'"
            )
        return files
    if path.is_file():
        if path.suffix not in _ARRAYS and not as_bytes:
            raise SourceError(
                f"{path}: is neither .npy nor .npz; save arrays with numpy.savez, and give videos "
                "as VideoFiles(paths, load). The files themselves fit only a model whose one input "
                "is their bytes"
            )
        return [path]
    files = [Path(name) for name in sorted(glob.glob(str(path)))]
    if not files:
        raise SourceError(f"{path}: no such file, and no file fits it as a pattern")
    return [file for name in files for file in _expand(name, as_bytes)]


def _load(path: Path, input_names: Sequence[str]) -> dict[str, Any]:
    if path.suffix == ".npy":
        name = _only(input_names, f"{path}: a .npy file")
        # Mapped, so that a file larger than memory can be used.
        return {name: _read(path, mmap_mode="r")}
    if path.suffix not in _ARRAYS:
        return {input_names[0]: np.array([_bytes(path)], object)}
    with _read(path) as archive:
        try:
            return {name: archive[name] for name in archive.files}
        except Exception as error:
            raise _unreadable(path, error) from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}") from error


def _read(path: Path, **options: Any) -> Any:
    try:
        return np.load(path, allow_pickle=False, **options)
    except Exception as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> SourceError:
    return SourceError(
        f"{path}: cannot be read as a numpy file ({error}); write it with numpy.save or "
        "numpy.savez, without Python objects"
    )


def _cut(
    tables: Iterator[dict[str, Any]], batch_size: int | None, drop_remainder: bool
) -> Iterator[dict[str, Any]]:
    """Examples regrouped into batches; the last may be smaller, and is kept if it is the only."""
    if batch_size is None:
        yield from tables
        return
    held: dict[str, Any] = {}
    given = 0
    for table in tables:
        fixed = {name: value for name, value in table.items() if not np.ndim(value)}
        rows = {name: value for name, value in table.items() if np.ndim(value)}
        lengths = {name: len(value) for name, value in rows.items()}
        if len(set(lengths.values())) > 1:
            raise SourceError(f"the arrays have different numbers of examples: {lengths}")
        if held and set(held) != set(rows):
            raise SourceError(f"one file has {sorted(held)}, the next {sorted(rows)}")
        if not rows:
            raise SourceError("no array has a first axis to cut into batches")
        start, total = 0, next(iter(lengths.values()))
        while start < total:
            missing = batch_size - (len(next(iter(held.values()))) if held else 0)
            part = {name: value[start : start + missing] for name, value in rows.items()}
            start += missing
            if held:
                part = {name: _join(held[name], part[name], name) for name in part}
            full = len(next(iter(part.values()))) == batch_size
            held = {} if full else part
            if full:
                yield {**part, **fixed}
                given += 1
    if held and not (drop_remainder and given):
        yield {**held, **fixed}


def _join(first: Any, second: Any, name: str) -> Any:
    try:
        return np.concatenate([first, second])
    except ValueError as error:
        raise SourceError(
            f"input {name!r}: examples of shape {list(np.shape(first)[1:])} and "
            f"{list(np.shape(second)[1:])} do not fit into one batch"
        ) from error


def _only(input_names: Sequence[str], what: str) -> str:
    if len(input_names) != 1:
        raise SourceError(
            f"{what} fits a model with one input; this has {len(input_names)}: "
            f"{', '.join(input_names)}. Give a dict, or a .npz file with arrays of these names"
        )
    return input_names[0]


def _is_paths(data: Any) -> bool:
    return (
        isinstance(data, (list, tuple))
        and bool(data)
        and all(isinstance(item, (str, os.PathLike)) for item in data)
    )


def _is_dataset(data: Any) -> bool:
    # If `data` is a dataset, TensorFlow is imported already.
    tf = sys.modules.get("tensorflow")
    return tf is not None and isinstance(data, tf.data.Dataset)


def _cardinality(data: Any) -> int:
    """Batches of a dataset; -1 without end, -2 unknown."""
    return eagerly(lambda: int(data.cardinality()))


def _is_tensor(data: Any) -> bool:
    tf = sys.modules.get("tensorflow")
    return tf is not None and isinstance(data, tf.Tensor)
