"""profile: which plans it runs, what it knows of their layers, and how it reports them.

made_up_runtime.py stands in for TensorRT and the GPU, and reports layers to a profiler as TensorRT
does. test_profile_gpu.py has real ones.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copied_models import save
from made_up_driver import Driver
from made_up_runtime import made_up_plan
from recorded_layers import CONVERTED, build_log, layer_names, plan_of
from recorded_profile import engine, recorded_profile
from trt_graphs import SEGMENTED

from converters import EngineError, MeasureError, OutputError, PlanError, profile
from converters.cli.app import build_parser
from converters.inputs.batch_files import read_batch, write_batch
from converters.measure import engine_inputs
from converters.measure import profile as module
from converters.measure.engine_inputs import write_engine_inputs
from converters.measure.plan_profile import profile_plans
from converters.measure.profile import _nsys
from converters.measure.profile_data import LayerProfile, compared
from converters.measure.subject import Subject
from converters.model.engine_file import plan_hash
from converters.model.flat_graph import flatten
from converters.model.trt_graph import engine_nodes, load_graph
from converters.report.layers_record import layers_of_log, write_layers
from converters.report.report_data import PlanLayers
from converters.segments.segmenter import tftrt_is_compiled_in
from converters.util import custom_ops

needs_tftrt = pytest.mark.skipif(
    not tftrt_is_compiled_in(), reason="this TensorFlow has no TF-TRT inside"
)
X = "TensorRTInputPH_0"
RANGE = [[1, 4], [8, 4], [8, 4]]
COPY = "Reformatting CopyNode for Input Tensor 0 to TRTEngineOp_000_000/b:SOFTMAX"
LAYERS = [["TRTEngineOp_000_000/a-conv:CONVOLUTION", 2.0], [COPY, 1.0], ["b", 3.0], ["b", 4.0]]


@pytest.fixture
def plan(tmp_path: Path, runtime: None) -> Path:
    path = tmp_path / "engine.plan"
    path.write_bytes(made_up_plan(profiles=[RANGE], layers=LAYERS))
    return path


def test_layers_of_a_plan(plan: Path, here: None) -> None:
    report = profile(plan, shapes={X: (2, 4)}, runs=3, progress=False)
    # The first profiled request counts nowhere, so that the times are those of requests 1 to 3.
    times = {layer.name: layer.ms for layer in report.engines[0].layers}
    assert times == {LAYERS[0][0]: 4.0, COPY: 3.0, "b": 5.0 + 6.0}
    assert [layer.share for layer in report.engines[0].layers] == [4 / 18, 3 / 18, 11 / 18]
    assert [layer.changes_format for layer in report.engines[0].layers] == [False, True, False]
    assert [layer.nodes for layer in report.engines[0].layers] == [("a",), ("b",), ()]
    assert report.engines[0].request_ms == 1.5 and report.engines[0].layers_ms == 18.0
    assert report.engines[0].shapes == report.shapes == {X: (2, 4)}
    assert (report.device, report.library) == ("a GPU of paper", "TensorRT 8.6.0")
    (note,) = report.notes
    assert "has no layers.json of these plans" in note


def test_tools_record_the_requests_without_a_profiler(plan: Path, tmp_path: Path) -> None:
    write_batch(tmp_path / "batch", {X: np.zeros((2, 4), np.float32)}, "")
    jobs = [
        {"engine": name, "files": [str(plan)], "names": {}, "batch": str(tmp_path / "batch")}
        for name in ("first", "second")
    ]
    marks: list[str] = []

    @contextlib.contextmanager
    def annotate(text: str) -> Iterator[None]:
        Driver.current.recorded.append(f"<{text}>")
        marks.append(text)
        yield
        Driver.current.recorded.append("</>")

    nvtx = types.ModuleType("nvtx")
    nvtx.annotate = annotate  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "nvtx", nvtx)
        profile_plans(jobs, 2)
    first, rest = Driver.current.recorded.index("start"), Driver.current.recorded.index("stop")
    assert set(Driver.current.recorded[:first]) == {"request"}
    assert Driver.current.recorded[first + 1 : rest] == [
        part
        for name in ("first", "second")
        for part in (
            f"<{name}>",
            *(p for n in (0, 1) for p in (f"<request {n}>", "request", "</>")),
            "</>",
        )
    ]
    assert set(Driver.current.recorded[rest + 1 :]) == {"profiled"}
    Driver.current.recorded.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "nvtx", None)
        profile_plans(jobs[:1], 2)
    assert Driver.current.recorded.count("request") == 12 and len(marks) == 6


def test_the_first_plan_that_takes_the_shapes(tmp_path: Path, runtime: None) -> None:
    files = []
    for batch in (1, 8, 32):
        path = tmp_path / f"{batch}.plan"
        path.write_bytes(made_up_plan(implicit=[4], max_batch=batch, layers=[[str(batch), 1.0]]))
        files.append(str(path))
    write_batch(tmp_path / "batch", {X: np.zeros((3, 4), np.float32)}, "")
    job = {"engine": "e", "files": files, "names": {}, "batch": str(tmp_path / "batch")}
    (found,) = profile_plans([job], 1)["plans"]
    assert (found["file"], found["layers"]) == (1, [("8", 2.0)])
    with pytest.raises(PlanError, match="takes one batch from 1 to 1"):
        profile_plans([{**job, "files": files[:1]}], 1)


def test_a_plan_without_names(tmp_path: Path, runtime: None, here: None) -> None:
    path = tmp_path / "engine.plan"
    path.write_bytes(made_up_plan(profiles=[RANGE]))
    with pytest.raises(PlanError, match="TensorRT reported no layers"):
        profile(path, shapes={X: (2, 4)}, progress=False)


def engines_made_up(folder: Path, monkeypatch: pytest.MonkeyPatch, model: str) -> tuple[str, ...]:
    """Copies a converted model whose plans are made up: they report the layers that the real plans
    have. layers.json is made for them too. Returns the names of its layers."""
    shutil.copytree(CONVERTED / model, folder)
    loaded = load_graph(folder)
    (node,) = engines = engine_nodes(loaded.graph_def)
    names = layer_names(plan_of(folder, node))
    (kept,) = layers_of_log(build_log(names, "Half"), loaded, engines)
    fake = made_up_plan(implicit=[16, 16, 3], max_batch=8, layers=[[name, 1.0] for name in names])
    sha = plan_hash(fake)
    write_layers(folder, [PlanLayers(kept.engine, "FP16", kept.input_shapes, sha, kept.layers)])
    stored = module.stored_plans

    def fakes(*args: Any) -> Any:
        return [type(one)(one.input_shapes, fake) for one in stored(*args)]

    monkeypatch.setattr(module, "stored_plans", fakes)
    return tuple(names)


@needs_tftrt
def test_engines_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtime: None, here: None
) -> None:
    """A static engine's inputs can be computed on the CPU: nothing is before it but a copy."""
    names = engines_made_up(tmp_path / "model", monkeypatch, "static")
    report = profile(tmp_path / "model", shapes={"x": (4, 16, 16, 3)}, runs=1, progress=False)
    (found,) = report.engines
    assert found.engine.startswith("TRTEngineOp_000_000_")
    assert found.shapes == {X: (4, 16, 16, 3)}
    assert tuple(layer.name for layer in found.layers) == names
    by_name = {layer.name: layer for layer in found.layers}
    convolution = next(name for name in names if name.endswith("/conv0-conv:CONVOLUTION"))
    assert by_name[convolution].ops == ("Conv2D",)
    assert by_name[convolution].nodes == ("PartitionedCall/conv0",)
    assert by_name[convolution].precision == "Half"
    assert report.notes == ()
    # Without layers.json the graph still tells the nodes.
    (tmp_path / "model" / "layers.json").unlink()
    again = profile(tmp_path / "model", shapes={"x": (4, 16, 16, 3)}, runs=1, progress=False)
    layers = {layer.name: layer for layer in again.engines[0].layers}
    assert layers[convolution].ops == ("Conv2D",) and layers[convolution].precision == ""
    assert "has no layers.json" in again.notes[0]
    with pytest.raises(EngineError, match="x:9x16x16x3 an engine does not serve what it gets"):
        profile(tmp_path / "model", shapes={"x": (9, 16, 16, 3)}, progress=False)


