"""Errors for arguments that take one of a few values or have a minimum."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import tensorflow as tf

# The ops know the allowed values. TensorFlow's message has one form in eager calls, where it also
# contains the whole definition of the op, and two other forms where it builds a graph.
_EAGER = re.compile(
    r"Value for attr '(\w+)' of \"?(.*?)\"? is not in the list of allowed values: ([^\n]*)",
    re.DOTALL,
)
_STRING = re.compile(r"Attr '(\w+)' of '\w+' Op passed string '(.*)' not in: (.*)\.\Z", re.DOTALL)
_DTYPE = re.compile(
    r"Value passed to parameter '(\w+)' has DataType (\w+) not in list of allowed values: (.*)"
)
_LEAST = re.compile(
    r"(?:Value for attr|Attr) '(\w+)' of (?:'\w+' Op passed )?(-?\d+) "
    r"(?:must be at least|less than) minimum (-?\d+)"
)
_NAMES = {"half": "float16", "float": "float32", "double": "float64"}  # of dtypes


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Turns TensorFlow's errors about an op's attributes into errors that name the argument.

    Raises:
      ValueError: An argument does not take its value, in an eager call or in a graph.
      TypeError: An argument does not take its dtype.
    """
    try:
        yield
    except (tf.errors.InvalidArgumentError, ValueError, TypeError) as error:
        text = error.message if isinstance(error, tf.errors.OpError) else str(error)
        if found := _LEAST.match(text):
            name, value, least = found.groups()
            raise ValueError(f"{name} must be at least {least}, got {value}") from None
        found = _EAGER.match(text) or _STRING.match(text) or _DTYPE.match(text)
        if not found:
            raise
        name, value, allowed = found.groups()
        if '"' in allowed:
            raise ValueError(f'{name} must be {_either(allowed)}; got "{value}"') from None
        allowed = ", ".join(_NAMES.get(dtype, dtype) for dtype in allowed.split(", "))
        raise TypeError(
            f"{name} must be {_either(allowed)}; got {_NAMES.get(value, value)}"
        ) from None


def _either(listed: str) -> str:
    """Turns "a, b, c" into "a, b or c"."""
    first, _, last = listed.rpartition(", ")
    return f"{first} or {last}" if first else last
