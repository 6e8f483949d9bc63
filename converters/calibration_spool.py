"""Calibration batches on disk, for a child process that cannot see the caller's objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from converters.calibration_data import Batch


def write_spool(folder: Path, batches: Iterable[Batch]) -> int:
    """Writes each batch as a .npz file of `folder` and returns how many there were."""
    folder.mkdir(parents=True)
    count = 0
    for count, batch in enumerate(batches, 1):
        # Names such as "scope/x" and "file" are no keywords of numpy's; arrays go by number.
        arrays = {f"array_{i}": value for i, value in enumerate(batch.values())}
        np.savez(folder / f"{count:06d}.npz", names=np.array(list(batch)), **arrays)
    return count


def read_spool(folder: str) -> Callable[[], Iterator[Batch]]:
    """A function that gives the batches of `write_spool` in their order."""

    def batches() -> Iterator[Batch]:
        for path in sorted(Path(folder).glob("*.npz")):
            with np.load(path) as file:
                yield {
                    str(name): file[f"array_{i}"] for i, name in enumerate(file["names"].tolist())
                }

    return batches
