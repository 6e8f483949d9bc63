"""Work in a device's stream: copies that the host need not wait for, events that time it, and
graphs that repeat it."""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.plans.cuda_driver import Device


class Event:
    """A point in the device's stream."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._event = ctypes.c_void_p()
        device.call("cuEventCreate", ctypes.byref(self._event), 0)

    def record(self) -> None:
        """Puts the event behind the work that is in the stream now."""
        self._device.call("cuEventRecord", self._event, ctypes.c_void_p(self._device.stream))

    def wait(self) -> None:
        """Waits until the work before the event is done."""
        self._device.call("cuEventSynchronize", self._event)

    def ms_since(self, earlier: Event) -> float:
        """The GPU's milliseconds between two events that have passed."""
        elapsed = ctypes.c_float()
        self._device.call("cuEventElapsedTime", ctypes.byref(elapsed), earlier._event, self._event)
        return elapsed.value

    def close(self) -> None:
        """Gives the event back."""
        self._device.call("cuEventDestroy_v2", self._event)


class PageLocked:
    """`array` is a new array in page-locked memory, which the GPU copies from and to by itself."""

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: Any) -> None:
        self._device = device
        self._address = ctypes.c_void_p()
        size = math.prod(shape) * np.dtype(dtype).itemsize
        device.call("cuMemAllocHost_v2", ctypes.byref(self._address), ctypes.c_size_t(max(1, size)))
        memory: Any = (ctypes.c_uint8 * size).from_address(self._address.value or 0)
        self.array: NDArray[Any] = np.ctypeslib.as_array(memory).view(dtype).reshape(shape)

    def copy_from(self, address: int) -> None:
        """Puts a copy of device memory into the array, in the device's stream."""
        self._copy("cuMemcpyDtoHAsync_v2", self._here(), ctypes.c_uint64(address))

    def copy_to(self, address: int) -> None:
        """Puts a copy of the array into device memory, in the device's stream."""
        self._copy("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), self._here())

    def close(self) -> None:
        """Gives the memory back; `array` cannot be used any more."""
        self._device.call("cuMemFreeHost", self._address)

    def _here(self) -> Any:
        return ctypes.c_void_p(self.array.ctypes.data)

    def _copy(self, name: str, to: Any, source: Any) -> None:
        if self.array.nbytes:
            size, stream = ctypes.c_size_t(self.array.nbytes), ctypes.c_void_p(self._device.stream)
            self._device.call(name, to, source, size, stream)


# Only this thread's calls are captured: other threads may allocate memory meanwhile.
_CAPTURE_OF_THIS_THREAD = 1


class Graph:
    """The work that `capture` put into the device's stream, to be repeated by one call.

    It reads and writes the same addresses each time.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._graph = ctypes.c_void_p()

    @contextlib.contextmanager
    def capture(self) -> Iterator[None]:
        """In a `with` block, the stream's work is kept and not done."""
        device, stream = self._device, ctypes.c_void_p(self._device.stream)
        captured = ctypes.c_void_p()
        device.call("cuStreamBeginCapture_v2", stream, _CAPTURE_OF_THIS_THREAD)
        try:
            try:
                yield
            finally:
                # A stream stays useless until its capture ends.
                device.call("cuStreamEndCapture", stream, ctypes.byref(captured))
            no_flags = ctypes.c_uint64(0)
            device.call(
                "cuGraphInstantiateWithFlags", ctypes.byref(self._graph), captured, no_flags
            )
        finally:
            if captured:
                device.call("cuGraphDestroy", captured)

    def launch(self) -> None:
        """Puts the work into the stream."""
        self._device.call("cuGraphLaunch", self._graph, ctypes.c_void_p(self._device.stream))

    def close(self) -> None:
        """Gives the graph back."""
        if self._graph:
            self._device.call("cuGraphExecDestroy", self._graph)
            self._graph = ctypes.c_void_p()
