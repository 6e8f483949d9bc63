"""Requests to a plan: buffers, queued requests and counted memory. made_up_runtime.py stands in for
TensorRT and the GPU; test_benchmark_gpu.py has real ones."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import made_up_runtime
import numpy as np
import pytest
from made_up_runtime import SCRATCH, WEIGHTS, made_up_plan

from converters import MeasureError, PlanError, benchmark
from converters.measure.callers import run_turn
from converters.measure.plan_requests import PlanRequests
from converters.plans.cuda_driver import Device
from converters.plans.extract_plan import PLANS_FILE

X, Y = "TensorRTInputPH_0", "TensorRTOutputPH_0"
RANGE = [[1, 4], [8, 4], [8, 4]]
pytestmark = pytest.mark.usefixtures("runtime")

QUICK: dict[str, Any] = {"seconds": 0.05, "warm_up": 0.0, "progress": False}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "engine.plan"
    path.write_bytes(made_up_plan(profiles=[RANGE]))
    return path


def batch(start: int, rows: int = 2) -> dict[str, np.ndarray]:
    return {X: np.arange(start, start + 4 * rows, dtype=np.float32).reshape(rows, 4)}


@pytest.mark.parametrize("inputs", ["device", "host"])
@pytest.mark.parametrize("implicit", [False, True])
def test_requests_take_the_batches_in_turn(tmp_path: Path, inputs: str, implicit: bool) -> None:
    path = tmp_path / "engine.plan"
    values = {"implicit": [4], "max_batch": 8} if implicit else {"profiles": [RANGE]}
    path.write_bytes(made_up_plan(**values))
    requests = PlanRequests(str(path), {}, count_memory=False)
    batches = [batch(0), batch(100), batch(200)]
    requests.prepare(batches, 2, 2, inputs)
    caller = requests._callers[1]
    requests.begin(1)
    flying = deque([requests.send(1)])
    for number in range(7):
        flying.append(requests.send(1))
        ticket = flying.popleft()
        assert requests.finish(1, ticket) == 1.5
        np.testing.assert_array_equal(caller.results(ticket)[Y], 2 * batches[number % 3][X])
    requests.close()


def test_inputs_on_the_host_are_copied_by_each_request(plan: Path) -> None:
    for inputs, copies in (("host", True), ("device", False)):
        requests = PlanRequests(str(plan), {}, count_memory=False)
        requests.prepare([batch(0)], 1, 1, inputs)
        caller = requests._callers[0]
        for memory, _ in caller._slots[0].inputs:
            memory.array[...] = 7.0
        ticket = requests.send(0)
        wanted = np.full((2, 4), 14.0) if copies else 2 * batch(0)[X]
        np.testing.assert_array_equal(caller.results(ticket)[Y], wanted)
        requests.close()


def test_more_requests_in_flight_than_batches(plan: Path) -> None:
    requests = PlanRequests(str(plan), {}, count_memory=False)
    requests.prepare([batch(0)], 1, 4, "device")
    tickets = [requests.send(0) for _ in range(4)]
    assert len({id(ticket.outputs[0][0].array) for ticket in tickets}) == 4
    turn = run_turn(requests, 1, 4, 0.0, 12)
    assert len(turn.gpu_ms) == len(turn.latencies_ms) == 12
    requests.close()


def test_memory_is_weights_contexts_and_buffers(plan: Path) -> None:
    requests = PlanRequests(str(plan), {}, count_memory=True)
    assert requests.loaded_bytes == WEIGHTS
    for callers, queued in ((1, 1), (2, 3), (1, 1)):
        requests.prepare([batch(0)], callers, queued, "device")
        buffers = queued * 2 * 8 * 4
        held = callers * (WEIGHTS + SCRATCH + buffers)
        assert requests.held_bytes() == held
        requests.reset_peak()
        assert requests.peak_bytes() == held
    allocator = requests._callers[0].allocator
    allocator.deallocate(allocator.allocate(5000, 256, 0))
    assert requests.peak_bytes() == held + 5000 and requests.held_bytes() == held
    requests.close()
    assert not allocator.deallocate(12345)  # it never gave this address


def test_a_gpu_without_memory(plan: Path) -> None:
    from converters.measure.counting_allocator import counting_allocator
    from converters.util.errors import UnavailableError

    class Full(Device):
        def allocate_unowned(self, size: int) -> int:
            raise UnavailableError("out of memory")

    device = Full()
    allocator = counting_allocator(made_up_runtime, device)
    assert allocator.allocate(10, 256, 0) == 0
    assert allocator.current == allocator.peak == 0
    device.close()


def test_benchmark_of_a_plan(plan: Path, here: None) -> None:
    report = benchmark(plan, batch_sizes=[1, 8], concurrency=[1, 2], memory=True, **QUICK)
    assert (report.kind, report.device) == ("plan", "a GPU of paper")
    assert report.library == "TensorRT 8.6.0"
    assert [(dict(cell.shapes), cell.callers) for cell in report.cells] == [
        ({X: (rows, 4)}, callers) for rows in (1, 8) for callers in (1, 2)
    ]
    for cell in report.cells:
        assert cell.model.gpu_ms is not None and cell.model.gpu_ms.median > 0
        use = cell.model.memory
        assert use is not None and use.loaded == WEIGHTS
        assert use.held == cell.callers * (WEIGHTS + SCRATCH + 32 * cell.batch)
    assert "GPU median ms" in str(report)


def test_a_shape_outside_of_the_profile(plan: Path, here: None) -> None:
    with pytest.raises(PlanError, match=r"no profile of .* takes TensorRTInputPH_0 9x4; it takes"):
        benchmark(plan, batch_sizes=[9], **QUICK)
    with pytest.raises(MeasureError, match="the shape 8x5 does not fit the model's \\?x4"):
        benchmark(plan, shapes={X: (8, 5)}, progress=False)


def test_the_signatures_names_come_from_the_record(plan: Path, here: None) -> None:
    bindings = [
        {"name": X, "signature_names": ["image"]},
        {"name": Y, "signature_names": ["scores", "again"]},
    ]
    record = {"plans": [{"file": plan.name, "signatures": ["serve"], "bindings": bindings}]}
    (plan.parent / PLANS_FILE).write_text(json.dumps(record))
    report = benchmark(plan, shapes={"image": (4, 4)}, **QUICK)
    assert report.cells[0].shapes == {"image": (4, 4)} and report.signature == "serve"
    with pytest.raises(MeasureError, match="'nope' was asked for, and plans.json .* names serve"):
        benchmark(plan, signature="nope", progress=False)
