"""Extracts real plans and runs them with TensorRT's own runtime. The results must equal those of
their TRTEngineOps."""

from __future__ import annotations

import gc
import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gpu_conversions
import gpu_models
import numpy as np
import pytest
import tensorflow as tf

from converters import ConversionSpec, ShapeRange, convert, extract_plans, inspect_model
from converters.model.engine_file import plan_header
from converters.plans.plan_pool import PlanPool
from converters.plans.plan_runner import PlanRunner
from converters.util.errors import PlanError

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

if os.environ.get("TF_NVCODEC_REQUIRE_GPU") == "1":
    import tensorrt as trt
else:
    trt = pytest.importorskip("tensorrt")

RANDOM = np.random.default_rng(0)
SHAPE = (16, 16, 3)


def images(batch: int) -> np.ndarray:
    return RANDOM.normal(size=(batch, *SHAPE)).astype(np.float32)


def run(folder: Path, image: np.ndarray) -> np.ndarray:
    gc.collect()
    return gpu_conversions.run(folder, image=image)["scores"]


@pytest.fixture(scope="module")
def explicit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explicit")
    spec = ConversionSpec(
        "FP32", shape_ranges={"image": ShapeRange(min=(1, *SHAPE), max=(8, *SHAPE))}
    )
    convert(gpu_models.save_cnn(folder / "cnn"), folder / "out", spec)
    return folder / "out"


def test_a_whole_model_runs_without_tensorflow(explicit: Path, tmp_path: Path) -> None:
    made = extract_plans(explicit, tmp_path / "plans", compare=True)
    (plan,) = made.plans
    assert made.whole_model == {"serving_default": True}
    assert [out["equal"] for found in made.comparisons for out in found["outputs"]] == [True]
    assert plan.gpu is not None
    names = {b.name: b.signature_names[0] for b in plan.bindings}
    assert set(names.values()) == {"image", "scores"}
    with PlanRunner(tmp_path / "plans" / plan.file, names=names) as runner:
        assert not runner.implicit_batch
        assert runner.profiles()[0]["image"][0] == (1, *SHAPE)
        assert runner.profiles()[0]["image"][2] == (8, *SHAPE)
        for batch in (1, 5, 8):
            image = images(batch)
            np.testing.assert_array_equal(
                runner.run({"image": image})["scores"], run(explicit, image)
            )
        with pytest.raises(PlanError, match="no profile of .* takes image 9x16x16x3"):
            runner.run({"image": images(9)})
        with pytest.raises(PlanError, match="takes float32"):
            runner.run({"image": images(1).astype(np.float64)})


def test_tensors_stay_on_the_gpu_and_graphs_repeat_the_work(explicit: Path, tmp_path: Path) -> None:
    (plan,) = extract_plans(explicit, tmp_path / "plans", compare=False).plans
    path = tmp_path / "plans" / plan.file
    with PlanRunner(path) as plain, PlanRunner(path, cuda_graphs=True) as graphs:
        (x,), (y,) = plain.inputs, plain.outputs
        for batch, shift in ((8, 0), (8, 1), (8, 2), (3, 0), (3, 1), (8, 3)):
            image = images(batch) + np.float32(shift)
            wanted = plain.run({x: image})[y]
            np.testing.assert_array_equal(graphs.run({x: image})[y], wanted)
            with tf.device("GPU:0"):
                tensor = tf.constant(image) * 1.0
            capsule = tf.experimental.dlpack.to_dlpack(tensor)
            found = graphs.run({x: capsule}, on_gpu=True)[y]
            np.testing.assert_array_equal(found.numpy(), wanted)
            shared = tf.experimental.dlpack.from_dlpack(found.__dlpack__())
            assert "GPU" in shared.device
            np.testing.assert_array_equal(shared.numpy(), wanted)
        assert graphs.graph_error == "" and graphs._prepared.graph is not None
    del found
    np.testing.assert_array_equal(shared.numpy(), wanted)  # the runner is closed


