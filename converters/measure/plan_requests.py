"""Requests to a TensorRT plan, in this process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from converters.inputs.calibration_data import Batch
from converters.measure.counting_allocator import counting_allocator
from converters.plans.cuda_stream import Event, PageLocked
from converters.plans.plan_runner import Placed, PlanRunner, import_tensorrt
from converters.util.errors import PlanError


@dataclass
class _Slot:
    """The memory of one request. `outputs`, and the `inputs` that each request copies, are in
    page-locked memory, each with the address of its copy on the GPU. TensorRT reads shape tensors
    from `arrays`."""

    placed: Placed
    arrays: Mapping[str, NDArray[Any]]
    inputs: list[tuple[PageLocked, int]]
    outputs: list[tuple[PageLocked, int]]
    begun: Event
    done: Event
    on_host: Event

    def close(self) -> None:
        for event in (self.begun, self.done, self.on_host):
            event.close()
        for memory, _ in (*self.inputs, *self.outputs):
            memory.close()


class PlanCaller(PlanRunner):
    """A plan that one caller runs again and again: it has an engine, an execution context and a
    stream of its own, and memory that all requests use."""

    def __init__(self, path: str, names: Mapping[str, str], count_memory: bool) -> None:
        self._counts = count_memory
        self.allocator: Any = None
        self.weight_bytes = 0
        self.buffer_bytes = 0
        self._slots: list[_Slot] = []
        self._next = 0
        super().__init__(path, names=names)

    @property
    def device_name(self) -> str:
        return self._device.name

    @property
    def version(self) -> str:
        return str(self._trt.__version__)

    def begin(self) -> None:
        """Makes the GPU current for this thread."""
        self._device.use()

    def prepare(self, batches: Sequence[Batch], queued: int, inputs: str) -> None:
        """Places the batches. A request takes the next of them."""
        self._device.use()
        self.forget()
        for number in range(max(queued, len(batches))):
            arrays = self._checked(batches[number % len(batches)])
            place = self._place_implicit if self.implicit_batch else self._place_explicit
            placed = place(arrays)
            on_gpu = {b: a for b, a in arrays.items() if placed.addresses[b] != a.ctypes.data}
            for binding, array in on_gpu.items():
                self._device.write(placed.addresses[binding], array)
            outputs = [
                (PageLocked(self._device, shape, dtype), address)
                for address, shape, dtype in filter(_on_gpu, placed.results.values())
            ]
            copied = []
            for binding, array in on_gpu.items() if inputs == "host" else ():
                memory = PageLocked(self._device, array.shape, array.dtype)
                memory.array[...] = array
                copied.append((memory, placed.addresses[binding]))
            self.buffer_bytes += sum(array.nbytes for array in on_gpu.values())
            self.buffer_bytes += sum(memory.array.nbytes for memory, _ in outputs)
            events = [Event(self._device) for _ in range(3)]
            self._slots.append(_Slot(placed, arrays, copied, outputs, *events))
        self._next = 0

    def send(self) -> _Slot:
        """Puts one request into the stream."""
        slot = self._slots[self._next % len(self._slots)]
        self._next += 1
        for memory, address in slot.inputs:
            memory.copy_to(address)
        slot.begun.record()
        if not self._start(slot.placed):
            raise PlanError(f"{self._what} failed to run: {self._said()}")
        slot.done.record()
        for memory, address in slot.outputs:
            memory.copy_from(address)
        slot.on_host.record()
        return slot

    def finish(self, slot: _Slot) -> float:
        """Waits for the outputs; returns the GPU's milliseconds for the plan without copies."""
        slot.on_host.wait()
        return slot.done.ms_since(slot.begun)

    def results(self, slot: _Slot) -> dict[str, NDArray[Any]]:
        """The outputs of a finished request, until its memory is used again."""
        arrays = iter(memory.array for memory, _ in slot.outputs)
        return {
            self._name(binding): next(arrays) if _on_gpu(found) else found
            for binding, found in slot.placed.results.items()
        }

    def forget(self) -> None:
        """Gives back the memory of `prepare`."""
        self._device.wait()
        for slot in self._slots:
            slot.close()
        self._slots = []
        self.buffer_bytes = 0
        self._device.free()

    def close(self) -> None:
        if self._slots:
            self._device.use()
            self.forget()
        super().close()

    def _made_runtime(self) -> Any:
        runtime = super()._made_runtime()
        if self._counts:
            self.allocator = counting_allocator(self._trt, self._device)
            runtime.gpu_allocator = self.allocator
        return runtime

    def _load(self, data: bytes) -> Any:
        engine = super()._load(data)
        self.weight_bytes = self.allocator.current if self._counts else 0
        return engine

    def _start(self, placed: Placed) -> bool:
        if len(self._slots) > 1 and not self.implicit_batch:
            for binding, address in placed.addresses.items():
                self._context.set_tensor_address(binding, address)
        return super()._start(placed)


class PlanRequests:
    """A plan with one PlanCaller for each caller: a profile of a plan serves one context.

    `import_s` and `load_s` are the seconds of importing TensorRT and loading the plan.
    """

    memory_source = "TensorRT's allocations and buffers"

    def __init__(self, path: str, names: Mapping[str, str], count_memory: bool) -> None:
        self._make = lambda: PlanCaller(path, names, count_memory)
        began = time.perf_counter()
        import_tensorrt()
        imported = time.perf_counter()
        self._callers = [self._make()]
        self.import_s, self.load_s = imported - began, time.perf_counter() - imported
        self.device = self._callers[0].device_name
        self.library = f"TensorRT {self._callers[0].version}"
        self.loaded_bytes = self._callers[0].weight_bytes

    def prepare(self, batches: Sequence[Batch], callers: int, queued: int, inputs: str) -> None:
        """As ModelRequests.prepare."""
        while len(self._callers) < callers:
            self._callers.append(self._make())
        while len(self._callers) > callers:
            self._callers.pop().close()
        for caller in self._callers:
            caller.prepare(batches, queued, inputs)

    def begin(self, caller: int) -> None:
        self._callers[caller].begin()

    def send(self, caller: int) -> _Slot:
        return self._callers[caller].send()

    def finish(self, caller: int, ticket: _Slot) -> float:
        return self._callers[caller].finish(ticket)

    def reset_peak(self) -> None:
        for caller in self._callers:
            caller.allocator.peak = caller.allocator.current

    def held_bytes(self) -> int:
        return sum(c.allocator.current + c.buffer_bytes for c in self._callers)

    def peak_bytes(self) -> int:
        return sum(c.allocator.peak + c.buffer_bytes for c in self._callers)

    def close(self) -> None:
        for caller in self._callers:
            caller.close()


def _on_gpu(result: Any) -> bool:
    return isinstance(result, tuple)
