"""A GPU allocator for TensorRT that counts what is allocated."""

from __future__ import annotations

import threading
from typing import Any

from converters.plans.cuda_driver import Device
from converters.util.errors import UnavailableError


def counting_allocator(trt: Any, device: Device) -> Any:
    """An IGpuAllocator with `current` and `peak` in bytes. It must live as long as what uses it.

    It gives memory of the CUDA driver, whose addresses are aligned to at least 256 bytes, as
    TensorRT wants. What CUDA itself takes (its context, kernels) is not counted.
    """

    class Counting(trt.IGpuAllocator):
        def __init__(self) -> None:
            trt.IGpuAllocator.__init__(self)
            self.current = self.peak = 0
            self._sizes: dict[int, int] = {}
            self._lock = threading.Lock()

        def allocate(self, size: int, alignment: int, flags: int) -> int:
            """0 means that there is no memory; TensorRT turns an exception into the same."""
            try:
                address = device.allocate_unowned(size)
            except UnavailableError:
                return 0
            with self._lock:
                self._sizes[address] = size
                self.current += size
                self.peak = max(self.peak, self.current)
            return address

        def reallocate(self, address: int, alignment: int, new_size: int) -> int:
            """0: TensorRT then allocates anew and copies."""
            return 0

        def deallocate(self, memory: int) -> bool:
            with self._lock:
                size = self._sizes.pop(memory, None)
            if size is None:
                return False
            device.free_unowned(memory)
            with self._lock:
                self.current -= size
            return True

    return Counting()
