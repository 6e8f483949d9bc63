"""Real values for a signature's inputs, to build engines with and to check them on.

Random values serve most models. A signature that takes strings (the bytes of videos, encoded
images) needs real ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from converters.inputs.batch_files import read_spool, spool_files, write_spool
from converters.inputs.calibration_data import Batch, InputSpec, batches
from converters.util.errors import SpecError
from converters.util.shapes import Shape, format_shape, shapes_of

# Endless data may have no row of a declared shape: reading ends after so many batches without one.
_MOST_USELESS = 1000


@dataclasses.dataclass(frozen=True)
class BuildData:
    """Batches to build with: a file of `folder` for each set of `shapes`, in their order."""

    folder: str
    shapes: tuple[Mapping[str, Shape], ...]

    def batches(self) -> Iterator[Batch]:
        return read_spool(self.folder)()

    def file_of(self, shapes: Mapping[str, Shape]) -> str | None:
        """The file of the batch with these shapes; None if there is none."""
        files = zip(self.shapes, spool_files(self.folder))
        return next((str(file) for own, file in files if own == shapes), None)


def write_build_batches(
    data: Any,
    specs: Mapping[str, InputSpec],
    declared: Sequence[Mapping[str, Shape]],
    folder: Path,
) -> BuildData:
    """Writes a batch for each set of shapes that engines are to serve.

    `declared` are these sets. Their batches are made of the data's rows along the first axis, which
    repeat if there are too few of the set's shape. Reading ends when there are enough. Without
    declared sets there is one for each shape of the data's own batches, the largest first.

    Raises:
      SpecError: the data is empty or bad, or its rows do not have a declared shape.
    """
    found = batches(
        data,
        sorted(specs),
        specs=specs,
        same_shape=False,
        check_finite=False,
        error=SpecError,
        purpose="build_data",
    )
    made = list(_of_shapes(found, declared) if declared else _one_of_each_shape(found))
    write_spool(folder, made, "Batches to build with")
    return BuildData(str(folder), tuple(map(shapes_of, made)))


def _one_of_each_shape(found: Iterable[Batch]) -> Iterator[Batch]:
    kept: list[Batch] = []
    for batch in found:
        if all(shapes_of(batch) != shapes_of(other) for other in kept):
            kept.append(batch)
    # The order in which a converter builds declared shapes, too.
    yield from sorted(kept, key=lambda batch: -sum(value.size for value in batch.values()))


def _of_shapes(found: Iterable[Batch], declared: Sequence[Mapping[str, Shape]]) -> Iterator[Batch]:
    missing: dict[tuple[str, Shape], int] = {}  # rows by input and shape of a row
    for name, shape in (item for shapes in declared for item in shapes.items() if item[1]):
        missing[name, shape[1:]] = max(missing.get((name, shape[1:]), 0), shape[0])
    rows: list[Batch] = []
    useless = 0  # batches in a row
    for batch in found:
        keys = [(name, value.shape[1:]) for name, value in batch.items() if value.ndim]
        used = [key for key in keys if missing.get(key, 0) > 0]
        if used or not rows:
            rows.append(batch)
        for key in used:
            missing[key] -= len(batch[key[0]])
        useless = 0 if used else useless + 1
        if useless == _MOST_USELESS or all(count <= 0 for count in missing.values()):
            break
    for shapes in declared:
        yield {name: _repeated(name, rows, shape) for name, shape in shapes.items()}


def _repeated(name: str, rows: Sequence[Batch], shape: Shape) -> Any:
    """The rows of one input, from the first on and again, in this shape."""
    first = rows[0][name]
    if not shape or not first.ndim:
        fitting = first.shape == shape
        whole = first
    else:
        same = [batch[name] for batch in rows if batch[name].shape[1:] == shape[1:]]
        fitting = bool(same)
        whole = np.concatenate(same) if same else first
    if not fitting:
        raise SpecError(
            f"build_data: input {name!r} has rows of shape {format_shape(first.shape[1:])}, and "
            f"the shape {format_shape(shape)} is to be built for"
        )
    return whole if not shape else np.resize(whole, shape)
