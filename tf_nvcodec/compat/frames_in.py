"""Reads frames in host memory that users pass to an encoder."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tf_nvcodec.compat.errors import InvalidValueError


def _as_array(frame: Any) -> np.ndarray:
    if isinstance(frame, np.ndarray):
        return frame
    try:
        return np.frombuffer(frame, np.uint8)  # bytes, bytearray, memoryview, mmap, ...
    except (TypeError, ValueError, BufferError):
        pass
    try:
        return np.asarray(memoryview(frame))
    except TypeError:
        pass
    if hasattr(frame, "__array__") or hasattr(frame, "__array_interface__"):
        return np.asarray(frame)  # TensorFlow's tensors and decoded frames are not copied
    if hasattr(frame, "__dlpack__"):
        return np.from_dlpack(frame)
    raise InvalidValueError(
        "a frame must be bytes or another buffer, a NumPy array, a TensorFlow tensor or an object "
        "with __array__, __dlpack__, __cuda_array_interface__ or cuda(); got "
        f"{type(frame).__name__}"
    )


def host_bytes(frame: Any, frame_bytes: int) -> np.ndarray:
    """Returns the bytes of `frame`, uint8 [frame_bytes], without a copy if it is contiguous.

    Args:
      frame: A frame in host memory: bytes or another buffer of any shape, such as [H * 3 / 2, W]
        or [H, W, 4]; 16-bit formats as uint16 or as bytes.
      frame_bytes: The number of bytes of a frame.

    Raises:
      InvalidValueError: The frame has another type, dtype or number of bytes.
    """
    array = _as_array(frame)
    if array.dtype not in (np.uint8, np.uint16, np.int8, np.int16):
        raise InvalidValueError(
            f"a frame must hold bytes (uint8) or 16-bit samples (uint16); got {array.dtype}"
        )
    if array.nbytes != frame_bytes:
        raise InvalidValueError(
            f"a frame has {frame_bytes} bytes in this size and format; got {array.nbytes} "
            f"(shape {list(array.shape)}, {array.dtype})"
        )
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
