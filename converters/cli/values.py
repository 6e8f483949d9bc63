"""Parses the texts of options; argparse shows their errors with the option's name."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from converters.util import shapes
from converters.util.shapes import Shape, ShapeRange

T = TypeVar("T")


class UsageError(Exception):
    """Options contradict one another; the message names them."""


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def _shown(parse: Callable[[str], T]) -> Callable[[str], T]:
    def shown(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return shown


@_shown
def path(text: str) -> Path:
    return Path(named(text))


@_shown
def data(text: str) -> str:
    return named(text)


def named(text: str) -> str:
    """The text. ValueError for "", which an unset variable in a script gives: Path("") is the
    working folder."""
    if not text:
        raise ValueError("'' names nothing")
    return text


@_shown
def shape_set(text: str) -> dict[str, Shape]:
    return shapes.parse_shape_set(text)


@_shown
def shape_range(text: str) -> tuple[str, ShapeRange]:
    return shapes.parse_range(text)


@_shown
def size(text: str) -> int:
    """ "1073741824", "1GiB" or "1.5G" in bytes."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = text[len(number) :].lower()
    unit = unit if unit in _UNITS else unit.removesuffix("b")
    try:
        return int(float(number) * _UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        raise ValueError(f"{text!r} is no size: write bytes, or as in 512MiB or 2G") from None


@_shown
def counts(text: str) -> tuple[int, ...]:
    """ "1,8,32" as numbers of at least 1, each once."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise ValueError(f"{text!r} is no list of numbers from 1: write them as in 1,8,32")
    found = tuple(map(int, parts))
    if len(set(found)) < len(found):
        raise ValueError(f"{text!r} has a number twice")
    return found


@_shown
def numbers(text: str) -> tuple[float, ...]:
    """ "0.485,0.456,0.406" as numbers."""
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        raise ValueError(f"{text!r} is no list of numbers: write them as in 0.5,1") from None


@_shown
def points(text: str) -> float:
    """ "0.5" as a number from 0; "none" is infinite."""
    try:
        found = math.inf if text == "none" else float(text)
    except ValueError:
        found = math.nan
    if not found >= 0:
        raise ValueError(f"{text!r} is no number of points from 0, nor none")
    return found


@_shown
def tensor_range(text: str) -> tuple[str, tuple[float, float]]:
    """ "conv/Relu:0=-1,6" as a name and its ends."""
    name, _, ends = text.rpartition("=")
    try:
        low, high = map(float, ends.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is no range: write TENSOR=MIN,MAX") from None
    return name, (low, high)


@_shown
def threshold(text: str) -> tuple[str, float | None]:
    """ "max_abs=0.01" as a name and a number; "top1=none" leaves it unchecked."""
    name, equals, number = text.partition("=")
    try:
        return name.replace("-", "_"), None if number == "none" else float(number)
    except ValueError:
        form = "write NAME=NUMBER, or NAME=none" if equals else "write NAME=NUMBER"
        raise ValueError(f"{text!r} is no threshold: {form}") from None


def once(pairs: list[tuple[str, Any]] | None, option: str) -> dict[str, Any] | None:
    """The pairs as a dict; UsageError if a name comes twice."""
    if pairs is None:
        return None
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"argument {option}: {twice!r} is given twice")
    return found
