"""Arrays on a GPU that are none of TensorFlow's: memory, streams and copies of the driver's."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np


def _cuda() -> ctypes.CDLL:
    """The driver, with the first GPU's primary context, TensorFlow's too, current: memory may be
    given back on any thread."""
    cuda, context = _open()
    check(cuda.cuCtxSetCurrent(context))
    return cuda


@functools.lru_cache(maxsize=1)
def _open() -> tuple[ctypes.CDLL, ctypes.c_void_p]:
    cuda = ctypes.CDLL("libcuda.so.1")
    context, device = ctypes.c_void_p(), ctypes.c_int()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    return cuda, context


def check(result: int) -> None:
    assert result == 0, f"CUDA error {result}"


class Stream:
    """One that does not wait for the default stream."""

    def __init__(self) -> None:
        handle = ctypes.c_void_p()
        check(_cuda().cuStreamCreate(ctypes.byref(handle), 1))
        self.handle = int(handle.value or 0)

    def copy(self, to: int, source: int, size: int) -> None:
        """Queues a copy inside the GPU."""
        check(
            _cuda().cuMemcpyDtoDAsync_v2(
                *(ctypes.c_uint64(address) for address in (to, source)),
                ctypes.c_size_t(size),
                ctypes.c_void_p(self.handle),
            )
        )

    def synchronize(self) -> None:
        check(_cuda().cuStreamSynchronize(ctypes.c_void_p(self.handle)))


class CudaArray:
    """Memory of the driver's with `__cuda_array_interface__`; `living` counts them."""

    living = 0

    def __init__(self, shape: tuple[int, ...], dtype: Any, stream: Stream | None) -> None:
        self.dtype, self.shape = np.dtype(dtype), shape
        self.size = int(np.prod(shape)) * self.dtype.itemsize
        address = ctypes.c_uint64()
        check(_cuda().cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(self.size)))
        self.address = int(address.value)
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "stream": None if stream is None else stream.handle,
        }
        CudaArray.living += 1

    def __del__(self) -> None:
        check(_cuda().cuMemFree_v2(ctypes.c_uint64(self.address)))
        CudaArray.living -= 1
