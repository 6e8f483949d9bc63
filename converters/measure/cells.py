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
    for given in shapes or [{}]:
        for size in _sizes(batch_sizes):
            full = given if size is None else _with_batch(specs, given, size)
            yield list(random_batches(specs, 1, full, seed=seed, error=MeasureError))


def _sizes(batch_sizes: Sequence[int]) -> list[int | None]:
    """The sizes; one None takes the inputs or the data as they are."""
    return [*batch_sizes] or [None]


def _with_batch(specs: Mapping[str, InputSpec], given: ShapeSet, size: int) -> dict[str, Shape]:
    """Full shapes of all inputs whose first dimension is open, with this batch."""
    known = {input_name(name): tuple(shape) for name, shape in given.items()}
    found = dict(known)
    for name, spec in specs.items():
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
        if size is not None and batch_of(given) != size:
            raise MeasureError(
                f"a batch of {size} was asked for, and the data gives {format_shape_set(given)}: "
                "give enough examples, as arrays or files that can be cut into batches"
            )
        yield found
