"""Tests the edits of a converted graph: native segments, and the names of engines and inputs."""

from __future__ import annotations

import re
import shutil
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from trt_graphs import SEGMENTED, GraphMaker

from converters import ConversionSpec, convert
from converters.checks.runnable import signature_specs
from converters.checks.verify import verify
from converters.denylist_search import nodes_in_engines
from converters.model.flat_graph import flatten
from converters.model.graph_file import read_saved_model
from converters.model.model_source import freeze
from converters.model.trt_graph import engine_nodes, load_graph, segment_nodes
from converters.report.inspect_model import inspect_model
from converters.segments.segmenter import tftrt_is_compiled_in
from converters.tftrt.graph_edits import (
    keywords,
    placeholders,
    with_unique_names,
    without_native_segments,
)
from converters.tftrt.save_converted import save_converted

FROZEN = SEGMENTED / "frozen.pb"


def call(graph_def: Any, name: str, outputs: int, *values: tf.Tensor) -> list[tf.Tensor]:
    """Calls the function `name` of the graph's library and returns its results."""
    graph = tf.compat.v1.GraphDef(versions=graph_def.versions)
    (function,) = (f for f in graph_def.library.function if f.signature.name == name)
    graph.library.function.add().CopyFrom(function)
    # TensorFlow keeps functions by name, so each call gets a new name.
    graph.library.function[0].signature.name = own = f"{name}_{uuid.uuid4().hex}"
    for index, value in enumerate(values):
        feed = graph.node.add(name=f"feed_{index}", op="Placeholder")
        feed.attr["dtype"].type = value.dtype.as_datatype_enum
    graph.node.add(name="call", op=own, input=[f"feed_{i}" for i in range(len(values))])
    wrapped = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(graph, name=""), [])
    element = wrapped.graph.as_graph_element
    feeds = [element(f"feed_{i}:0") for i in range(len(values))]
    return wrapped.prune(feeds, [element(f"call:{i}") for i in range(outputs)])(*values)


def test_engines_stay_as_they_are_but_for_their_native_segments() -> None:
    before = load_graph(FROZEN).graph_def
    as_it_was = before.SerializeToString(deterministic=True)
    after = without_native_segments(before)
    assert before.SerializeToString(deterministic=True) == as_it_was
    assert [node.name for node in after.node] == [node.name for node in before.node]
    assert after.versions == before.versions
    kept, left = engine_nodes(before), engine_nodes(after)
    assert len(kept) == len(left) == 2
    for one, other in zip(kept, left):
        assert one.has_segment and not other.has_segment
        assert (other.ops, other.node_names) == (one.ops, one.node_names)
        assert (other.canonical_name, other.segment_func) == (one.canonical_name, one.segment_func)
    assert nodes_in_engines(after) == nodes_in_engines(before)
    # Doing it a second time changes nothing.
    again = without_native_segments(after)
    assert again.SerializeToString(deterministic=True) == after.SerializeToString(
        deterministic=True
    )


def test_weights_are_gone() -> None:
    weights = bytes(range(256)) * 64
    maker = GraphMaker()
    maker.engine("e", ["x"], {"w": "Const", "a": "Relu"})
    (segment,) = maker.graph.library.function
    segment.node_def[0].attr["value"].tensor.tensor_content = weights
    other = maker.graph.library.function.add()
    other.signature.name = "other"
    other.node_def.add(name="n", op="NoOp")
    left = without_native_segments(maker.graph)
    assert weights in maker.graph.SerializeToString()
    assert weights not in left.SerializeToString()
    assert left.library.function[1] == other
    assert segment_nodes(left.library.function[0]) == [("w", "Const"), ("a", "Relu")]


def test_a_shape_without_an_engine_is_an_error_that_says_so() -> None:
    before = load_graph(FROZEN).graph_def
    after = without_native_segments(before)
    engine = engine_nodes(before)[0]
    shapes = [tuple(side or 2 for side in shape or ()) for shape in engine.input_shapes]
    given = [tf.ones(shape) for shape in shapes]
    outputs = len(engine.output_dtypes)
    assert len(call(before, engine.segment_func, outputs, *given)) == outputs
    cause = f"{engine.canonical_name} has no engine for these shapes.*native_segments=False"
    with pytest.raises(tf.errors.InvalidArgumentError, match=cause):
        call(after, engine.segment_func, outputs, *given)


