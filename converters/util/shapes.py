"""Shapes of a model's inputs, ranges of them, and both as text: "x:32x224x224x3"."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# A full shape: the batch first, every dimension known and at least 1; () is a scalar.
Shape = tuple[int, ...]
# One shape for each input of a signature, by the input's name.
ShapeSet = Mapping[str, Shape]

# TensorRT 8 counts the elements of a tensor in 32 signed bits.
MAX_ELEMENTS = 2**31 - 1


def shapes_of(batch: Mapping[str, Any]) -> dict[str, Shape]:
    """The shape of each array of a batch."""
    return {name: tuple(value.shape) for name, value in batch.items()}


@dataclass(frozen=True)
class ShapeRange:
    """The shapes from `min` to `max`, both included, dimension by dimension.

    `opt` is the shape to tune for; None means `max`, which is what TensorFlow itself does.
    """

    min: Shape
    max: Shape
    opt: Shape | None = None


def input_name(name: str) -> str:
    """The name without an output number: "x:0" and "x" are the same graph input."""
    base, colon, number = name.rpartition(":")
    return base if colon and number.isdigit() else name


def as_shape(value: Any) -> Shape:
    """`value` as a tuple of int; ValueError says why it cannot be one."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise ValueError(f"{value!r} is not a sequence of whole numbers")
    dims = []
    for dim in value:
        if dim is None or isinstance(dim, bool):
            raise ValueError(f"{list(value)} has a dimension that is {dim}")
        try:
            dims.append(operator.index(dim))
        except TypeError:
            raise ValueError(f"{list(value)} has a dimension that is {dim!r}") from None
    for dim in dims:
        if dim < 1:
            raise ValueError(f"{format_shape(dims)} has the dimension {dim}; each is at least 1")
    if math.prod(dims) > MAX_ELEMENTS:
        raise ValueError(
            f"{format_shape(dims)} has {math.prod(dims)} elements; TensorRT takes {MAX_ELEMENTS}"
        )
    return tuple(dims)


def batch_of(shapes: ShapeSet) -> int:
    """The largest first dimension of the set; 1 when all of its inputs are scalars."""
    return max((shape[0] for shape in shapes.values() if shape), default=1)


def volume_of(shapes: ShapeSet) -> int:
    """Elements of all inputs of the set together."""
    return sum(math.prod(shape) for shape in shapes.values())


def format_shape(shape: Sequence[int]) -> str:
    """(32, 224, 224, 3) as "32x224x224x3"; () as "scalar"."""
    return "x".join(map(str, shape)) if shape else "scalar"


def format_shape_set(shapes: ShapeSet) -> str:
    """{"a": (1, 2), "b": (1,)} as "a:1x2,b:1"; parse_shape_set reads it."""
    return ",".join(f"{name}:{format_shape(shape)}" for name, shape in shapes.items())


def parse_shape(text: str) -> Shape:
    """ "32x224x224x3" or "scalar" as a shape; ValueError shows the form wanted."""
    if text == "scalar":
        return ()
    parts = text.split("x")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"{text!r} is no shape: write whole numbers as in 32x224x224x3")
    return as_shape([int(part) for part in parts])


def parse_shape_set(text: str) -> dict[str, Shape]:
    """ "a:1x2,b:1" as {"a": (1, 2), "b": (1,)}."""
    shapes: dict[str, Shape] = {}
    for part in text.split(","):
        name, shape = _named(part, "INPUT:32x224x224x3")
        if name in shapes:
            raise ValueError(f"{text!r} names the input {name!r} twice")
        shapes[name] = parse_shape(shape)
    return shapes


def parse_range(text: str) -> tuple[str, ShapeRange]:
    """ "x:1x8..32x8" or "x:1x8..32x8..16x8" (min, max, opt) as a name and its range."""
    name, body = _named(text, "INPUT:MIN..MAX or INPUT:MIN..MAX..OPT")
    parts = body.split("..")
    if len(parts) not in (2, 3):
        raise ValueError(f"{text!r} is no range: write INPUT:MIN..MAX or INPUT:MIN..MAX..OPT")
    return name, ShapeRange(*(parse_shape(part) for part in parts))


def _named(text: str, form: str) -> tuple[str, str]:
    name, colon, rest = text.rpartition(":")
    if not colon or not name:
        raise ValueError(f"{text!r} names no input: write {form}")
    return input_name(name), rest
