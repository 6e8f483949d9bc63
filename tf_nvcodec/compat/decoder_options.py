"""Checks the arguments that all decoders share."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Mapping
from typing import Any

from tf_nvcodec.compat.enums import OutputColorType, cudaVideoCodec
from tf_nvcodec.compat.errors import InvalidValueError, PyNvVCExceptionUnsupported
from tf_nvcodec.compat.integers import INT32_MAX, whole
from tf_nvcodec.compat.library import declare

_BACKENDS = {"auto": 0, "cpu": 1, "nvdec": 2}


class DecoderOptions(ctypes.Structure):
    """nvc_decoder_options of capi/decoder.h."""

    _fields_ = (
        ("cuda_context", ctypes.c_uint64),
        ("cuda_stream", ctypes.c_uint64),
        ("codec", ctypes.c_int32),
        ("gpu", ctypes.c_int32),
        ("backend", ctypes.c_int32),
        ("device_memory", ctypes.c_int32),
        ("max_width", ctypes.c_int32),
        ("max_height", ctypes.c_int32),
        ("color", ctypes.c_int32),
        ("low_latency", ctypes.c_int32),
    )


# The number is 0 without a driver too.
gpu_count = declare("gpu_count", [])


def handle_number(name: str, handle: Any) -> int:
    """Returns the number of a CUDA context or stream, or of such an object of another library.

    The objects are those of pycuda, CuPy, PyTorch and Numba.
    """
    for attribute in ("handle", "cuda_stream", "ptr"):
        handle = getattr(handle, attribute, handle)
    handle = getattr(handle, "value", handle)
    if handle is None:
        return 0
    return whole(f"the handle of {name}", handle, 0, 2**64 - 1)


def gpu_number(gpuid: int) -> int:
    """Raises ValueError if `gpuid` is no number of a GPU."""
    return whole("gpuid", gpuid, 0, INT32_MAX)


def shared_options(
    numbers: Mapping[str, Any], color: int, backend: str, **refused: bool
) -> DecoderOptions:
    """Returns options for any codec, with frames in host memory.

    Args:
      numbers: The GPU, its context and stream, and the largest width and height, in this order, by
        the names that the user knows.
      color: An OutputColorType.
      backend: See CreateDecoder.
      **refused: Arguments that must not be set.

    Raises:
      ValueError: A value that no decoder takes.
      PyNvVCExceptionUnsupported: One of `refused` is set.
    """
    for name, value in refused.items():
        if value:
            raise PyNvVCExceptionUnsupported(f"{name} is not supported: leave it out")
    if backend not in _BACKENDS:
        raise InvalidValueError(f"backend is {backend!r}: it must be one of {', '.join(_BACKENDS)}")
    gpu, context, stream, width, height = numbers.items()
    return DecoderOptions(
        cuda_context=handle_number(*context),
        cuda_stream=handle_number(*stream),
        codec=-1,
        gpu=whole(*gpu, 0, INT32_MAX),
        backend=_BACKENDS[backend],
        max_width=whole(*width, 0, INT32_MAX),
        max_height=whole(*height, 0, INT32_MAX),
        color=_member(OutputColorType, color),
    )


# Of these extensions of H.264, the base layer or view is decoded.
_BASES = {
    cudaVideoCodec.H264_SVC: cudaVideoCodec.H264,
    cudaVideoCodec.H264_MVC: cudaVideoCodec.H264,
}


def base_codec_number(codec: int) -> int:
    """Returns the number of the codec that decodes `codec`. Raises as codec_number does."""
    number = codec_number(codec)
    return _BASES.get(cudaVideoCodec(number), number)


def codec_number(codec: int) -> int:
    """Raises ValueError for a number that is no cudaVideoCodec."""
    return _member(cudaVideoCodec, codec)


def _member(kind: Any, value: int) -> int:
    try:
        return int(kind(value))
    except ValueError as error:
        raise InvalidValueError(f"{error}: pass one of its names") from error


def stays_on_gpu(name: str, wanted: bool, backend: str) -> bool:
    """Whether frames stay in a GPU's memory, as the argument `name` says.

    On a machine without a GPU they do not, and the user gets a warning.

    Raises:
      ValueError: `wanted` is set, but the backend is the CPU.
    """
    if not wanted:
        return False
    if backend == "cpu":
        raise InvalidValueError(f'backend="cpu" decodes to host memory: {name} must be False')
    if backend == "auto" and gpu_count() == 0:
        warnings.warn(
            "device memory is asked for on a machine without a GPU: frames are in host memory",
            RuntimeWarning,
            stacklevel=3,
        )
        return False
    return True