@pytest.mark.parametrize("dtype", ["float16", "int32", "int64", "bool", "int8"])
def test_outputs_may_have_any_type(dtype: str) -> None:
    maker = GraphMaker()
    maker.engine("e", ["x"], {"a": "Identity"})
    signature = maker.graph.library.function[0].signature
    number = tf.as_dtype(dtype).as_datatype_enum
    signature.input_arg[0].type = signature.output_arg[0].type = number
    left = without_native_segments(maker.graph)
    with pytest.raises(tf.errors.InvalidArgumentError, match="e has no engine for these shapes"):
        call(left, signature.name, 1, tf.zeros([1], dtype))


@pytest.mark.skipif(not tftrt_is_compiled_in(), reason="this TensorFlow has no TF-TRT inside")
def test_a_saved_model_keeps_what_is_noted_and_loads(tmp_path: Path) -> None:
    """The test makes and saves a function in the same way as the converters V1 and V2."""
    from tensorflow.python.compiler.tensorrt import trt_convert

    native = tf.saved_model.load(str(SEGMENTED / "two_engines_native"))
    original = native.signatures["serving_default"]
    frozen = freeze(original)
    cut = load_graph(FROZEN).graph_def
    first = trt_convert._construct_function_from_graph_def(original, cut, frozen)
    left = without_native_segments(cut)
    made = trt_convert._construct_function_from_graph_def(first, left)
    module = tf.Module()
    module.kept = native
    tf.saved_model.save(module, str(tmp_path / "out"), {"serving_default": made})
    engines = engine_nodes(load_graph(tmp_path / "out").graph_def)
    want = engine_nodes(cut)
    assert [e.ops for e in engines] == [e.ops for e in want]
    assert not any(engine.has_segment for engine in engines)
    loaded = tf.saved_model.load(str(tmp_path / "out"))
    (output,) = loaded.signatures["serving_default"].structured_outputs.values()
    assert output.shape[-1] == 5


