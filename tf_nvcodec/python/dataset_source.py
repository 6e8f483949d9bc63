"""What a VideoDataset reads: file names or bytes, with their labels and other rows."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import tensorflow as tf

from tf_nvcodec.python.arguments import file_name, shown
from tf_nvcodec.python.dataset_rows import add_row, check_dense, check_rows, rows_from


class Source(NamedTuple):
    """Attributes:
    videos: string [N], the names of files or the bytes of files.
    aligned: Nested structures of tensors of N rows, by name.
    """

    videos: tf.Tensor
    aligned: dict[str, Any]


def resolve(videos: Any, what: str, labels: Any, aligned: Mapping[str, Any] | None) -> Source:
    """Turns every form of videos that VideoDataset takes into a Source.

    Args:
      videos: File names, bytes, a pattern or a dataset, as for VideoDataset.
      what: "filenames" or "contents".
      labels: As for VideoDataset.
      aligned: As for VideoDataset.

    Raises:
      TypeError: The videos are no strings, or have no order.
      ValueError: No file matches, there are no videos, or names or lengths do not fit.
    """
    named = rows_from(labels, aligned)
    if isinstance(videos, tf.data.Dataset):
        videos, more = _from_dataset(videos, what)
        for name, value in more.items():
            add_row(named, name, value)
    elif isinstance(videos, (str, bytes, os.PathLike)) and what == "filenames":
        videos = _matching(videos)
    elif isinstance(videos, (str, bytes)):
        raise ValueError("contents is a list of the bytes of files; pass [contents] for one file")
    elif isinstance(videos, (Mapping, set, frozenset)):
        raise TypeError(f"{what} is a {type(videos).__name__}; pass a list, which has an order")
    elif not isinstance(videos, (tf.Tensor, tf.RaggedTensor)):
        videos = _listed(videos, what)
    tensor = _to_strings(videos, what)
    if tensor.shape.rank not in (None, 1):
        raise ValueError(f"{what} must be a vector of strings, got shape {tensor.shape}")
    check_rows(named, tensor)
    return Source(tensor, named)


def _to_strings(videos: Any, what: str) -> tf.Tensor:
    """Converts to a string tensor. The errors never show the bytes of a video."""
    if isinstance(videos, tf.RaggedTensor):
        raise ValueError(f"{what} must be a vector of strings, got a RaggedTensor")
    if isinstance(videos, list):
        for index, video in enumerate(videos):
            if what == "contents" and isinstance(video, str):
                raise TypeError(f"contents[{index}] is a str, not bytes: pass paths as filenames")
            if what == "filenames" and isinstance(video, bytes) and b"\0" in video:
                raise ValueError(
                    f"filenames[{index}] holds a zero byte, which no name does: pass the bytes of "
                    "files as contents"
                )
    try:
        return tf.convert_to_tensor(videos, tf.string, name=what)
    except (TypeError, ValueError, tf.errors.InvalidArgumentError):
        raise TypeError(f"{what} must be a vector of strings; got {_kind(videos)}") from None


def _kind(videos: Any) -> str:
    """Names the type of the videos without their values, which may be many bytes."""
    if tf.is_tensor(videos):
        return f"a tensor of {videos.dtype.name}"
    for index, video in enumerate(videos):
        if not isinstance(video, (str, bytes)):
            return f"{type(video).__name__} at [{index}]"
    return type(videos).__name__


def _listed(videos: Any, what: str) -> list[Any]:
    if not isinstance(videos, Iterable):
        raise TypeError(f"{what} must be a vector of strings; got {type(videos).__name__}")
    listed = list(videos)
    if not listed:
        raise ValueError(f"{what} is empty: pass at least one video")
    if what == "contents":
        return listed
    return [file_name(v) if isinstance(v, (str, os.PathLike)) else v for v in listed]


def _matching(pattern: str | bytes | os.PathLike[Any]) -> list[bytes]:
    name = file_name(pattern)
    # A file of this name may exist: names can contain brackets.
    if not glob.has_magic(name) or _exists(name):
        return [name]
    found = _glob(name)
    if not found:
        folder = os.path.dirname(name)
        shut = os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK)
        why = f": no permission to read the folder {shown(folder)}" if shut else ""
        raise ValueError(f"no file matches {_without_query(os.fspath(pattern))!r}{why}")
    return sorted(found)


def _without_query(pattern: str | bytes) -> str | bytes:
    """Returns the name as messages show it: in an address, a key to the file may follow a "?"."""
    name = os.fsdecode(pattern)
    if not name.startswith("https://") or "?" not in name:
        return pattern
    return name.split("?")[0] + "?..."


def _exists(name: bytes) -> bool:
    try:
        return tf.io.gfile.exists(name)
    except UnicodeDecodeError:  # TensorFlow's error message contains the name
        return False


def _glob(pattern: bytes) -> list[bytes]:
    with tf.init_scope(), tf.device("CPU:0"):
        if tf.executing_eagerly():
            return tf.io.matching_files(pattern).numpy().tolist()
    # TensorFlow 1's graphs come here. Names that are not UTF-8 fail.
    return [file_name(name) for name in tf.io.gfile.glob(pattern.decode())]


def split_element(spec: Any, what: str) -> tuple[Any, Any]:
    """Returns two functions of an element of a dataset: its video, and its other parts by name.

    An element is a string, a pair of a string and a label, or a dictionary.
    """
    video_of, rest_of = _parts_of(spec, what)
    for name, value in rest_of(spec).items():
        for part in tf.nest.flatten(value):
            check_dense(part, f"{name!r} of the dataset of {what}")
    return video_of, rest_of


def _parts_of(spec: Any, what: str) -> tuple[Any, Any]:
    singular = what.rstrip("s") if what == "filenames" else what
    if isinstance(spec, tf.TensorSpec):
        return (lambda element: element), (lambda element: {})
    if isinstance(spec, tuple) and len(spec) == 2:
        return (lambda element: element[0]), (lambda element: {"label": element[1]})
    if isinstance(spec, Mapping) and singular in spec:
        return (
            lambda element: element[singular],
            lambda element: {name: element[name] for name in element if name != singular},
        )
    raise ValueError(
        f"a dataset of {what} has strings, pairs (string, label) or dictionaries with "
        f"{singular!r} as elements; this one has {spec}"
    )


def _from_dataset(dataset: tf.data.Dataset, what: str) -> tuple[Any, dict[str, Any]]:
    video_of, rest_of = split_element(dataset.element_spec, what)
    if tf.executing_eagerly():
        cardinality = int(dataset.cardinality())
        if cardinality == tf.data.INFINITE_CARDINALITY:
            raise ValueError(f"the dataset of {what} is infinite; repeat the VideoDataset instead")
        if cardinality == 0:
            raise ValueError(f"the dataset of {what} is empty")
    # One batch has all videos, because the order, the shuffle and the shards cover all of them.
    batches = dataset.batch(1 << 30)
    if not tf.executing_eagerly():
        everything = batches.get_single_element()
    else:
        everything = next(iter(batches), None)
        if everything is None:
            raise ValueError(f"the dataset of {what} is empty")
    return video_of(everything), rest_of(everything)
