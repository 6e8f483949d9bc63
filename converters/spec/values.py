"""Reads single values of a ConversionSpec: each function returns a value's normal form, or raises
BadValueError with the reason."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from converters.util.shapes import Shape, ShapeRange, as_shape, format_shape, input_name

# Ranges become float32.
MAX_FLOAT = (2 - 2**-23) * 2.0**127


class BadValueError(ValueError):
    """A bad value; `allowed` are good ones."""

    def __init__(self, reason: str, allowed: tuple[Any, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.allowed = allowed


def choice(allowed: tuple[str, ...]) -> Callable[[Any], str]:
    by_lower = {name.lower(): name for name in allowed}

    def parse(value: Any) -> str:
        found = by_lower.get(value.lower()) if isinstance(value, str) else None
        if found is None:
            raise BadValueError("it is none of the allowed values", allowed)
        return found

    return parse


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadValueError("it must be a bool", (True, False, None))
    return value


def whole(low: int, high: int) -> Callable[[Any], int]:
    allowed = (f"whole numbers from {low} to {high}",)

    def parse(value: Any) -> int:
        try:
            number = None if isinstance(value, bool) else operator.index(value)
        except TypeError:
            number = None
        if number is None:
            raise BadValueError("it is not a whole number", allowed)
        if not low <= number <= high:
            raise BadValueError("it is out of range", allowed)
        return number

    return parse


def names(value: Any) -> tuple[str, ...]:
    """A sequence of names, at least one, none twice."""
    found = _strings(value)
    if not found:
        raise BadValueError("it is empty; leave it out for the default")
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        raise BadValueError(f"it has {', '.join(map(repr, twice))} more than once")
    return found


def op_types(value: Any) -> tuple[str, ...]:
    found = _strings(value)
    for name in found:
        # TF-TRT takes the list as one string with commas between.
        if not name.isidentifier():
            raise BadValueError(
                f"{name!r} is no op type; write it as in a GraphDef, such as 'Relu'"
            )
    return tuple(dict.fromkeys(found))


def node_names(value: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(input_name(name) for name in _strings(value)))


def modules(value: Any) -> tuple[str, ...]:
    found = _strings(value)
    for name in found:
        if not all(part.isidentifier() for part in name.split(".")):
            raise BadValueError(f"{name!r} is no Python module; write it as in an import statement")
    return tuple(dict.fromkeys(found))


def files(value: Any) -> tuple[str, ...]:
    # The conversion may be repeated from another folder.
    return tuple(dict.fromkeys(map(os.path.abspath, _strings(value, paths=True))))


def path(value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise BadValueError("it is not a path")
    return str(os.fspath(value))


def shape_sets(value: Any) -> tuple[dict[str, Shape], ...]:
    """One mapping or a sequence of them. Sets of the same inputs must agree in their ranks; sets
    of different inputs belong to different signatures."""
    sets = [value] if isinstance(value, Mapping) else value
    if isinstance(sets, (str, bytes)) or not isinstance(sets, Sequence):
        raise BadValueError(
            "it is neither a mapping from input names to shapes nor several of those"
        )
    if not sets:
        raise BadValueError("it is empty; leave it out if no shape is to be built")
    result: list[dict[str, Shape]] = []
    ranks: dict[tuple[frozenset[str], str], Shape] = {}
    for number, given in enumerate(sets):
        where = f"set {number}"
        if not isinstance(given, Mapping) or not given:
            raise BadValueError(f"{where}, {given!r}, is no mapping from input names to shapes")
        shapes = _named(given, as_shape, where)
        for name, shape in shapes.items():
            known = ranks.setdefault((frozenset(shapes), name), shape)
            if len(known) != len(shape):
                raise BadValueError(
                    f"{where} has {format_shape(shape)} for {name!r}, an earlier one "
                    f"{format_shape(known)}: the number of dimensions cannot change"
                )
        if shapes in result:
            raise BadValueError(f"{where} is the same as set {result.index(shapes)}")
        result.append(shapes)
    return tuple(result)


def shape_ranges(value: Any) -> dict[str, ShapeRange]:
    if not isinstance(value, Mapping) or not value:
        raise BadValueError("it is no mapping from input names to ShapeRange")
    return _named(value, _shape_range, "it")


def number_ranges(value: Any) -> dict[str, tuple[float, float]]:
    """(min, max) by tensor name; "x" means "x:0", so names are kept as given."""
    if not isinstance(value, Mapping) or not value:
        raise BadValueError("it is no mapping from tensor names to (min, max)")
    result = {}
    for name, ends in value.items():
        if not isinstance(name, str) or not name:
            raise BadValueError(f"{name!r} is no tensor name")
        try:
            if isinstance(ends, (str, bytes)):
                raise TypeError
            low, high = (float(end) for end in ends)
        except (TypeError, ValueError, OverflowError):
            raise BadValueError(f"{name!r} has {ends!r}, not (min, max)") from None
        if not (-MAX_FLOAT <= low < high <= MAX_FLOAT):  # nor NaN
            raise BadValueError(
                f"{name!r} has ({low}, {high}); both must be finite in float32, min below max"
            )
        result[name] = (low, high)
    return result


def thresholds(value: Any) -> Any:
    from converters.spec.thresholds import Thresholds

    if not isinstance(value, Thresholds):
        raise BadValueError("it is no converters.compare.Thresholds")
    return value


def _strings(value: Any, paths: bool = False) -> tuple[str, ...]:
    """A sequence or set of strings, and with `paths` of path objects."""
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, set, frozenset)):
        raise BadValueError("it is not a sequence of strings; write ['a'] for a single one")
    found = [os.fspath(n) if paths and isinstance(n, os.PathLike) else n for n in value]
    for name in found:
        if not isinstance(name, str) or not name:
            raise BadValueError(f"it contains {name!r}, which is not a name")
    return tuple(sorted(found) if isinstance(value, (set, frozenset)) else found)


def _named(given: Mapping[Any, Any], parse: Callable[[Any], Any], where: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not name:
            raise BadValueError(f"{where} has {name!r}, which is no input name")
        plain = input_name(name)
        if plain in result:
            raise BadValueError(f"{where} names the input {plain!r} twice")
        try:
            result[plain] = parse(value)
        except ValueError as error:
            raise BadValueError(f"{where}, input {name!r}: {error}") from None
    return result


def _shape_range(value: Any) -> ShapeRange:
    if not isinstance(value, ShapeRange):
        raise ValueError(f"{value!r} is no ShapeRange")
    low, high = as_shape(value.min), as_shape(value.max)
    opt = None if value.opt is None else as_shape(value.opt)
    for end, what in ((high, "max"), (opt, "opt")):
        if end is not None and len(end) != len(low):
            raise ValueError(
                f"min is {format_shape(low)} and {what} {format_shape(end)}: the number of "
                "dimensions cannot change"
            )
    for position, (least, most) in enumerate(zip(low, high)):
        tuned = most if opt is None else opt[position]
        if not least <= tuned <= most:
            raise ValueError(
                f"dimension {position} has min {least}, "
                + (f"opt {tuned}, " if opt is not None else "")
                + f"max {most}; they must not decrease"
            )
    return ShapeRange(low, high, opt)
