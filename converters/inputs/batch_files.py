"""Batches in files: a child process cannot see the caller's objects, so it reads them from disk."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from converters.inputs.calibration_data import Batch
from converters.util.errors import OutputError


def write_batch(path: Path, arrays: Mapping[str, Any], cure: str) -> None:
    """Writes named arrays to a file. OutputError with the cure if that fails.

    The format is pickle, because NumPy's own files hold neither TensorFlow's bfloat16 nor strings.
    Only this package writes and reads these files.
    """
    try:
        with open(path, "wb") as file:
            pickle.dump(dict(arrays), file, protocol=5)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error}. {cure}") from error


def read_batch(path: Path) -> dict[str, Any]:
    """What write_batch wrote."""
    with open(path, "rb") as file:
        found: dict[str, Any] = pickle.load(file)
    return found


def write_spool(folder: Path, batches: Iterable[Batch], what: str = "Calibration batches") -> int:
    """Writes each batch as a file of `folder` and returns how many there were. `what` they are, for
    the error of a full disk."""
    cure = f"{what} are kept there: set TMPDIR to a folder with room, or give fewer"
    folder.mkdir(parents=True)
    count = 0
    for count, batch in enumerate(batches, 1):
        write_batch(folder / f"{count:06d}.batch", batch, cure)
    return count


def spool_files(folder: str) -> list[Path]:
    """The files that `write_spool` wrote there, in the batches' order."""
    return sorted(Path(folder).glob("*.batch"))


def read_spool(folder: str) -> Callable[[], Iterator[Batch]]:
    """A function that gives the batches of `write_spool` in their order."""

    def batches() -> Iterator[Batch]:
        yield from map(read_batch, spool_files(folder))

    return batches
