"""Checks of arguments that users often pass in a wrong form; the errors name the argument."""

from __future__ import annotations

import contextlib
import numbers
import os
from typing import Any

import numpy as np
import tensorflow as tf

_ONE_VIDEO = "decode one video a call, e.g. with tf.map_fn or Dataset.map"


def time_dtype(value: Any) -> tf.DType:
    """Returns float32 if `value` holds nothing but such numbers, else float64.

    The ops find the frame that a rounded time means, so a float32 time must stay one.
    """
    dtypes = {str(getattr(leaf, "dtype", "")) for leaf in tf.nest.flatten(value)}
    return tf.float32 if dtypes and all("float32" in name for name in dtypes) else tf.float64


def contents_from(value: Any, name: str = "contents") -> Any:
    """Returns `value` in a form that the ops accept as contents, a scalar string. `name` is the
    argument that errors name.

    Raises:
      TypeError: `value` is a path, a file, numbers, or several videos in one object. The message
        never shows the bytes, which may be many.
    """
    if isinstance(value, (bytearray, memoryview)):
        value = bytes(value)
    if isinstance(value, bytes):
        # TensorFlow copies an object array once, but bytes four times.
        return np.array(value, object)
    if isinstance(value, (str, os.PathLike)):
        raise TypeError(
            f"{name} is a path, {os.fspath(value)!r}: pass the bytes of the file, "
            "tf.io.read_file(path)"
        )
    if isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
        raise TypeError(f"{name} is a {type(value).__name__}: {_ONE_VIDEO}")
    if callable(getattr(value, "read", None)):
        raise TypeError(f"{name} is an open file: pass the bytes in it, file.read()")
    if isinstance(value, np.ndarray) and value.dtype.kind not in "SOU":
        raise TypeError(
            f"{name} is an array of {value.dtype}: pass the bytes of a video file, x.tobytes()"
        )
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, tf.DType) and dtype != tf.string:
        raise TypeError(f"{name} must be a string, the bytes of a video file; got {dtype.name}")
    if dtype is None and not isinstance(value, (list, tuple)):
        raise TypeError(
            f"{name} must be a string, the bytes of a video file; got {type(value).__name__}"
        )
    return value


def number_from(value: Any, name: str, kind: str = "a number") -> float:
    """Returns `value`. Raises TypeError, which says that it must be `kind`, if it is no number."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, np.number)):
        raise TypeError(f"{name} must be {kind}, got {value!r}")
    return float(value)


def part_from(value: Any, name: str) -> float:
    """Returns `value`, a part above 0 and at most 1; None is 0.

    Raises:
      TypeError: `value` is no number.
      ValueError: It is no such part.
    """
    if value is None:
        return 0.0
    if not 0 < number_from(value, name, "a number or None") <= 1:
        raise ValueError(f"{name} must be above 0 and at most 1, got {value}")
    return float(value)


def pair_from(value: Any, name: str, kind: type[float] | type[int]) -> list[Any]:
    """Returns a pair of numbers as a list; None is an empty one.

    Raises:
      TypeError: `value` is no pair of numbers of this kind.
    """
    if value is None:
        return []
    allowed = numbers.Integral if kind is int else numbers.Real
    if (
        not isinstance(value, (tuple, list, np.ndarray))
        or len(value) != 2
        or any(isinstance(one, (bool, np.bool_)) or not isinstance(one, allowed) for one in value)
    ):
        what = "integers" if kind is int else "numbers"
        raise TypeError(f"{name} must be two {what}, got {value!r}")
    return [kind(one) for one in value]


def timeout_from(value: Any) -> float:
    """Returns the seconds of `timeout`; None is 0, no limit.

    Raises:
      TypeError: `value` is no number.
      ValueError: `value` is negative or NaN.
    """
    if value is None:
        return 0.0
    seconds = number_from(value, "timeout", "a number of seconds or None")
    if not seconds >= 0:
        raise ValueError(f"timeout must be at least 0 seconds, got {value}")
    return seconds


def batch_of_contents(value: Any, name: str = "contents") -> Any:
    """Returns `value` in a form that the ops accept as a batch of bytes, a string vector.

    Raises:
      TypeError: `value` is one video or clip, or no strings.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        what = "video" if name == "contents" else "clip"
        raise TypeError(f"{name} is one {what}: pass a batch of them, [{name}]")
    if isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
        raise TypeError(f"{name} is a {type(value).__name__}: pass a string vector")
    if not isinstance(value, (list, tuple)) or any(tf.is_tensor(video) for video in value):
        return contents_from(value, name)
    for place, video in enumerate(value):
        if not isinstance(video, (bytes, bytearray, memoryview)):
            what = type(video).__name__
            raise TypeError(f"{name}[{place}] is of type {what}, not bytes: pass bytes of files")
    if not value:
        return tf.constant([], tf.string)
    # NumPy's own strings would lose zeros at their ends.
    batch = np.empty(len(value), object)
    batch[:] = [bytes(video) for video in value]
    return batch


def in_host_memory() -> contextlib.AbstractContextManager[Any]:
    """Places tensors on the CPU, where the kernels read all inputs but frames.

    Under a caller's tf.device("GPU"), Python's numbers would be copied to the GPU and back, and the
    host would wait for the GPU's work.
    """
    return tf.device("CPU:0")


def lengths_from(value: Any, name: str, form: str) -> tf.Tensor:
    """Returns `value` as an int32 tensor. The op checks its shape and values.

    Raises:
      TypeError: `value` is no such tensor; the message says that `name` must be `form`.
    """
    try:
        _require_int32(value)
        with in_host_memory():
            return tf.convert_to_tensor(value, tf.int32, name=name)
    except (TypeError, ValueError, OverflowError):
        given = f"a tensor of {value.dtype.name}" if tf.is_tensor(value) else repr(value)
        raise TypeError(f"{name} must be {form}, int32; got {given}") from None


def size_from(size: Any) -> tf.Tensor:
    """Returns the ops' size. A scalar, the shorter side, is [-size, -size], and None [0, 0].

    Raises:
      TypeError: `size` is neither one integer nor two.
      ValueError: It is an integer below 1.
    """
    if isinstance(size, numbers.Integral) and not isinstance(size, bool):
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size}")
        size = (-int(size), -int(size))
    return lengths_from((0, 0) if size is None else size, "size", "an integer or (height, width)")


def _require_int32(value: Any) -> None:
    """Raises OverflowError for a number that TensorFlow would wrap around."""
    parts = value.ravel().tolist() if isinstance(value, np.ndarray) else tf.nest.flatten(value)
    for part in parts:
        if isinstance(part, numbers.Integral) and not tf.int32.min <= part <= tf.int32.max:
            raise OverflowError


def file_name(name: str | bytes | os.PathLike[Any]) -> bytes:
    """Returns `name` as the bytes that the ops take.

    A name that is not UTF-8 is a string with surrogates in Python.
    """
    name = os.fspath(name)
    return name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")


def shown(text: bytes) -> str:
    """Decodes `text` for a message. It may contain file names that are not UTF-8."""
    return text.decode("utf-8", "backslashreplace")