@needs_tftrt
def test_what_an_engine_gets(tmp_path: Path) -> None:
    image = np.random.default_rng(0).normal(size=(2, 16, 16, 3)).astype(np.float32)
    write_batch(tmp_path / "batch", {"x": image}, "")
    (found,) = write_engine_inputs(
        str(CONVERTED / "static"), None, "serving_default", str(tmp_path / "batch"), str(tmp_path)
    )
    (node,) = engine_nodes(load_graph(CONVERTED / "static").graph_def)
    assert found["engine"] == node.canonical_name
    inputs = read_batch(Path(found["batch"]))
    assert list(inputs) == [X]
    np.testing.assert_array_equal(inputs[X], image)


@needs_tftrt
def test_each_input_of_an_engine(tmp_path: Path) -> None:
    """A model of TrtGraphConverterV2, whose engine is in a function that a function calls."""
    model = SEGMENTED / "whole"
    specs = load_graph(model).signatures["serving_default"].inputs
    random = np.random.default_rng(0)
    batch = {
        name: random.normal(size=(2, *info.shape[1:])).astype(np.float32)
        for name, info in specs.items()
        if info.shape is not None
    }
    write_batch(tmp_path / "batch", batch, "")
    request = [str(tmp_path / "batch"), str(tmp_path)]
    (found,) = write_engine_inputs(str(model), None, "serving_default", *request)
    inputs = read_batch(Path(found["batch"]))
    (graph,) = flatten(load_graph(model))
    (node,) = (node for node in graph.nodes.values() if node.op == "TRTEngineOp")
    names = {tensor: name for name, tensor in graph.inputs.items()}
    assert len(node.inputs) == len(inputs) == 2
    for number, tensor in enumerate(node.inputs):
        wanted = batch[names[tensor]]
        np.testing.assert_array_equal(inputs[f"TensorRTInputPH_{number}"], wanted)


