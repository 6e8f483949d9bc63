"""Converted graphs without the ops that their engines replace."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from trt_graphs import SEGMENTED, GraphMaker

from converters.denylist_search import nodes_in_engines
from converters.model.flat_graph import flatten
from converters.model.graph_file import read_saved_model
from converters.model.model_source import freeze
from converters.model.trt_graph import engine_nodes, load_graph, segment_nodes
from converters.report.inspect_model import inspect_model
from converters.segments.segmenter import tftrt_is_compiled_in
from converters.tftrt.graph_edits import without_native_segments

FROZEN = SEGMENTED / "frozen.pb"


def call(graph_def: Any, name: str, outputs: int, *values: tf.Tensor) -> list[tf.Tensor]:
    """What the function `name` of the graph's library returns."""
    graph = tf.compat.v1.GraphDef(versions=graph_def.versions)
    (function,) = (f for f in graph_def.library.function if f.signature.name == name)
    graph.library.function.add().CopyFrom(function)
    # TensorFlow keeps functions by name.
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
    # Twice is as good as once.
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
    """As V1's and V2's converted functions are made and saved."""
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
    # There is nothing to put in an engine's place.
    (graph,) = flatten(load_graph(folder), native=True)
    assert "TRTEngineOp" in {node.op for node in graph.nodes.values()}