def test_an_inspection_still_says_what_is_in_engines(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(SEGMENTED / "two_engines", folder)
    whole = inspect_model(folder, ask=False)
    message = read_saved_model(folder)
    meta = message.meta_graphs[0]
    meta.graph_def.CopyFrom(without_native_segments(meta.graph_def))
    (folder / "saved_model.pb").write_bytes(message.SerializeToString())
    report = inspect_model(folder, ask=False)
    for one, other in zip(whole.engines, report.engines):
        assert (other.ops, other.node_names) == (one.ops, one.node_names)
        said = "its native segment was left out: other shapes are an error"
        assert said in other.problems and said not in one.problems
    assert report.share_converted == whole.share_converted > 0
    # Without its segment, an engine cannot be replaced by native nodes.
    (graph,) = flatten(load_graph(folder), native=True)
    assert "TRTEngineOp" in {node.op for node in graph.nodes.values()}


def two_engines() -> Any:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.engine("TRTEngineOp_000_000", ["x"], {"a": "Relu"})
    maker.node("Cumsum", "between", ["TRTEngineOp_000_000:0"])
    maker.engine("part/TRTEngineOp_000_001", ["between"], {"b": "Relu"})
    maker.node("Identity", "y", ["part/TRTEngineOp_000_001", "^TRTEngineOp_000_000"])
    return maker.graph


def test_the_same_graph_gets_others_each_time() -> None:
    found = [with_unique_names(two_engines()) for _ in range(2)]
    names = [[engine.canonical_name for engine in engine_nodes(graph)] for graph in found]
    assert not set(names[0]) & set(names[1])
    for first, second in names:
        assert re.fullmatch(r"TRTEngineOp_000_000_[0-9a-f]{8}", first)
        assert second == first.replace("000_000", "000_001")


def test_their_readers_follow() -> None:
    inputs = {node.name: list(node.input) for node in with_unique_names(two_engines()).node}
    (first,) = (name for name in inputs if name.startswith("TRTEngineOp"))
    (second,) = (name for name in inputs if name.startswith("part/"))
    assert inputs == {
        "x": [],
        first: ["x"],
        "between": [f"{first}:0"],
        second: ["between"],
        "y": [second, f"^{first}"],
    }


def session_model(folder: Path, first: str, second: str) -> None:
    """Lets a session save a model that computes "in0/x" - 10 * "a"."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        with tf.name_scope("in0"):
            x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        a = tf.compat.v1.placeholder(tf.float32, [None, 3], name="a")
        y = tf.subtract(x, 10 * a, name="out")
        inputs = {first: x, second: a}
        tf.compat.v1.saved_model.simple_save(session, str(folder), inputs, {"Scores": y})


def function_model(folder: Path, first: str, second: str) -> None:
    module = tf.Module()
    module.scale = tf.Variable(10.0)
    specs = [tf.TensorSpec([None, 3], tf.float32, name) for name in (first, second)]

    @tf.function(input_signature=specs)
    def serve(x: tf.Tensor, a: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"Scores": x - module.scale * a}

    module.serve = serve
    tf.saved_model.save(module, str(folder), signatures=serve.get_concrete_function())


def made_again(native: Any) -> Any:
    """Makes the function of a converted graph in the way of TF-TRT."""
    # Releases after TensorFlow 2.17 have no TF-TRT.
    trt_convert = pytest.importorskip("tensorflow.python.compiler.tensorrt.trt_convert")
    frozen = freeze(native)
    return trt_convert._construct_function_from_graph_def(
        native, frozen.graph.as_graph_def(), frozen
    )


CASES = [
    (session_model, "Image", "other-one"),
    (session_model, "inputs", "a"),
    (session_model, "x", "in0/x"),
    (function_model, "image-in", "2d"),
    (function_model, "Image", "b"),
    (function_model, "a", "b"),
]


@pytest.mark.parametrize(("make", "first", "second"), CASES)
def test_what_is_saved_has_the_signatures_names(
    tmp_path: Path, make: Any, first: str, second: str
) -> None:
    source, out = tmp_path / "native", tmp_path / "out"
    make(source, first, second)
    loaded = tf.saved_model.load(str(source))
    native = loaded.signatures["serving_default"]
    assert set(placeholders(native)) == {first, second}
    function = made_again(native)
    called = keywords(native)
    batch = {first: np.full((2, 3), 7, np.float32), second: np.full((2, 3), 2, np.float32)}
    got = function(**{called.get(name, name): tf.constant(v) for name, v in batch.items()})
    np.testing.assert_array_equal(tf.nest.flatten(got)[0], np.full((2, 3), -13))

    save_converted(out, {"serving_default": function}, {}, [loaded], [], source, ["serve"])
    assert signature_specs(str(out)) == signature_specs(str(source))
    again = tf.saved_model.load(str(out)).signatures["serving_default"]
    assert set(again._arg_keywords) == {first, second}
    report = verify(str(source), str(out), batch, num_batches=1)
    assert report.passed, str(report)
    # inspect_model looks into the functions that the signature calls.
    assert inspect_model(out, ask=False).converted_compute == 2


def test_names_that_are_kept_anyway_need_no_further_function(tmp_path: Path) -> None:
    function_model(tmp_path / "native", "a", "b")
    loaded = tf.saved_model.load(str(tmp_path / "native"))
    native = loaded.signatures["serving_default"]
    assert keywords(native) == {}
    from converters.tftrt.graph_edits import with_signature_names

    function = made_again(native)
    assert with_signature_names(function, native) is function


@pytest.mark.gpu
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_a_conversion_keeps_them(tmp_path: Path, mode: str) -> None:
    session_model(tmp_path / "native", "Image", "other-one")
    shapes = {"Image": (2, 3), "other-one": (2, 3)}
    spec = ConversionSpec(mode=mode, minimum_segment_size=1, input_shapes=shapes)
    report = convert(tmp_path / "native", tmp_path / "out", spec)
    assert report.verification.passed and [run.shapes for run in report.fresh.runs] == [shapes]
    # Only the product is in the engine: TF-TRT leaves out the subtraction, which is the output.
    assert inspect_model(tmp_path / "out").converted_compute == 1
    names = [signature_specs(str(tmp_path / model)).keys() for model in ("native", "out")]
    assert names[0] == names[1]
