"""Reads the values of encoding parameters, which users pass as strings or numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from tf_nvcodec.compat.errors import InvalidValueError

# The largest quantisers of NVENC: a QP for H.264 and HEVC, a quantiser index for AV1.
MAX_QP = {"h264": 51, "hevc": 51, "av1": 255}


class Kind(Protocol):
    def allowed(self, codec: str) -> str:
        """Returns the accepted values, for error messages and the documentation."""

    def parse(self, value: Any, codec: str) -> Any:
        """Returns the value, or None if it is not accepted."""


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        text = value.strip()
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else None
    try:
        return int(value.__index__())
    except (AttributeError, TypeError):
        return None


def _items(value: Any) -> list[Any]:
    if isinstance(value, str):
        return re.split(r"[,x]", value.strip("[]() "))
    if isinstance(value, Sequence):
        return list(value)
    return [value]


def is_zero(value: Any) -> bool:
    """Whether the value is 0, or a list of it such as "0,0,0"."""
    items = _items(value)
    return bool(items) and all(_whole(item) == 0 for item in items)


@dataclass(frozen=True)
class Choice:
    names: tuple[str, ...]

    def allowed(self, codec: str) -> str:
        return "one of " + ", ".join(self.names)

    def parse(self, value: Any, codec: str) -> str | None:
        names = {name.lower(): name for name in self.names}
        return names.get(value.strip().lower()) if isinstance(value, str) else None


@dataclass(frozen=True)
class Whole:
    least: int
    most: int

    def allowed(self, codec: str) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def parse(self, value: Any, codec: str) -> int | None:
        number = _whole(value)
        return number if number is not None and self.least <= number <= self.most else None


@dataclass(frozen=True)
class Distance(Whole):
    """A number of frames. PyNvVideoCodec's guide also allows a list of three, without a meaning;
    such a list must have three equal numbers."""

    def allowed(self, codec: str) -> str:
        return f"{super().allowed(codec)}, or a list that repeats it"

    def parse(self, value: Any, codec: str) -> int | None:
        numbers = {super(Distance, self).parse(item, codec) for item in _items(value)}
        return numbers.pop() if len(numbers) == 1 else None


@dataclass(frozen=True)
class Bits:
    """A number of bits. K and M are 1024 and 1024 * 1024, as in PyNvVideoCodec."""

    most: int = 2**31 - 1

    def allowed(self, codec: str) -> str:
        return f'bits from 1000 to {self.most}, as a number or as "4000K" or "5M" (K is 1024)'

    def parse(self, value: Any, codec: str) -> int | None:
        factor = 1
        if isinstance(value, str):
            found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKmM]?)\s*", value)
            if found is None:
                return None
            factor = {"": 1, "k": 1024, "m": 1024 * 1024}[found[2].lower()]
            number = float(found[1]) * factor
        else:
            whole = _whole(value)
            if whole is None:
                return None
            number = whole
        return int(number) if 1000 <= number <= self.most else None


@dataclass(frozen=True)
class Quantisers:
    """Quantisers of P, B and I frames, in this order; a single value is for all three."""

    def allowed(self, codec: str) -> str:
        return (
            f"a whole number from 0 to {MAX_QP[codec]}, or three of them for P, B and I frames "
            '("28,31,25" or [28, 31, 25])'
        )

    def parse(self, value: Any, codec: str) -> tuple[int, int, int] | None:
        kind = Whole(0, MAX_QP[codec])
        numbers = [kind.parse(item, codec) for item in _items(value)]
        if len(numbers) == 1:
            numbers *= 3
        if len(numbers) != 3 or None in numbers:
            return None
        return numbers[0], numbers[1], numbers[2]  # type: ignore[return-value]


@dataclass(frozen=True)
class Size:
    def allowed(self, codec: str) -> str:
        return 'a width and a height ("4096x4096" or [4096, 4096])'

    def parse(self, value: Any, codec: str) -> tuple[int, int] | None:
        numbers = [Whole(1, 65536).parse(item, codec) for item in _items(value)]
        if len(numbers) != 2 or None in numbers:
            return None
        return numbers[0], numbers[1]  # type: ignore[return-value]


@dataclass(frozen=True)
class FrameRate:
    """Frames per second. The NTSC rates as usually written mean n * 1000 / 1001."""

    def allowed(self, codec: str) -> str:
        return 'frames a second above 0, up to 1000 (30, 29.97 or "30000/1001")'

    def parse(self, value: Any, codec: str) -> Fraction | None:
        try:
            rate = Fraction(value.strip() if isinstance(value, str) else str(value))
        except (ValueError, ZeroDivisionError):
            return None
        for base in (24, 30, 48, 60, 120):
            if abs(rate - Fraction(base * 1000, 1001)) < Fraction(1, 200):
                return Fraction(base * 1000, 1001)
        rate = rate.limit_denominator(1001)
        return rate if 0 < rate <= 1000 else None


def parse(kind: Kind, name: str, value: Any, codec: str) -> Any:
    """Reads `value` as `kind` does.

    Raises:
      InvalidValueError: `kind` does not accept it; the message names the parameter, the value and
        what is allowed.
    """
    parsed = kind.parse(value, codec)
    if parsed is None:
        raise InvalidValueError(f"{name} must be {kind.allowed(codec)}; got {value!r}")
    return parsed