def test_an_engine_that_does_not_serve_what_it_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tensorflow as tf

    def fail(*_: Any) -> Any:
        raise tf.errors.AbortedError(None, None, "User disallowed engine native segment execution")

    class Frozen:
        graph = tf.Graph()
        prune = staticmethod(lambda feeds, fetches: fail)

    with Frozen.graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        tf.raw_ops.Identity(input=x)
    save(tmp_path / "model")
    monkeypatch.setattr(engine_inputs, "freeze", lambda function: Frozen)
    monkeypatch.setattr(engine_inputs, "ENGINE_OP", "Identity")
    write_batch(tmp_path / "batch", {"x": np.zeros((2, 3), np.float32)}, "")
    request = [str(tmp_path / "batch"), str(tmp_path)]
    with pytest.raises(EngineError, match="no engine serves x:2x3"):
        write_engine_inputs(str(tmp_path / "model"), None, "serving_default", *request)


def test_a_native_model_can_only_be_traced(tmp_path: Path, here: None) -> None:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    save(tmp_path / "model")
    with pytest.raises(MeasureError, match=r"has no engine.*trace it in TensorFlow alone"):
        profile(tmp_path / "model", progress=False)
    folder = tmp_path / "trace"
    report = profile(tmp_path / "model", shapes={"x": (4, 3)}, runs=3, trace=folder, progress=False)
    assert report.engines == () and report.nsys == "" and report.library.startswith("TensorFlow")
    (file,) = report.trace
    space = xplane_pb2.XSpace.FromString(Path(file).read_bytes())
    (host,) = (plane for plane in space.planes if plane.name == "/host:CPU")
    names = {number: event.name for number, event in host.event_metadata.items()}
    steps = [
        event
        for line in host.lines
        for event in line.events
        if names[event.metadata_id] == "request"
    ]
    assert len(steps) == 3 and all(event.duration_ps > 0 for event in steps)
    assert Path(file).is_relative_to(folder / "plugins" / "profile")
    assert "a trace of 3 requests" in str(report)
    with pytest.raises(OutputError, match="exists and is no empty folder"):
        profile(tmp_path / "model", trace=folder, progress=False)


