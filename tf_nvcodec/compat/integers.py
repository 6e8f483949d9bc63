"""Checks whole numbers for the C API, because ctypes cuts off bits without an error."""

from __future__ import annotations

import operator
from typing import Any

from tf_nvcodec.compat.errors import InvalidValueError

INT32_MAX = 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def whole(name: str, value: Any, least: int = INT64_MIN, most: int = INT64_MAX) -> int:
    """Returns `value` as an int.

    It takes what Python takes as an index, NumPy's integers and enumerations included.

    Raises:
      InvalidValueError: It is no whole number, or not from `least` to `most`; the message names the
        argument.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise InvalidValueError(
            f"{name} must be a whole number from {least} to {most}; got {value!r}"
        )
    return number
