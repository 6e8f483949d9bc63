"""Stands in for libcuda.so.1. Device memory is host memory; work in a stream is done at once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from converters.plans import cuda_driver

STREAM = 7


class Driver:
    """The functions that cuda_driver.py and cuda_stream.py call. `held`, `events`, `graphs` and
    `contexts` are what nobody has given back; `copied` counts bytes by function; `recorded` is what
    a tool for profiling would see."""

    # The one that made_up_runtime.py puts its work into.
    current: Driver

    def __init__(self) -> None:
        self.held: dict[int, Any] = {}
        self.events: dict[int, float] = {}
        self.graphs: dict[int, list[Callable[[], None]]] = {}
        self.captured: list[Callable[[], None]] | None = None
        self.refuses_graphs = False
        self.contexts = 0
        self.copied: dict[str, int] = {}
        self.recorded: list[str] = []
        self.now = 0.0

    @classmethod
    def installed(cls, monkeypatch: pytest.MonkeyPatch) -> Driver:
        """Puts a new driver in the place of the real one."""
        Driver.current = cls()
        monkeypatch.setattr(cuda_driver, "_load", lambda: Driver.current)
        return Driver.current

    def is_empty(self) -> bool:
        return not (self.held or self.events or self.graphs or self.contexts)

    def enqueue(self, work: Callable[[], None]) -> None:
        """Does the work, or keeps it for a graph."""
        if self.captured is None:
            work()
        else:
            self.captured.append(work)

    def __getattr__(self, name: str) -> Any:
        if name in ("cuMemAlloc_v2", "cuMemAllocHost_v2"):
            return self._allocate
        if name in ("cuMemFree_v2", "cuMemFreeHost"):
            return self._free
        if name.startswith("cuMemcpy"):
            return lambda *arguments: self._copy(name, *arguments)
        assert name.startswith("cu"), name
        return lambda *_: 0

    def cuDeviceGetName(self, text: Any, size: int, device: Any) -> int:  # noqa: N802
        text.value = b"a GPU of paper"
        return 0

    def cuStreamCreate(self, stream: Any, flags: int) -> int:  # noqa: N802
        stream._obj.value = STREAM
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, device: Any) -> int:  # noqa: N802
        context._obj.value = 1
        self.contexts += 1
        return 0

    def cuDevicePrimaryCtxRelease_v2(self, device: Any) -> int:  # noqa: N802
        self.contexts -= 1
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

    def cuStreamBeginCapture_v2(self, stream: Any, mode: int) -> int:  # noqa: N802
        assert (stream.value, mode, self.captured) == (STREAM, 1, None)
        self.captured = []
        return 0

    def cuStreamEndCapture(self, stream: Any, graph: Any) -> int:  # noqa: N802
        assert self.captured is not None
        graph._obj.value = 1000 + len(self.graphs)
        self.graphs[graph._obj.value] = self.captured
        self.captured = None
        return 0

    def cuGraphInstantiateWithFlags(self, made: Any, graph: Any, flags: Any) -> int:  # noqa: N802
        if self.refuses_graphs:
            return 2
        made._obj.value = 2000 + len(self.graphs)
        self.graphs[made._obj.value] = self.graphs[graph.value]
        return 0

    def cuGraphDestroy(self, graph: Any) -> int:  # noqa: N802
        del self.graphs[graph.value]
        return 0

    cuGraphExecDestroy = cuGraphDestroy  # noqa: N815

    def cuGraphLaunch(self, graph: Any, stream: Any) -> int:  # noqa: N802
        assert stream.value == STREAM
        for work in self.graphs[graph.value]:
            work()
        return 0

    def cuProfilerStart(self) -> int:  # noqa: N802
        self.recorded.append("start")
        return 0

    def cuProfilerStop(self) -> int:  # noqa: N802
        self.recorded.append("stop")
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

    def _free(self, address: Any) -> int:
        del self.held[address.value]
        return 0

    def _copy(self, name: str, to: Any, source: Any, size: Any, stream: Any = None) -> int:
        assert (stream is not None) == ("Async" in name)
        assert stream is None or stream.value == STREAM
        self.copied[name] = self.copied.get(name, 0) + size.value
        to_address, from_address = to.value, source.value
        self.enqueue(lambda: ctypes.memmove(to_address, from_address, size.value) and None)
        return 0