def test_what_does_not_fit(plan: Path, tmp_path: Path, here: None) -> None:
    with pytest.raises(MeasureError, match="runs is 0"):
        profile(plan, runs=0)
    with pytest.raises(MeasureError, match="give shapes or data"):
        profile(plan, shapes={X: (2, 4)}, data=[1])
    with pytest.raises(MeasureError, match="is a plan, which runs without TensorFlow"):
        profile(plan, trace=tmp_path / "trace", progress=False)
    with pytest.raises(PlanError, match="no profile of .* takes TensorRTInputPH_0 9x4"):
        profile(plan, shapes={X: (9, 4)}, progress=False)


def test_two_plans_side_by_side(plan: Path, tmp_path: Path, here: None) -> None:
    other = tmp_path / "other.plan"
    slow = [[name, ms + 4.0] for name, ms in LAYERS[:2]]
    other.write_bytes(made_up_plan(profiles=[RANGE], layers=slow))
    report = profile(plan, other, shapes={X: (2, 4)}, runs=1, progress=False)
    first, copy, unnamed = report.comparison
    assert (first.nodes, first.ms, first.original_ms) == (("a",), 3.0, 7.0)
    assert first.speed_up == pytest.approx(7 / 3)
    assert (copy.nodes, copy.speed_up) == (("b",), 3.0)
    assert (unnamed.nodes, unnamed.ms, unnamed.original_ms) == ((), 9.0, None)
    assert report.to_json()["comparison"][0]["speed_up"] == first.speed_up


def layer(ms: float, precision: str, *nodes: str, copy: bool = False) -> LayerProfile:
    ops = tuple(node.upper() for node in nodes)
    return LayerProfile("+".join(nodes), ms, 0.0, "", precision, copy, nodes, ops)


def test_layers_that_are_fused_otherwise_share_a_row() -> None:
    model = [layer(1.0, "Half", "a", "b"), layer(2.0, "Half", "c"), layer(4.0, "Half", "d", "e")]
    original = [
        layer(3.0, "Float", "b", "c"),
        layer(5.0, "Float", "a"),
        layer(6.0, "Float", "e"),
        layer(0.5, "Float -> Int8", "e", copy=True),
        layer(7.0, "Float", "f"),
    ]
    fused, last, alone = compared(model, original)
    assert (fused.nodes, fused.ms, fused.original_ms) == (("a", "b", "c"), 3.0, 8.0)
    assert (fused.precision, fused.original_precision) == ("Half", "Float")
    assert (last.nodes, last.ops, last.original_ms) == (("d", "e"), ("D", "E"), 6.5)
    assert last.original_precision == "Float"
    assert (alone.ms, alone.original_ms, alone.speed_up) == (None, 7.0, None)


def test_the_text() -> None:
    text = str(recorded_profile())
    lines = text.splitlines()
    assert lines[0] == (
        "models/fast<er>, beside models/fp32: TensorRT 8.6.0 on a GPU, signature serving_default"
    )
    assert lines[1] == "a request of image:8x16x16x3; each time is the median of 20 requests"
    assert re.search(
        r"TRTEngineOp\w+ with TensorRTInputPH_0:8x16x16x3: 0.0900 ms without the profiler; its 10 "
        r"layers take 0.1000 ms, 0.0100 ms of them change formats\n",
        text,
    )
    assert re.search(r"\n0.0100  10.0 %  CaskConvolution  Half +Conv2D \+ Relu  Stateful", text)
    assert re.search(r"\n0.0100  10.0 %  Reformat +Float -> Half  changes  MatMul  ", text)
    beside = text.partition("side by side")[2]
    assert re.search(r"\n0.0100  0.0200 +2.00 +Half  Float +Conv2D \+ Relu", beside)
    assert "with Nsight Systems: nsys profile" in text and text.endswith("note: it rained")
    unknown = str(recorded_profile(engines=(engine("", 0.01),), original=None))
    assert re.search(r"\n0.0100  10.0 %  - +- +Conv2D \+ Relu", unknown)
    assert "side by side" not in unknown


