"""benchmark of real engines and plans: it measures TensorRT and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import gpu_models
import numpy as np
import pytest
from gpu_conversions import spec_of

from converters import ConversionSpec, benchmark, convert, extract_plans
from converters.measure.plan_requests import PlanCaller
from converters.plans.plan_runner import PlanRunner
from converters.util.errors import EngineError, PlanError

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

if os.environ.get("TF_NVCODEC_REQUIRE_GPU") != "1":
    pytest.importorskip("tensorrt")

SHAPE = (16, 16, 3)
QUICK = {"seconds": 1.0, "warm_up": 0.3, "progress": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a folder with a network in "cnn", its conversions "implicit" (batch 8) and "explicit"
    (batches 1 to 8), and their plans in "implicit_plans" and "explicit_plans"."""
    folder = tmp_path_factory.mktemp("benchmark")
    gpu_models.save_cnn(folder / "cnn")
    for mode in ("implicit", "explicit"):
        convert(folder / "cnn", folder / mode, spec_of("FP16", mode, {"image": (8, *SHAPE)}))
        extract_plans(folder / mode, folder / f"{mode}_plans", compare=False)
    return folder


def plan_of(folder: Path, mode: str) -> Path:
    (plan,) = (folder / f"{mode}_plans").glob("*.plan")
    return plan


def images(batch: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(batch, *SHAPE)).astype(np.float32)


def test_a_converted_model_against_the_native_one(folder: Path) -> None:
    report = benchmark(
        folder / "explicit",
        folder / "cnn",
        batch_sizes=[1, 8],
        concurrency=[1, 2],
        memory=True,
        max_latency_ms=1000.0,
        **QUICK,
    )
    print(report)
    assert report.device != "CPU" and report.best is not None
    for cell in report.cells:
        assert cell.speed_up is not None and cell.speed_up > 0.2
        for figures in (cell.model, cell.original):
            assert figures is not None and figures.memory is not None
            latency, use = figures.latency_ms, figures.memory
            assert 0 < latency.median <= latency.p95 <= latency.p99
            assert figures.gpu_ms is None
            assert use.source == "TensorFlow's allocator" and 0 < use.held <= use.peak


@pytest.mark.parametrize("mode", ["implicit", "explicit"])
def test_a_shape_that_no_engine_serves_is_an_error(folder: Path, mode: str) -> None:
    with pytest.raises(EngineError, match="TensorFlow ran in place of engines") as caught:
        benchmark(folder / mode, batch_sizes=[8, 9], **QUICK)
    said = str(caught.value)
    assert "image:9x16x16x3: TRTEngineOp" in said and "image:8x16x16x3" not in said


def test_the_child_that_measures_forbids_tensorflow_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from converters.measure import benchmark as module

    monkeypatch.setattr(module, "_engines_run", lambda *_: [])
    with pytest.raises(EngineError, match="no engine serves image:9x16x16x3"):
        benchmark(folder / "explicit", batch_sizes=[9], **QUICK)


@pytest.mark.parametrize("inputs", ["device", "host"])
@pytest.mark.parametrize("mode", ["implicit", "explicit"])
def test_a_plan(folder: Path, mode: str, inputs: str) -> None:
    report = benchmark(
        plan_of(folder, mode),
        batch_sizes=[8],
        concurrency=[1, 2],
        queued=2,
        memory=True,
        inputs=inputs,
        **QUICK,
    )
    print(report)
    assert report.kind == "plan" and report.library.startswith("TensorRT 8.")
    one, two = report.cells
    for cell in report.cells:
        assert cell.shapes == {"image": (8, *SHAPE)}  # the name comes from plans.json
        gpu, use = cell.model.gpu_ms, cell.model.memory
        assert gpu is not None and 0 < gpu.median < cell.model.latency_ms.median
        assert use is not None and 0 < use.loaded < use.held <= use.peak
    # Each caller has an engine of its own.
    assert two.model.memory.held == pytest.approx(2 * one.model.memory.held, rel=0.1)


def test_a_plan_against_the_model_that_it_is_from(folder: Path) -> None:
    report = benchmark(plan_of(folder, "explicit"), folder / "cnn", batch_sizes=[1, 8], **QUICK)
    print(report)
    for cell in report.cells:
        assert cell.original is not None and cell.original.gpu_ms is None
        assert cell.model.gpu_ms is not None


def test_a_plan_does_not_take_another_shape(folder: Path) -> None:
    with pytest.raises(PlanError, match="no profile of .* takes image 9x16x16x3"):
        benchmark(plan_of(folder, "explicit"), batch_sizes=[9], **QUICK)
    with pytest.raises(PlanError, match="takes one batch from 1 to 8"):
        benchmark(plan_of(folder, "implicit"), batch_sizes=[9], **QUICK)


@pytest.mark.parametrize("inputs", ["device", "host"])
@pytest.mark.parametrize("mode", ["implicit", "explicit"])
def test_what_is_measured_computes_the_plans_outputs(folder: Path, mode: str, inputs: str) -> None:
    path = plan_of(folder, mode)
    batches = [{"TensorRTInputPH_0": images(8) + shift} for shift in (0, 1, 2)]
    with PlanRunner(path) as runner:
        wanted = [runner.run(batch) for batch in batches]
    caller = PlanCaller(str(path), {}, count_memory=True)
    caller.prepare(batches, 2, inputs)
    for number in range(6):
        ticket = caller.send()
        assert 0 < caller.finish(ticket) < 1000
        for name, value in wanted[number % 3].items():
            np.testing.assert_array_equal(caller.results(ticket)[name], value)
    assert 0 < caller.weight_bytes < caller.allocator.current
    caller.close()
    assert caller.allocator.current == 0


def test_static_engines_of_a_frozen_graph(tmp_path: Path) -> None:
    source = gpu_models.write_frozen_graph(tmp_path / "frozen.pb")
    spec = ConversionSpec("FP32", max_batch_size=8, outputs=["scores", "half"])
    convert(source, tmp_path / "static", spec)
    report = benchmark(tmp_path / "static", source, batch_sizes=[8], outputs=["scores"], **QUICK)
    assert report.cells[0].speed_up is not None
