"""Arrays, streams and contexts on a GPU that the tests get from the driver, not from TensorFlow."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np


def _cuda() -> ctypes.CDLL:
    """Returns the driver. Makes the first GPU's primary context, which is TensorFlow's too, current
    in this thread, because any thread may free memory."""
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
    """Returns how many bytes of the first GPU's memory are free."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    check(_cuda().cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
    return int(free.value)


class Context:
    """A second context of the first GPU, beside the primary one. It is current in no thread. The
    end of the `with` block destroys it."""

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
        """Makes a stream. It ends with the context."""
        handle = ctypes.c_void_p()
        with self._current() as cuda:
            check(cuda.cuStreamCreate(ctypes.byref(handle), 1))
        return int(handle.value or 0)

    def read(self, address: int, size: int) -> bytes:
        """Copies memory of the context to the host."""
        out = ctypes.create_string_buffer(size)
        with self._current() as cuda:
            check(cuda.cuMemcpyDtoH_v2(out, ctypes.c_uint64(address), ctypes.c_size_t(size)))
        return out.raw


def context_of(address: int) -> int:
    """Returns the context that the memory at this address belongs to."""
    context, attribute = ctypes.c_void_p(), 1  # CU_POINTER_ATTRIBUTE_CONTEXT
    check(_cuda().cuPointerGetAttribute(ctypes.byref(context), attribute, ctypes.c_uint64(address)))
    return int(context.value or 0)


def pause(stream: int, seconds: float) -> None:
    """Queues a pause on this stream. Later work on the stream waits for it, the host does not. The
    pause runs no Python code, because the call under test may hold Python's lock."""
    sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
    microseconds = ctypes.c_void_p(int(1e6 * seconds))
    check(_cuda().cuLaunchHostFunc(ctypes.c_void_p(stream), sleep, microseconds))


class Stream:
    """A stream of the driver. It does not wait for the default stream."""

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
    """An array in memory of the driver, with `__cuda_array_interface__`. `living` counts these
    objects."""

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
