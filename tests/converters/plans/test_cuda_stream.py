"""Events and page-locked memory, with a driver of paper: what it is called with, and that all is
given back."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from converters.plans import cuda_driver
from converters.plans.cuda_driver import Device
from converters.plans.cuda_stream import Event, PageLocked
from converters.util.errors import UnavailableError

STREAM = 7


class Driver:
    """Stands in for libcuda.so.1. Its device memory is host memory, and its events are numbers."""

    def __init__(self) -> None:
        self.held: dict[int, Any] = {}
        self.events: dict[int, float] = {}
        self.now = 0.0

    def __getattr__(self, name: str) -> Any:
        if name in ("cuMemAlloc_v2", "cuMemAllocHost_v2"):
            return self._allocate
        if name in ("cuMemFree_v2", "cuMemFreeHost"):
            return lambda address: self.held.pop(address.value) and 0
        if name in ("cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2"):
            return self._copy
        assert name.startswith("cu"), name
        return lambda *_: 0

    def cuStreamCreate(self, stream: Any, flags: int) -> int:  # noqa: N802
        stream._obj.value = STREAM
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, device: Any) -> int:  # noqa: N802
        context._obj.value = 1
        return 0

    def cuEventCreate(self, event: Any, flags: int) -> int:  # noqa: N802
        event._obj.value = 100 + len(self.events)
        self.events[event._obj.value] = 0.0
        return 0

    def cuEventRecord(self, event: Any, stream: Any) -> int:  # noqa: N802
        assert stream.value == STREAM
        self.now += 1.5
        self.events[event.value] = self.now
        return 0

    def cuEventElapsedTime(self, elapsed: Any, earlier: Any, later: Any) -> int:  # noqa: N802
        elapsed._obj.value = self.events[later.value] - self.events[earlier.value]
        return 0

    def cuEventDestroy_v2(self, event: Any) -> int:  # noqa: N802
        del self.events[event.value]
        return 0

    def cuGetErrorString(self, code: int, text: Any) -> int:  # noqa: N802
        text._obj.value = b"out of memory"
        return 0

    def _allocate(self, address: Any, size: Any) -> int:
        if size.value > 1 << 30:
            return 2
        memory = (ctypes.c_uint8 * size.value)()
        address._obj.value = ctypes.addressof(memory)
        self.held[address._obj.value] = memory
        return 0

    def _copy(self, to: Any, source: Any, size: Any, stream: Any) -> int:
        assert stream.value == STREAM
        ctypes.memmove(to.value, source.value, size.value)
        return 0


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver = Driver()
    monkeypatch.setattr(cuda_driver, "_load", lambda: driver)
    return driver


def test_copies_there_and_back(driver: Driver) -> None:
    device = Device()
    values = np.arange(6, dtype=np.float16).reshape(2, 3)
    sent, received = (PageLocked(device, (2, 3), np.float16) for _ in range(2))
    sent.array[...] = values
    address = device.allocate(values.nbytes)
    sent.copy_to(address)
    received.copy_from(address)
    np.testing.assert_array_equal(received.array, values)
    assert received.array.dtype == np.float16
    for memory in (sent, received):
        memory.close()
    device.close()
    assert not driver.held


def test_empty_and_scalar_arrays(driver: Driver) -> None:
    device = Device()
    for shape in ((0, 4), ()):
        memory = PageLocked(device, shape, np.int32)
        assert memory.array.shape == shape
        memory.copy_from(device.allocate(memory.array.nbytes))
        memory.close()
    device.close()
    assert not driver.held


def test_events_time_the_work_between_them(driver: Driver) -> None:
    device = Device()
    first, second, third = (Event(device) for _ in range(3))
    for event in (first, second, third):
        event.record()
    third.wait()
    assert second.ms_since(first) == 1.5 and third.ms_since(first) == 3.0
    for event in (first, second, third):
        event.close()
    device.close()
    assert not driver.events


def test_memory_that_nobody_owns_outlives_free(driver: Driver) -> None:
    device = Device()
    kept, given = device.allocate_unowned(10), device.allocate(20)
    device.free()
    assert kept in driver.held and given not in driver.held
    device.free_unowned(kept)
    device.close()
    assert not driver.held


def test_no_memory_is_an_error_with_the_drivers_words(driver: Driver) -> None:
    device = Device()
    with pytest.raises(UnavailableError, match="cuMemAllocHost_v2 failed: out of memory"):
        PageLocked(device, (1 << 31,), np.uint8)
    device.close()
