"""Arrays on a GPU that do not belong to TensorFlow: the driver's memory, streams and copies."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator
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


def free_memory() -> int:
    """Free bytes of the first GPU."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    check(_cuda().cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
    return int(free.value)


class Context:
    """One of the first GPU's beside the primary one, current nowhere; destroyed at the end of
    `with`."""

    def __init__(self) -> None:
        cuda, device, handle = _cuda(), ctypes.c_int(), ctypes.c_void_p()
        check(cuda.cuDeviceGet(ctypes.byref(device), 0))
        check(cuda.cuCtxCreate_v2(ctypes.byref(handle), 0, device))
        check(cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))
        self.handle = int(handle.value or 0)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()

    def destroy(self) -> None:
        if self.handle:
            check(_cuda().cuCtxDestroy_v2(ctypes.c_void_p(self.handle)))
        self.handle = 0

    @contextlib.contextmanager
    def _current(self) -> Iterator[ctypes.CDLL]:
        cuda = _cuda()
        check(cuda.cuCtxPushCurrent_v2(ctypes.c_void_p(self.handle)))
        try:
            yield cuda
        finally:
            check(cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))

    def stream(self) -> int:
        """A new stream. It ends with the context."""
        handle = ctypes.c_void_p()
        with self._current() as cuda:
            check(cuda.cuStreamCreate(ctypes.byref(handle), 1))
        return int(handle.value or 0)

    def read(self, address: int, size: int) -> bytes:
        """Memory of the context."""
        out = ctypes.create_string_buffer(size)
        with self._current() as cuda:
            check(cuda.cuMemcpyDtoH_v2(out, ctypes.c_uint64(address), ctypes.c_size_t(size)))
        return out.raw


def context_of(address: int) -> int:
    """The context that the memory belongs to."""
    context, attribute = ctypes.c_void_p(), 1  # CU_POINTER_ATTRIBUTE_CONTEXT
    check(_cuda().cuPointerGetAttribute(ctypes.byref(context), attribute, ctypes.c_uint64(address)))
    return int(context.value or 0)


def pause(stream: int, seconds: float) -> None:
    """What is queued next on this stream waits so long; the host does not. Without Python, whose
    lock the call under test may hold."""
    sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
    microseconds = ctypes.c_void_p(int(1e6 * seconds))
    check(_cuda().cuLaunchHostFunc(ctypes.c_void_p(stream), sleep, microseconds))


class Stream:
    """A stream that does not wait for the default stream."""

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

    def pause(self, seconds: float) -> None:
        pause(self.handle, seconds)

    def synchronize(self) -> None:
        check(_cuda().cuStreamSynchronize(ctypes.c_void_p(self.handle)))


class CudaArray:
    """The driver's memory, with `__cuda_array_interface__`. `living` counts these objects."""

    living = 0
    address = 0

    def __init__(self, shape: tuple[int, ...], dtype: Any, stream: Stream | None) -> None:
        self.dtype, self.shape = np.dtype(dtype), shape
        self.size = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
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
        if self.address:
            check(_cuda().cuMemFree_v2(ctypes.c_uint64(self.address)))
            CudaArray.living -= 1
