"""profile of real engines and plans, and layers.json of real conversions."""

from __future__ import annotations

import collections
import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import gpu_models
import numpy as np
import pytest
from gpu_conversions import spec_of

from converters import (
    ConversionSpec,
    EngineError,
    ShapeRange,
    convert,
    extract_plans,
    inspect_model,
    profile,
)
from converters.measure.profile import ProfileReport
from converters.measure.profile_data import EngineProfile, LayerProfile
from converters.model.engine_file import plan_hash
from converters.model.trt_graph import engine_nodes, load_graph
from converters.plans.plan_runner import PlanRunner
from converters.report.engine_reports import stored_plans
from converters.report.layers_record import read_layers

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

if os.environ.get("TF_NVCODEC_REQUIRE_GPU") != "1":
    pytest.importorskip("tensorrt")

SHAPE = (16, 32, 32, 128)
SMALL = (8, 16, 16, 3)
TYPES = {"FP32": "Float", "FP16": "Half", "INT8": "Int8"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a folder with conversions of three convolutions that are so wide that the lower
    precision is faster: "FP32", "FP16" and "INT8"."""
    folder = tmp_path_factory.mktemp("profile")
    plain = ("image", "one", "two", "three")
    source = gpu_models.save_quantized(folder / "native", without=plain)
    images = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    for precision in TYPES:
        data = [images] * 2 if precision == "INT8" else None
        spec = spec_of(precision, "explicit", {"image": SHAPE})
        convert(source, folder / precision, spec, calibration_data=data, verify=False)
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> ProfileReport:
    """Profiles the FP16 conversion beside the FP32 one."""
    report = profile(folder / "FP16", folder / "FP32", shapes={"image": SHAPE}, progress=False)
    print(report)
    return report


def of_op(engine: EngineProfile, op: str) -> list[LayerProfile]:
    return [layer for layer in engine.layers if op in layer.ops and not layer.changes_format]


@pytest.mark.serial
def test_layers_add_up_to_the_request(report: ProfileReport) -> None:
    """The profiler makes TensorRT wait behind each layer, which costs some microseconds a layer;
    these layers take far longer."""
    for engine in (*report.engines, *report.original_engines):
        assert 0.5 <= engine.layers_ms / engine.request_ms <= 2.0
        assert all(layer.ms >= 0 for layer in engine.layers)
    assert sum(layer.share for layer in report.engines[0].layers) == pytest.approx(1.0)
    assert report.notes == () and report.library.startswith("TensorRT 8.")


def test_names_tell_the_graphs_nodes(folder: Path, report: ProfileReport) -> None:
    (node,) = engine_nodes(load_graph(folder / "FP16").graph_def)
    (engine,) = report.engines
    for layer in engine.layers:
        assert layer.nodes or "TRTEngineOp" not in layer.name, layer.name
        assert layer.ops == tuple(node.node_ops[name] for name in layer.nodes)
    told = {name for layer in engine.layers for name in layer.nodes}
    assert {name for name, op in node.node_ops.items() if op == "Conv2D"} <= told
    # The convolutions are the most of the work.
    assert sum(layer.share for layer in of_op(engine, "Conv2D")) > 0.5


def test_precisions_side_by_side(report: ProfileReport) -> None:
    types = [
        [layer.precision for layer in of_op(engines[0], "Conv2D")]
        for engines in (report.engines, report.original_engines)
    ]
    assert any(precision.startswith("Half") for precision in types[0])
    assert types[1] and set(types[1]) == {"Float"}
    rows = [row for row in report.comparison if "Conv2D" in row.ops]
    assert rows and all(row.speed_up is not None for row in rows)
    assert max(row.speed_up or 0.0 for row in rows) > 1.0


@pytest.mark.parametrize("precision", TYPES)
def test_layers_json_agrees_with_the_plan(folder: Path, precision: str) -> None:
    """TensorRT's inspector reads the names of layers from the plan itself."""
    import tensorrt

    loaded = load_graph(folder / precision)
    (node,) = engine_nodes(loaded.graph_def)
    (stored,) = stored_plans(loaded, node)
    (kept,) = read_layers(folder / precision)
    assert (kept.engine, kept.input_shapes) == (node.canonical_name, stored.input_shapes)
    assert (kept.sha256, kept.precision) == (plan_hash(stored.plan), precision)
    with PlanRunner(stored.plan) as runner:
        inspector = runner._engine.create_engine_inspector()
        form = tensorrt.LayerInformationFormat.JSON
        found = json.loads(inspector.get_engine_information(form))["Layers"]
        del inspector
    names = [one if isinstance(one, str) else one["Name"] for one in found]
    print(json.dumps(found, indent=1))
    recorded = {layer.name: layer.kind for layer in kept.layers}
    assert names and set(names) <= set(recorded)
    # Layers that hold or pass on values may not run.
    rest = {kind for name, kind in recorded.items() if name not in names}
    assert rest <= {"Constant", "NoOp"}
    reads = {
        tensor.dtype
        for layer in kept.layers
        if "Conv2D" in layer.ops and not layer.changes_format
        for tensor in layer.inputs[:1]
    }
    assert TYPES[precision] in reads
    report = inspect_model(folder / precision, ask=False, layers=True)
    assert report.layers == (kept,) and TYPES[precision] in str(report)


def test_a_plan_has_the_layers_of_its_model(
    folder: Path, report: ProfileReport, tmp_path: Path
) -> None:
    extract_plans(folder / "FP16", tmp_path / "plans", compare=False)
    (plan,) = (tmp_path / "plans").glob("*.plan")
    found = profile(plan, shapes={"image": SHAPE}, runs=5, progress=False)

    def known(engine: EngineProfile) -> list[Any]:
        return [(layer.name, layer.precision, layer.ops) for layer in engine.layers]

    assert known(found.engines[0]) == known(report.engines[0])
    assert found.engines[0].sha256 == report.engines[0].sha256
    assert found.notes == () and found.kind == "plan"


def test_a_trace_that_tensorboard_reads(folder: Path, tmp_path: Path) -> None:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    report = profile(
        folder / "FP16", shapes={"image": SHAPE}, runs=4, trace=tmp_path / "trace", progress=False
    )
    (file,) = report.trace
    space = xplane_pb2.XSpace.FromString(Path(file).read_bytes())
    print({plane.name: sum(len(line.events) for line in plane.lines) for plane in space.planes})
    (host,) = (plane for plane in space.planes if plane.name == "/host:CPU")
    names = {number: event.name for number, event in host.event_metadata.items()}
    events = [names[event.metadata_id] for line in host.lines for event in line.events]
    assert events.count("request") == 4
    assert events.count("TRTEngineOp::ExecuteTrtEngine") == 4


def test_nsight_systems_records_the_requests(folder: Path, tmp_path: Path) -> None:
    """The reported command records as many runs of each layer as it has requests, so nothing of the
    warm-up."""
    if shutil.which("nsys") is None:
        pytest.skip("Nsight Systems is not installed")
    single = profile(folder / "FP16", shapes={"image": SHAPE}, runs=7, progress=False)
    command = shlex.split(single.nsys)
    command[2:2] = ["--output", str(tmp_path / "recorded")]
    at = command.index("trt-convert")
    command[at : at + 1] = [sys.executable, "-m", "converters"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    database = tmp_path / "recorded.sqlite"
    export = ["nsys", "export", "--type", "sqlite", "--output", str(database)]
    subprocess.run([*export, str(tmp_path / "recorded.nsys-rep")], check=True, capture_output=True)
    with sqlite3.connect(database) as rows:
        kernels = rows.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0]
        ranges = rows.execute(
            "SELECT coalesce(e.text, s.value) FROM NVTX_EVENTS e "
            "LEFT JOIN StringIds s ON s.id = e.textId WHERE e.end IS NOT NULL"
        )
        counts = collections.Counter(text for (text,) in ranges)
    print(kernels, counts)
    assert kernels >= 7
    for layer in single.engines[0].layers:
        assert counts[layer.name] == 7, layer.name


def test_each_engine_gets_what_is_before_it(tmp_path: Path) -> None:
    """The second engine gets what the first and an op between them make of the request."""
    source = gpu_models.save_with_gap(tmp_path / "gap")
    convert(source, tmp_path / "out", spec_of("FP16", "explicit", {"image": SMALL}), verify=False)
    batches = set()
    for batch in (2, 8):
        report = profile(
            tmp_path / "out", shapes={"image": (batch, 16, 16, 3)}, runs=2, progress=False
        )
        assert len(report.engines) == 2
        first, second = report.engines
        assert first.shapes == {"TensorRTInputPH_0": (batch, 16, 16, 3)}
        assert second.shapes != first.shapes
        batches.add(next(iter(second.shapes.values())))
        names = [{layer.name for layer in engine.layers} for engine in report.engines]
        assert names[0].isdisjoint(names[1])
    assert len(batches) == 2
    with pytest.raises(EngineError, match="image:9x16x16x3"):
        profile(tmp_path / "out", shapes={"image": (9, 16, 16, 3)}, progress=False)


def test_a_plan_with_several_profiles(tmp_path: Path) -> None:
    """A plan has layers for each of its profiles. Those that run are in layers.json."""
    source = gpu_models.save_cnn(tmp_path / "cnn")
    ranges = {"image": ShapeRange(*((batch, *SMALL[1:]) for batch in (1, 8, 4)))}
    spec = ConversionSpec(
        "FP16", explicit_batch=True, profile_strategy="Range+Optimal", shape_ranges=ranges
    )
    convert(source, tmp_path / "out", spec, verify=False)
    for batch in (1, 4, 8):
        shapes = {"image": (batch, *SMALL[1:])}
        report = profile(tmp_path / "out", shapes=shapes, runs=2, progress=False)
        print(report)
        (engine,) = report.engines
        assert of_op(engine, "Conv2D") and all(layer.precision for layer in engine.layers)


@pytest.mark.parametrize("mode", ["static", "implicit"])
def test_plans_with_an_implicit_batch(tmp_path: Path, mode: str) -> None:
    if mode == "static":
        source, name = gpu_models.write_frozen_graph(tmp_path / "frozen.pb"), "x"
        spec = ConversionSpec("FP32", max_batch_size=8, outputs=["scores", "half"])
    else:
        source, name = gpu_models.save_cnn(tmp_path / "cnn"), "image"
        spec = spec_of("FP16", mode, {"image": SMALL}, {"image": (2, *SMALL[1:])})
    convert(source, tmp_path / "out", spec, verify=False)
    report = profile(tmp_path / "out", shapes={name: (2, *SMALL[1:])}, runs=2, progress=False)
    (engine,) = report.engines
    print(report)
    assert engine.shapes == {"TensorRTInputPH_0": (2, *SMALL[1:])}
    assert of_op(engine, "Conv2D") and report.notes == ()
    assert all(layer.precision for layer in engine.layers)
    with pytest.raises(EngineError, match="does not serve what it gets"):
        profile(tmp_path / "out", shapes={name: (9, *SMALL[1:])}, progress=False)
