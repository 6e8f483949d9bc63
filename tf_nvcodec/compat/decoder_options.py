"""The arguments that all decoders share, checked."""

from __future__ import annotations

import ctypes
from typing import Any

from tf_nvcodec.compat.enums import OutputColorType, cudaVideoCodec
from tf_nvcodec.compat.errors import InvalidValueError
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


# 0 also where there is no driver.
gpu_count = declare("gpu_count", [])


def _handle_number(name: str, handle: Any) -> int:
    """The number of a CUDA context or stream, of the objects of pycuda, CuPy, PyTorch and Numba."""
    for attribute in ("handle", "cuda_stream", "ptr"):
        handle = getattr(handle, attribute, handle)
    handle = getattr(handle, "value", handle)
    if handle is None:
        return 0
    if not isinstance(handle, int) or not 0 <= handle < 2**64:
        raise InvalidValueError(f"{name} is {handle!r}: pass its handle as a number, or 0")
    return handle


def _size(name: str, value: int) -> int:
    if not isinstance(value, int) or not 0 <= value < 2**31:
        raise InvalidValueError(f"{name} is {value!r}: it must be pixels, or 0 for no limit")
    return value


def decoder_options(
    gpuid: int,
    codec: int,
    cudacontext: Any,
    cudastream: Any,
    maxwidth: int,
    maxheight: int,
    color: int,
    backend: str,
) -> DecoderOptions:
    """Raises ValueError for what no decoder takes."""
    if not isinstance(gpuid, int) or not 0 <= gpuid < 2**31:
        raise InvalidValueError(f"gpuid is {gpuid!r}: it must be a GPU's number, from 0")
    if backend not in _BACKENDS:
        raise InvalidValueError(f"backend is {backend!r}: it must be one of {', '.join(_BACKENDS)}")
    try:
        codec = cudaVideoCodec(codec)
        color = OutputColorType(color)
    except ValueError as error:
        raise InvalidValueError(f"{error}: pass one of its names") from error
    return DecoderOptions(
        cuda_context=_handle_number("cudacontext", cudacontext),
        cuda_stream=_handle_number("cudastream", cudastream),
        codec=codec,
        gpu=gpuid,
        backend=_BACKENDS[backend],
        max_width=_size("maxwidth", maxwidth),
        max_height=_size("maxheight", maxheight),
        color=color,
    )
