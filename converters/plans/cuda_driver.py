"""The few calls of the CUDA driver that running a plan needs, through ctypes.

The library comes with the GPU's driver, so no package of Python bindings is needed. Memory belongs
to the device's primary context, which TensorRT and TensorFlow use too.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.util.errors import UnavailableError

_LIBRARY = "libcuda.so.1"


class Device:
    """A GPU. `close` gives its memory back."""

    def __init__(self, index: int = 0) -> None:
        self.index = index
        self._driver = _load()
        self._allocated: list[int] = []
        self._stream = ctypes.c_void_p()
        self.call("cuInit", 0)
        self._device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self._device), index)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self._context = context
        self.call("cuCtxSetCurrent", context)
        self.call("cuStreamCreate", ctypes.byref(self._stream), 0)

    @property
    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, len(text), self._device)
        return text.value.decode("utf-8", "replace")

    @property
    def stream(self) -> int:
        """The handle of this object's own stream."""
        return self._stream.value or 0

    def use(self) -> None:
        """Makes the device current for this thread."""
        self.call("cuCtxSetCurrent", self._context)

    def allocate(self, size: int) -> int:
        """The address of `size` bytes of device memory; `free` gives them back."""
        address = self.allocate_unowned(size)
        self._allocated.append(address)
        return address

    def allocate_unowned(self, size: int) -> int:
        """The same, for a caller who gives it back with `free_unowned`."""
        address = ctypes.c_uint64()
        # A tensor can be empty, but the driver does not allocate 0 bytes.
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        return address.value

    def free_unowned(self, address: int) -> None:
        """Gives back what `allocate_unowned` gave."""
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def write(self, address: int, array: NDArray[Any]) -> None:
        """Copies `array`, which is C-contiguous, to device memory."""
        if array.nbytes:
            self.call(
                "cuMemcpyHtoD_v2",
                ctypes.c_uint64(address),
                ctypes.c_void_p(array.ctypes.data),
                ctypes.c_size_t(array.nbytes),
            )

    def download(self, address: int, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """A new array with the values at `address`."""
        array = np.empty(shape, dtype)
        if array.nbytes:
            self.call(
                "cuMemcpyDtoH_v2",
                ctypes.c_void_p(array.ctypes.data),
                ctypes.c_uint64(address),
                ctypes.c_size_t(array.nbytes),
            )
        return array

    def copy(self, to: int, source: int, size: int) -> None:
        """Puts a copy from device memory to device memory into the stream."""
        if size:
            arguments = ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(size)
            self.call("cuMemcpyDtoDAsync_v2", *arguments, self._stream)

    def wait(self) -> None:
        """Waits until all work in the stream is done."""
        self.call("cuStreamSynchronize", self._stream)

    def wait_for_all(self) -> None:
        """Waits until all work on the GPU is done, in other streams of this process too."""
        self.call("cuCtxSynchronize")

    def free(self) -> None:
        """Gives all memory back."""
        while self._allocated:
            self.free_unowned(self._allocated.pop())

    def start_profiler(self) -> None:
        """Where a tool such as Nsight Systems records only between start and stop, it starts."""
        self.use()
        self.call("cuProfilerStart")

    def stop_profiler(self) -> None:
        """Ends what `start_profiler` began."""
        self.wait()
        self.call("cuProfilerStop")

    def close(self) -> None:
        """Gives the memory, the stream and the context back; a second call does nothing."""
        if not self._context:
            return
        self.use()
        self.free()
        self.call("cuStreamDestroy_v2", self._stream)
        self.call("cuDevicePrimaryCtxRelease_v2", self._device)
        self._context = ctypes.c_void_p()

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the driver; UnavailableError names it and why it failed."""
        code = getattr(self._driver, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(code, ctypes.byref(text))
            why = (text.value or b"unknown error").decode()
            raise UnavailableError(f"the CUDA driver's {name} failed: {why} (error {code})")


def _load() -> Any:
    try:
        return ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise UnavailableError(
            f"no NVIDIA driver is here: {_LIBRARY} cannot be loaded ({error}). "
            "Run plans on a machine with an NVIDIA GPU and its driver."
        ) from error
