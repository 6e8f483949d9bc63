"""Reads frames on a GPU that users pass to an encoder, by the protocol of their library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from tf_nvcodec.compat.encoder_library import GpuRows, gpu_of_memory
from tf_nvcodec.compat.errors import InvalidValueError
from tf_nvcodec.compat.integers import INT64_MAX
from tf_nvcodec.python import dlpack_capsule
from tf_nvcodec.python.dlpack import DeviceFrames

_HOSTS = (dlpack_capsule.CPU, dlpack_capsule.CUDA_HOST)
_GPUS = (dlpack_capsule.CUDA, dlpack_capsule.CUDA_MANAGED)
_INTEGERS = (0, 1)  # DLPack's type codes of int and uint


class GpuReader(Protocol):
    """A reader of frames, with a stream on each GPU. Streams are numbered as in DLPack."""

    def gpu_stream(self, gpu: int) -> int: ...

    def wait_for(self, gpu: int, stream: int) -> None: ...


class GpuFrame(NamedTuple):
    gpu: int
    rows: list[GpuRows]
    owner: Any  # keeps the memory alive


def _is_gpu_tensor(frame: Any) -> bool:
    return "GPU" in getattr(frame, "backing_device", "")


def is_on_gpu(frame: Any) -> bool:
    """Whether `frame` is in a GPU's memory, where host code cannot read it."""
    if _is_gpu_tensor(frame):
        return True
    device = getattr(frame, "__dlpack_device__", None)
    if device is not None:
        return device()[0] not in _HOSTS
    if hasattr(frame, "__array__") or hasattr(frame, "__array_interface__"):
        return False
    return hasattr(frame, "__cuda_array_interface__") or hasattr(frame, "cuda")


def gpu_frame(frame: Any, frame_bytes: int, reader: GpuReader, stream: int = 0) -> GpuFrame:
    """Returns the memory of `frame`, which `reader` reads after the work that makes it.

    Args:
      frame: A TensorFlow tensor on a GPU; an object with __dlpack__ or __cuda_array_interface__; or
        an object whose cuda() returns the planes as such objects, in the order of the format.
      frame_bytes: The number of bytes of a frame.
      reader: The reader, whose stream waits for the producer's.
      stream: Another stream to wait for; 0 is none.

    Raises:
      InvalidValueError: The frame has another type, dtype or number of bytes, its rows have gaps
        between samples, or its planes are on several GPUs.
      PyNvVCExceptionUnsupported: This machine has no driver.
    """
    parts = [_part(part, reader) for part in _planes(frame)]
    rows = [rows for part in parts for rows in part.rows]
    given = sum(part.row_bytes * part.rows for part in rows)
    if given != frame_bytes:
        raise InvalidValueError(
            f"a frame has {frame_bytes} bytes in this size and format; got {given} in the GPU's "
            f"memory ({type(frame).__name__})"
        )
    gpus = sorted({part.gpu for part in parts})
    if len(gpus) != 1:
        raise InvalidValueError(f"the planes of a frame are on one GPU; got GPUs {gpus}")
    if stream:
        reader.wait_for(gpus[0], stream)
    return GpuFrame(gpus[0], rows, (frame, [part.owner for part in parts]))


def _planes(frame: Any) -> Sequence[Any]:
    if _is_gpu_tensor(frame):
        return [DeviceFrames(frame)]
    if hasattr(frame, "__dlpack__") or hasattr(frame, "__cuda_array_interface__"):
        return [frame]
    planes = frame.cuda() if callable(getattr(frame, "cuda", None)) else None
    if not isinstance(planes, (list, tuple)) or not planes:
        raise InvalidValueError(
            "a frame on a GPU must have __dlpack__, __cuda_array_interface__, or a cuda() that "
            f"gives a list of planes; got {type(frame).__name__}"
        )
    return planes


def _part(plane: Any, reader: GpuReader) -> GpuFrame:
    if hasattr(plane, "__dlpack__") and hasattr(plane, "__dlpack_device__"):
        return _of_dlpack(plane, reader)
    if hasattr(plane, "__cuda_array_interface__"):
        return _of_cuda_array(plane, reader)
    raise InvalidValueError(
        "a plane on a GPU must have __dlpack__ or __cuda_array_interface__; got "
        f"{type(plane).__name__}"
    )


def _of_dlpack(plane: Any, reader: GpuReader) -> GpuFrame:
    kind, gpu = (int(part) for part in plane.__dlpack_device__())
    if kind not in _GPUS:
        raise InvalidValueError(f"a frame can't be on DLPack's device {(kind, gpu)}: CUDA's can")
    # The producer makes the reader's stream wait for its own.
    capsule = plane.__dlpack__(stream=reader.gpu_stream(gpu))
    view = dlpack_capsule.view(capsule)
    if view.code not in _INTEGERS or view.bits not in (8, 16) or view.lanes != 1:
        raise InvalidValueError(
            "a frame must hold bytes (uint8) or 16-bit samples (uint16); got DLPack's type "
            f"{view.code} of {view.bits} bits, {view.lanes} lanes"
        )
    size = view.bits // 8
    shape = [view.shape[i] for i in range(view.ndim)]
    strides = [view.strides[i] * size for i in range(view.ndim)] if view.strides else None
    address = (view.data or 0) + view.byte_offset
    return GpuFrame(gpu, [as_rows(address, shape, strides, size)], capsule)


def _of_cuda_array(plane: Any, reader: GpuReader) -> GpuFrame:
    interface = plane.__cuda_array_interface__
    try:
        dtype = np.dtype(interface["typestr"])
        address, shape = int(interface["data"][0]), [int(side) for side in interface["shape"]]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InvalidValueError(
            f"__cuda_array_interface__ must say typestr, data and shape; got {interface!r}"
        ) from error
    if dtype.kind not in "iu" or dtype.itemsize > 2 or interface.get("mask") is not None:
        raise InvalidValueError(
            f"a frame must hold bytes (uint8) or 16-bit samples (uint16), without a mask; got "
            f"{dtype}"
        )
    rows = as_rows(address, shape, interface.get("strides"), dtype.itemsize)
    gpu = gpu_of_memory(address)
    if interface.get("stream") is not None:
        reader.wait_for(gpu, int(interface["stream"]))
    return GpuFrame(gpu, [rows], plane)


def as_rows(
    address: int, shape: Sequence[int], strides: Sequence[int] | None, sample_bytes: int
) -> GpuRows:
    """Returns an array as rows of equal distance. Strides are in bytes; None means no gaps.

    Raises:
      InvalidValueError: A side is negative, or the array has no such rows: the samples of a row
        must follow each other, and the rows must be evenly spaced, with the first one first.
    """
    if any(side < 0 for side in shape):
        raise InvalidValueError(f"a frame on a GPU can't be of shape {list(shape)}")
    if strides is None:
        size = sample_bytes * math.prod(shape)
        return GpuRows(address, size, 1, size)
    sides = [(side, step) for side, step in zip(shape, strides) if side != 1]
    row_bytes = sample_bytes
    while sides and sides[-1][1] == row_bytes:
        row_bytes *= sides.pop()[0]
    if not sides:
        return GpuRows(address, row_bytes, 1, row_bytes)
    rows, pitch = sides.pop()
    while sides and sides[-1][1] == pitch * rows:
        rows *= sides.pop()[0]
    if sides or not row_bytes <= pitch <= INT64_MAX:
        raise InvalidValueError(
            f"a frame on a GPU must be whole rows, evenly spaced; got shape {list(shape)} with "
            f"strides {list(strides)} in bytes"
        )
    return GpuRows(address, row_bytes, rows, pitch)
