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


_CURE = "Calibration batches are kept there: set TMPDIR to a folder with room, or give fewer"


def write_spool(folder: Path, batches: Iterable[Batch]) -> int:
    """Writes each batch as a file of `folder` and returns how many there were."""
    folder.mkdir(parents=True)
    count = 0
    for count, batch in enumerate(batches, 1):
        write_batch(folder / f"{count:06d}.batch", batch, _CURE)
    return count


def spool_size(folder: str) -> int:
    """How many batches `write_spool` wrote there."""
    return sum(1 for _ in Path(folder).glob("*.batch"))


def read_spool(folder: str) -> Callable[[], Iterator[Batch]]:
    """A function that gives the batches of `write_spool` in their order."""

    def batches() -> Iterator[Batch]:
        for path in sorted(Path(folder).glob("*.batch")):
            yield read_batch(path)

    return batches
