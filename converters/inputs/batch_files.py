"""Calibration batches on disk, for a child process that cannot see the caller's objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from converters.inputs.batch_file import read_batch, write_batch
from converters.inputs.calibration_data import Batch

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
