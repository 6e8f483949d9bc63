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

from converters.inputs.batch_files import read_batch, write_batch
from converters.inputs.calibration_data import Batch, InputSpec, batches
from converters.util.errors import SpecError
from converters.util.shapes import Shape, format_shape

_CURE = "Batches to build with are kept there: set TMPDIR to a folder with room"


@dataclasses.dataclass(frozen=True)
class BuildBatch:
    """The shapes of a batch, and the file that holds it."""

    shapes: Mapping[str, Shape]
    file: str

    def read(self) -> Batch:
        return read_batch(Path(self.file))


def data_by_signature(data: Any, inputs: Mapping[str, Mapping[str, InputSpec]]) -> dict[str, Any]:
    """The data of each signature that gets some, where `data` may be a dict by signature.

    Other data goes to the signatures with strings, which have no other values; if there are none,
    to all.

    Raises:
      SpecError: the signatures that would share the data have different inputs.
    """
    if isinstance(data, Mapping) and set(data) & set(inputs):
        unknown = sorted(set(data) - set(inputs))
        if unknown:
            raise SpecError(
                f"build_data has the signature {unknown[0]!r}, which is not converted; there are: "
                f"{', '.join(inputs)}"
            )
        return dict(data)
    chosen = [name for name, specs in inputs.items() if takes_strings(specs)] or list(inputs)
    for name in chosen[1:]:
        if set(inputs[name]) != set(inputs[chosen[0]]):
            raise SpecError(
                f"signatures {chosen[0]!r} and {name!r} have different inputs: give build_data as "
                f"a dict by signature, or name one in signatures (--signature)"
            )
    return dict.fromkeys(chosen, data)


def takes_strings(specs: Mapping[str, InputSpec]) -> bool:
    return any(spec.dtype.kind == "O" for spec in specs.values())


def write_build_batches(
    data: Any,
    specs: Mapping[str, InputSpec],
    declared: Sequence[Mapping[str, Shape]],
    folder: Path,
) -> tuple[BuildBatch, ...]:
    """Writes a batch for each set of shapes that engines are built for.

    `declared` are these sets. Their batches are made of the data's rows along the first axis, which
    repeat if there are too few. Without declared sets there is one for each shape of the data's own
    batches, the largest first.

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
    made = _of_shapes(found, declared) if declared else _one_of_each_shape(found)
    folder.mkdir(parents=True)
    written = []
    for index, batch in enumerate(made):
        path = folder / f"{index:03d}.batch"
        write_batch(path, batch, _CURE)
        written.append(BuildBatch(_shapes(batch), str(path)))
    return tuple(written)


def _shapes(batch: Batch) -> dict[str, Shape]:
    return {name: tuple(value.shape) for name, value in batch.items()}


def _one_of_each_shape(found: Iterable[Batch]) -> Iterator[Batch]:
    kept: list[Batch] = []
    for batch in found:
        if all(_shapes(batch) != _shapes(other) for other in kept):
            kept.append(batch)
    # The order in which a converter builds declared shapes, too.
    yield from sorted(kept, key=lambda batch: -sum(value.size for value in batch.values()))


def _of_shapes(found: Iterable[Batch], declared: Sequence[Mapping[str, Shape]]) -> Iterator[Batch]:
    most = max((shape[0] for shapes in declared for shape in shapes.values() if shape), default=1)
    rows: list[Batch] = []
    count = 0
    for batch in found:
        rows.append(batch)
        count += min((len(value) for value in batch.values() if value.ndim), default=most)
        if count >= most:
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