def test_a_graph_is_not_slower_and_contexts_run_side_by_side(
    explicit: Path, tmp_path: Path
) -> None:
    (plan,) = extract_plans(explicit, tmp_path / "plans", compare=False).plans
    path = tmp_path / "plans" / plan.file
    image = images(8)
    with PlanRunner(path) as plain, PlanRunner(path, cuda_graphs=True) as graphs:
        (x,), (y,) = plain.inputs, plain.outputs
        seconds: dict[str, list[float]] = {"plain": [], "graphs": []}
        for number in range(2000):
            for name, runner in (("plain", plain), ("graphs", graphs)):
                began = time.perf_counter()
                runner.run({x: image})
                if number >= 100:
                    seconds[name].append(time.perf_counter() - began)
    medians = {name: 1e6 * statistics.median(found) for name, found in seconds.items()}
    print(f"median microseconds of a request: {medians}")
    assert medians["graphs"] < 1.1 * medians["plain"]
    with PlanPool(path, contexts=4) as pool, ThreadPoolExecutor(8) as threads:
        wanted = pool.run({x: image})[y]
        found = list(threads.map(lambda _: pool.run({x: image})[y], range(400)))
    assert all(np.array_equal(value, wanted) for value in found)


def test_the_header_of_a_real_plan_tells_its_version(explicit: Path, tmp_path: Path) -> None:
    (plan,) = extract_plans(explicit, tmp_path / "plans", compare=False).plans
    assert plan.tensorrt_version is not None
    assert plan.tensorrt_version.split(".")[:3] == trt.__version__.split(".")[:3]


def test_implicit_batch_and_several_shapes(tmp_path: Path) -> None:
    spec = ConversionSpec("FP16", input_shapes=[{"image": (n, *SHAPE)} for n in (2, 8)])
    convert(gpu_models.save_cnn(tmp_path / "cnn"), tmp_path / "out", spec)
    made = extract_plans(tmp_path / "out", tmp_path / "plans", compare=True)
    assert {plan.batch for plan in made.plans} == {"implicit"}
    assert all(out["equal"] for found in made.comparisons for out in found["outputs"])
    image = images(8)
    largest = made.plans[0]
    assert largest.max_batch_size == 8
    with PlanRunner(tmp_path / "plans" / largest.file) as runner:
        (result,) = runner.run({"TensorRTInputPH_0": image}).values()
    np.testing.assert_array_equal(result, run(tmp_path / "out", image))


def test_static_engines_and_parts(tmp_path: Path) -> None:
    source = gpu_models.write_frozen_graph(tmp_path / "frozen.pb")
    spec = ConversionSpec("FP32", max_batch_size=8, outputs=["scores", "half"])
    convert(source, tmp_path / "static", spec)
    made = extract_plans(tmp_path / "static", tmp_path / "plans1", partial=True, compare=True)
    assert made.comparisons and all(found["passed"] for found in made.comparisons)
    gap = gpu_models.save_with_gap(tmp_path / "gap")
    spec = ConversionSpec(
        "FP32", shape_ranges={"image": ShapeRange(min=(1, *SHAPE), max=(8, *SHAPE))}
    )
    convert(gap, tmp_path / "gap_out", spec)
    with pytest.raises(PlanError, match="it has 2 engines"):
        extract_plans(tmp_path / "gap_out", tmp_path / "plans2")
    made = extract_plans(tmp_path / "gap_out", tmp_path / "plans2", partial=True, compare=True)
    assert len(made.comparisons) == len(made.plans) == 2
    assert all(found["passed"] for found in made.comparisons)
    assert "Cumsum" in {node.op for node in made.excluded}
    values = json.loads((tmp_path / "plans2" / "plans.json").read_text())
    assert values["comparisons"][0]["outputs"][0]["equal"]


def test_a_damaged_or_foreign_plan_is_refused_in_tensorrts_words(
    explicit: Path, tmp_path: Path
) -> None:
    (plan,) = extract_plans(explicit, tmp_path / "plans", compare=False).plans
    data = (tmp_path / "plans" / plan.file).read_bytes()
    with pytest.raises(PlanError, match="(?s)cannot load the plan.*convert the model again"):
        PlanRunner(data[: len(data) // 2])
    other = bytearray(data)
    other[24:28] = bytes((8, 5, 3, 1))
    assert plan_header(bytes(other)).tensorrt_version == "8.5.3.1"
    with pytest.raises(PlanError, match="built by TensorRT 8.5.3.1"):
        PlanRunner(bytes(other))


def test_inspection_of_a_conversion_has_tftrts_own_reasons(tmp_path: Path) -> None:
    gap = gpu_models.save_with_gap(tmp_path / "gap")
    convert(gap, tmp_path / "out", ConversionSpec("FP16", input_shapes={"image": (4, *SHAPE)}))
    report = inspect_model(tmp_path / "out", gap, ask=False)
    assert report.reasons_from == "recorded"
    assert {out.source for out in report.left_out} == {"recorded"}
    assert len(report.engines) == 2
    assert all(engine.plan_bytes > 0 and not engine.problems for engine in report.engines)
    assert "Cumsum" in {out.op for out in report.left_out}
