"""The cells of a benchmark: which shapes are measured, and with which batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from converters.inputs.calibration_data import Batch, InputSpec, batches
from converters.inputs.data_sources import read_once
from converters.inputs.random_inputs import random_batches
from converters.util.errors import MeasureError
from converters.util.shapes import (
    Shape,
    ShapeSet,
    batch_of,
    format_shape_set,
    input_name,
    shapes_of,
)

# A request takes the next of them in turn. More would only fill the GPU's memory.
MOST_BATCHES = 8


def cell_batches(
    specs: Mapping[str, InputSpec],
    shapes: Sequence[ShapeSet],
    batch_sizes: Sequence[int],
    data: Any,
    seed: int,
) -> Iterator[list[Batch]]:
    """The batches of each cell, which all have one shape.

    Without data they are random, and the shapes are `shapes`, each with every batch size. With
    data, it is cut into batches of each size.

    Raises:
      MeasureError: a shape or the data does not fit the inputs.
    """
    if data is not None:
        yield from _of_data(data, specs, batch_sizes)
        return
    seen: list[ShapeSet] = []
    for given in shapes or [{}]:
        for size in _sizes(batch_sizes):
            full = given if size is None else _with_batch(specs, given, size)
            found = list(random_batches(specs, 1, full, seed=seed, error=MeasureError))
            # Shapes that differ in their batch alone are the same with a batch size.
            if shapes_of(found[0]) not in seen:
                seen.append(shapes_of(found[0]))
                yield found


def items_of(specs: Mapping[str, InputSpec], shapes: ShapeSet) -> int:
    """The examples of a request: the first dimension of the inputs that leave it open, such as
    that of the pictures and not that of a table which goes with them. If no input does, the batch
    is fixed, and is the largest first dimension."""
    is_open = {name: shapes[name] for name in shapes if name in specs and _is_open(specs[name])}
    return batch_of(is_open or shapes)


def _is_open(spec: InputSpec) -> bool:
    return spec.shape is None or (bool(spec.shape) and spec.shape[0] is None)


def _sizes(batch_sizes: Sequence[int]) -> list[int | None]:
    """The sizes; one None takes the inputs or the data as they are."""
    return [*batch_sizes] or [None]


def _with_batch(specs: Mapping[str, InputSpec], given: ShapeSet, size: int) -> dict[str, Shape]:
    """Full shapes of all inputs whose first dimension is open, with this batch."""
    known = {input_name(name): tuple(shape) for name, shape in given.items()}
    found = dict(known)
    has_batch = any(map(_is_open, specs.values()))
    for name, spec in specs.items():
        if has_batch and not _is_open(spec):  # the batch leaves it as it is
            continue
        if name in known:
            # A shape that the user gave without a batch of its own is a scalar.
            found[name] = (size, *known[name][1:]) if known[name] else ()
        elif spec.shape and spec.shape[0] is None and None not in spec.shape[1:]:
            found[name] = (size, *(dim for dim in spec.shape[1:] if dim is not None))
        elif spec.shape and spec.shape[0] not in (None, size):
            raise MeasureError(
                f"a batch of {size} was asked for, and input {name!r} is always {spec.text()}: "
                "leave the batch out (--batch)"
            )
    return found


def _of_data(
    data: Any, specs: Mapping[str, InputSpec], batch_sizes: Sequence[int]
) -> Iterator[list[Batch]]:
    if len(batch_sizes) > 1 and read_once(data):
        raise MeasureError(
            "the data can be read only once, and several batch sizes were asked for: give arrays, "
            "files or a callable that makes an iterator, or one batch size"
        )
    for size in _sizes(batch_sizes):
        source = batches(
            data,
            list(specs),
            specs=specs,
            batch_size=size,
            check_finite=False,
            error=MeasureError,
            purpose="benchmark",
        )
        found = list(itertools.islice(source, MOST_BATCHES))
        given = shapes_of(found[0])
        if size is not None and items_of(specs, given) != size:
            raise MeasureError(
                f"a batch of {size} was asked for, and the data gives {format_shape_set(given)}: "
                "give enough examples, as arrays or files that can be cut into batches"
            )
        yield found
