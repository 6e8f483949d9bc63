"""Parsers of option values; argparse turns their ArgumentTypeError into exit code 2."""

from __future__ import annotations

import math
import re
from argparse import ArgumentTypeError
from fractions import Fraction

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
# Ranges become lists, so their length is bounded.
_LONGEST_RANGE = 10_000_000


def path(text: str) -> str:
    """Parses a file name. An empty name, as an unset variable in a script gives it, is refused."""
    if not text:
        raise ArgumentTypeError("'' names no file")
    if "\0" in text:
        raise ArgumentTypeError(f"{text!r} holds a zero byte")
    return text


def size(text: str) -> tuple[int, int]:
    """ "WIDTHxHEIGHT" -> (height, width), the order of the Python API."""
    match = re.fullmatch(r"([1-9]\d{0,8})x([1-9]\d{0,8})", text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not WIDTHxHEIGHT, for example 320x180")
    return int(match[2]), int(match[1])


def crop(text: str) -> tuple[int, int, int, int]:
    """ "WIDTHxHEIGHT+LEFT+TOP" -> (top, left, height, width), the order of the Python API."""
    match = re.fullmatch(r"([1-9]\d{0,8})x([1-9]\d{0,8})\+(\d{1,9})\+(\d{1,9})", text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not WIDTHxHEIGHT+LEFT+TOP, for example 320x180+0+40")
    return int(match[4]), int(match[3]), int(match[2]), int(match[1])


def integers(text: str) -> list[int]:
    """ "0,5,-1" or "start:stop[:step]" -> a list; a range is Python's range()."""
    try:
        if ":" in text:
            numbers = range(*(int(part) for part in text.split(":")))
            found = list(_short_enough(text, numbers))
        else:
            found = [int(part) for part in text.split(",")]
    except (ValueError, TypeError) as error:
        raise ArgumentTypeError(
            f"{text!r} is neither a list like 0,5,-1 nor a range like 0:100:10"
        ) from error
    if any(abs(number) >= 1 << 63 for number in found):
        raise ArgumentTypeError(f"{text!r} holds a number of more than 64 bits")
    return found


def _short_enough(text: str, numbers: range) -> range:
    if not numbers:
        raise ArgumentTypeError(f"{text!r} is an empty range")
    # len(numbers) would fail for very long ranges.
    if abs(numbers[-1] - numbers[0]) // abs(numbers.step) >= _LONGEST_RANGE:
        raise ArgumentTypeError(f"{text!r} has more than {_LONGEST_RANGE} members")
    return numbers


class TimeRange(list[float]):
    """The times of start:stop:step."""


def seconds(text: str) -> list[float]:
    """ "0.5,1.25" in seconds -> a list; "start:stop:step" -> a TimeRange without `stop`."""
    try:
        if ":" not in text:
            values = [float(part) for part in text.split(",")]
        else:
            start, stop, step = (Fraction(part) for part in text.split(":"))
            count = max(0, math.ceil((stop - start) / step))
            numbers = _short_enough(text, range(count))
            values = TimeRange(float(start + index * step) for index in numbers)
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise ArgumentTypeError(
            f"{text!r} is neither a list like 0.5,1.25 nor a range like 0:10:0.5"
        ) from error
    if not all(math.isfinite(value) for value in values):
        raise ArgumentTypeError(f"{text!r} holds a time that is not finite")
    return values


def duration(text: str) -> float:
    """A number of seconds from 0."""
    try:
        value = float(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds") from error
    if not 0 <= value < math.inf:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds from 0")
    return value


def fps(text: str) -> float:
    """ "25", "29.97" or "30000/1001"."""
    try:
        rate = float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise ArgumentTypeError(f"{text!r} is not a rate like 25 or 30000/1001") from error
    if not 0 < rate < 1e9:
        raise ArgumentTypeError(f"{text!r} is not above 0 and below 1e9")
    return rate


def bitrate(text: str) -> int:
    """ "800k", "2M" or a number of bits per second."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,9})?)([kKmMgG]?)", text)
    if match is None or float(match[1]) <= 0:
        raise ArgumentTypeError(f"{text!r} is not a bitrate like 800k or 2M")
    rate = round(float(match[1]) * _UNITS[match[2].lower()])
    if rate > 10**12:
        raise ArgumentTypeError(f"{text!r} is above 1000G")
    return rate


def channel_values(text: str) -> list[float]:
    """One number for each channel, "0.485,0.456,0.406"."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a list like 0.485,0.456,0.406") from error
    if not all(math.isfinite(value) for value in values):
        raise ArgumentTypeError(f"{text!r} holds a number that is not finite")
    return values


def option(text: str) -> tuple[str, str]:
    """ "name=value"; the value may hold further equals signs."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ArgumentTypeError(f"{text!r} is not NAME=VALUE, for example tune=film")
    return name, value


def positive(text: str) -> int:
    """A whole number above 0."""
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 to 999999999")
    return int(text)


def count(text: str) -> int:
    """A whole number from 0."""
    if not re.fullmatch(r"\d{1,9}", text):
        raise ArgumentTypeError(f"{text!r} is not a whole number from 0 to 999999999")
    return int(text)