def test_the_page_needs_nothing_else() -> None:
    report = recorded_profile()
    page = report.to_html()
    assert page.startswith("<!DOCTYPE html>") and "fast&lt;er&gt;" in page
    assert "fast<er>" not in page and not re.search(r"https?://|<script|<link|src=", page)
    assert page.count('<span class="tag why">format</span>') == 1
    assert "Half: 90.0 %" in page and "changes of format: 10.0 %" in page
    assert page.count("<tr>") == 2 + len(report.engines[0].layers) + len(report.comparison)
    assert "<code>nsys profile trt-convert profile models/fp16</code>" in page
    ratio = report.original_engines[0].request_ms / report.engines[0].request_ms
    assert f"<b>{ratio:.2f}\u00d7</b>" in page and "It rained." in page


def test_the_json_form() -> None:
    report = recorded_profile()
    values = json.loads(json.dumps(report.to_json()))
    documented = re.findall(
        r"^([a-z_, ]+?) {2,}", sys.modules[type(report).__mro__[1].__module__].__doc__ or "", re.M
    )
    keys = {key for text in documented for key in text.split(", ")}
    assert set(values) == keys
    assert values["engines"][0]["layers_ms"] == pytest.approx(0.1)
    assert values["comparison"][1]["speed_up"] == pytest.approx(2.0)


def test_the_command_for_nsight_systems(plan: Path, tmp_path: Path, here: None) -> None:
    files = [tmp_path / "a b.npy", tmp_path / "c.npy"]
    for file in files:
        np.save(file, np.ones((3, 4), np.float32))
    for inputs, shown in (
        ({"shapes": {X: (2, 4)}}, ([{X: (2, 4)}], None, None)),
        ({"shapes": {X: (2, 4)}, "seed": 5}, ([{X: (2, 4)}], 5, None)),
        ({"data": files[0]}, (None, None, [str(files[0])])),
        ({"data": files}, (None, None, [*map(str, files)])),
    ):
        report = profile(plan, **inputs, runs=1, progress=False)
        command = shlex.split(report.nsys)
        assert command[:2] == ["nsys", "profile"] and "--capture-range=cudaProfilerApi" in command
        options = build_parser().parse_args(command[command.index("trt-convert") + 1 :])
        assert (options.model, options.runs) == (str(plan), 1)
        assert (options.shapes, options.seed, options.data) == shown


def test_no_command_names_data_that_is_in_no_file(plan: Path, here: None) -> None:
    report = profile(plan, data={X: np.ones((3, 4), np.float32)}, runs=1, progress=False)
    assert report.nsys == ""
    assert any("Nsight Systems is left out" in note for note in report.notes)


def test_the_command_names_what_the_model_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_ops, "_imports", ["tf_nvcodec"])
    monkeypatch.setattr(custom_ops, "_libraries", ["/ops/a b.so"])
    subject = Subject("m", "model", "m", "serving_default", {}, ("serve", "gpu"))
    command = shlex.split(_nsys(subject, ["--shape", "x:2x4"], 3, ["y", "z"]))
    options = build_parser().parse_args(command[command.index("trt-convert") + 1 :])
    assert (options.signature, options.tags) == ("serving_default", ["serve", "gpu"])
    assert (options.outputs, options.imports) == (["y", "z"], ["tf_nvcodec"])
    assert list(map(str, options.op_libraries)) == ["/ops/a b.so"]
