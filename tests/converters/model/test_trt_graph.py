"""Reads TRTEngineOps from SavedModels and graphs. Errors of damaged models give advice."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from trt_graphs import SEGMENTED, GraphMaker, asset, with_plans

from converters.model import flat_graph
from converters.model.flat_graph import flatten, index_of, node_of
from converters.model.trt_graph import engine_nodes, load_graph
from converters.util.errors import ModelError


def test_v2_engines_sit_in_functions() -> None:
    loaded = load_graph(SEGMENTED / "two_engines")
    first, second = sorted(engine_nodes(loaded.graph_def), key=lambda e: e.canonical_name)
    assert (first.canonical_name, second.canonical_name) == (
        "TRTEngineOp_000_000",
        "TRTEngineOp_000_001",
    )
    assert first.function.startswith("__inference_")
    assert first.precision == "FP16"
    assert not first.static
    assert not first.implicit_batch
    assert first.profile_strategy == "Range"
    assert first.allow_build
    assert first.has_segment
    assert first.segment_func == "TRTEngineOp_000_000_native_segment"
    assert first.input_dtypes == first.output_dtypes == ("float32",)
    assert first.input_shapes == ((None, 8, 8, 3),)
    assert first.output_shapes == ((None, 8, 8, 4),)
    assert first.ops == {"BiasAdd": 2, "Const": 4, "Conv2D": 2, "Relu": 2}
    assert len(first.node_names) == 10
    assert second.ops["MatMul"] == second.ops["Softmax"] == 1
    assert (first.plan, first.calibration_table) == (b"", "")


def test_v1_engines_sit_in_the_main_graph() -> None:
    loaded = load_graph(SEGMENTED / "frozen.pb")
    engines = engine_nodes(loaded.graph_def)
    assert [engine.function for engine in engines] == ["", ""]
    assert all(engine.implicit_batch and engine.precision == "FP32" for engine in engines)
    assert engines[0].input_names == ("image",)


def test_an_engine_in_two_functions_counts_once() -> None:
    graph = load_graph(SEGMENTED / "two_engines").graph_def
    (holder,) = {engine.function for engine in engine_nodes(graph)}
    copied = next(f for f in graph.library.function if f.signature.name == holder)
    again = graph.library.function.add()
    again.CopyFrom(copied)
    again.signature.name = "another"
    assert len(engine_nodes(graph)) == 2


def test_a_static_engine_holds_its_plan_and_defaults_are_tensorflows() -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.engine("e", ["x"], {"a": "Relu"}, static_engine=True, serialized_segment=b"plan")
    node = maker.graph.node[1]
    # A SavedModel does not store attributes that have their default values.
    for name in ("_use_implicit_batch", "max_cached_engines_count", "static_engine"):
        del node.attr[name]
    (engine,) = engine_nodes(maker.graph)
    assert (engine.static, engine.plan) == (True, b"plan")
    assert (engine.implicit_batch, engine.allow_build) == (True, True)
    assert (engine.max_batch_size, engine.max_cached_engines) == (1, 1)
    assert engine.use_calibration
    # In a dynamic engine of TensorFlow 1, serialized_segment holds something else than a plan.
    node.attr["static_engine"].b = False
    assert engine_nodes(maker.graph)[0].plan == b""


def test_a_removed_native_segment_is_said() -> None:
    maker = GraphMaker()
    maker.engine("e", ["x"], {"a": "Relu"})
    del maker.graph.library.function[:]
    (engine,) = engine_nodes(maker.graph)
    assert (engine.has_segment, engine.ops, engine.node_names) == (False, {}, ())


def test_reading_leaves_the_graph_as_it_is() -> None:
    graph = load_graph(SEGMENTED / "frozen.pb").graph_def
    for node in graph.node:
        if node.op == "TRTEngineOp":
            del node.attr["calibration_data"]
    before = graph.SerializeToString(deterministic=True)
    engine_nodes(graph)
    assert graph.SerializeToString(deterministic=True) == before


def test_signatures_have_names_types_and_shapes() -> None:
    loaded = load_graph(SEGMENTED / "whole_native")
    assert (loaded.kind, loaded.tags) == ("saved_model", ("serve",))
    assert loaded.tensorflow_version == "2.17.1"
    (signature,) = loaded.signatures.values()
    assert signature.name == "serving_default"
    assert list(signature.inputs) == ["left", "right"]
    assert signature.inputs["left"].name == "serving_default_left:0"
    assert signature.inputs["left"].dtype == "float32"
    assert signature.inputs["left"].shape == (None, 6)
    assert signature.outputs["joined"].shape == (None, 3)


def test_the_plans_of_an_engine_are_found(tmp_path: Path) -> None:
    model = with_plans("two_engines", tmp_path)
    loaded = load_graph(model)
    for engine in engine_nodes(loaded.graph_def):
        assert loaded.engine_file(engine) == asset(model, engine)
    bare = load_graph(SEGMENTED / "two_engines")
    assert bare.engine_file(engine_nodes(bare.graph_def)[0]) is None


def test_saved_model_pb_stands_for_its_folder() -> None:
    assert load_graph(SEGMENTED / "whole" / "saved_model.pb").path == SEGMENTED / "whole"


def test_meta_graphs_and_text_are_read(tmp_path: Path) -> None:
    from google.protobuf import text_format
    from tensorflow.core.protobuf import meta_graph_pb2

    graph = load_graph(SEGMENTED / "frozen.pb").graph_def
    meta = meta_graph_pb2.MetaGraphDef(graph_def=graph)
    (tmp_path / "model.meta").write_bytes(meta.SerializeToString())
    (tmp_path / "model.pbtxt").write_text(text_format.MessageToString(graph))
    for name, kind in (("model.meta", "meta_graph"), ("model.pbtxt", "frozen_graph")):
        loaded = load_graph(tmp_path / name)
        assert loaded.kind == kind
        assert len(engine_nodes(loaded.graph_def)) == 2


def test_tags_choose_the_meta_graph() -> None:
    assert load_graph(SEGMENTED / "whole", ["serve"]).tags == ("serve",)
    with pytest.raises(ModelError, match=r"the tags gpu, serve were asked.*tag sets are: serve"):
        load_graph(SEGMENTED / "whole", ["gpu", "serve"])


def refused(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        load_graph(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "none")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "It is empty" in refused(empty)
    (empty / "notes.txt").write_text("x")
    assert "It holds: notes.txt" in refused(empty)
    versions = tmp_path / "served"
    shutil.copytree(SEGMENTED / "whole", versions / "3")
    assert "its versions: 3" in refused(versions)
    chunked = tmp_path / "chunked"
    chunked.mkdir()
    (chunked / "saved_model.cpb").write_bytes(b"x")
    assert "2 GiB" in refused(chunked)


@pytest.mark.parametrize("keep", [0, 1, 7, 100, 5000, 16046])
def test_a_cut_off_saved_model_is_refused(tmp_path: Path, keep: int) -> None:
    model = tmp_path / "model"
    shutil.copytree(SEGMENTED / "two_engines", model)
    path = model / "saved_model.pb"
    path.write_bytes(path.read_bytes()[:keep])
    assert "again" in refused(model)


@pytest.mark.parametrize("data", [b"", b"\xff" * 200, b"not a graph at all", bytes(64)])
def test_a_damaged_graph_is_refused(tmp_path: Path, data: bytes) -> None:
    for name in ("graph.pb", "graph.meta", "graph.pbtxt"):
        (tmp_path / name).write_bytes(data)
        refused(tmp_path / name)


def test_a_saved_model_given_as_a_graph_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.pb"
    shutil.copy(SEGMENTED / "whole" / "saved_model.pb", path)
    refused(path)


def test_calls_are_inlined_as_tensorflow_does() -> None:
    import tensorflow as tf
    from tensorflow.python.framework import convert_to_constants

    for name in ("two_engines_native", "whole_native"):
        (flat,) = flatten(load_graph(SEGMENTED / name))
        model = tf.saved_model.load(str(SEGMENTED / name))
        frozen = convert_to_constants.convert_variables_to_constants_v2(
            model.signatures["serving_default"]
        ).graph.as_graph_def()
        held = ("Const", "Placeholder", "ReadVariableOp", "VarHandleOp", "NoOp", "Identity")
        expected = {node.name: node.op for node in frozen.node if node.op not in held}
        found = {node.name: node.op for node in flat.nodes.values() if node.op not in held}
        assert found == expected
        inputs = {
            node.name: [name.split(":")[0] for name in node.input if not name.startswith("^")]
            for node in frozen.node
        }
        for node in flat.nodes.values():
            for tensor, other in zip(node.inputs, inputs.get(node.name, [])):
                if node_of(tensor) in expected:
                    assert node_of(tensor) == other


def test_inlined_nodes_come_after_what_they_read() -> None:
    for name in ("two_engines", "two_engines_native", "whole_native", "frozen.pb"):
        for flat in flatten(load_graph(SEGMENTED / name)):
            seen: set[str] = set()
            for node in flat.nodes.values():
                assert {*map(node_of, node.inputs), *node.controls} <= seen, node.name
                seen.add(node.name)
            assert {node_of(tensor) for tensor in flat.outputs.values()} <= seen


def test_native_segments_go_where_the_engines_are() -> None:
    loaded = load_graph(SEGMENTED / "two_engines")
    (cut,), (native,) = flatten(loaded), flatten(loaded, native=True)
    assert sum(node.op == "TRTEngineOp" for node in cut.nodes.values()) == 2
    ops = [node.op for node in native.nodes.values()]
    assert ops.count("TRTEngineOp") == 0
    assert (ops.count("Conv2D"), ops.count("Softmax"), ops.count("Cumsum")) == (3, 1, 1)
    (softmax,) = [node for node in native.nodes.values() if node.op == "Softmax"]
    assert "TRTEngineOp_000_001/" in softmax.name
    # The nodes of the segments are connected with the nodes around the engines.
    reached = {node_of(tensor) for node in native.nodes.values() for tensor in node.inputs}
    assert softmax.name in reached


def test_functions_called_twice_are_inlined_twice() -> None:
    maker = GraphMaker()
    function = maker.graph.library.function.add()
    function.signature.name = "twice"
    function.signature.input_arg.add(name="a")
    function.signature.output_arg.add(name="b")
    function.node_def.add(name="relu", op="Relu", input=["a"])
    function.ret["b"] = "relu:activations:0"
    maker.node("Placeholder", "x")
    for name, source in (("one", "x"), ("two", "one")):
        call = maker.graph.node.add(name=name, op="PartitionedCall", input=[source])
        call.attr["f"].func.name = "twice"
    maker.node("Identity", "y", ["two"])
    flat = maker.flat(Path("graph.pb"))
    assert list(flat.nodes) == ["x", "one/relu", "two/relu", "y"]
    assert flat.nodes["two/relu"].inputs == ("one/relu:0",)
    assert flat.nodes["y"].inputs == ("two/relu:0",)
    assert flat.outputs == {"y": "y:0"}


def test_loops_of_version_1_are_kept() -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.node("Enter", "enter", ["x"])
    maker.node("Merge", "merge", ["enter", "next"])
    maker.node("NextIteration", "next", ["merge"])
    maker.node("Exit", "exit", ["merge"])
    assert len(maker.flat(Path("graph.pb")).nodes) == 5


@pytest.mark.parametrize("damage", ["arguments", "results", "result"])
def test_calls_that_do_not_fit_are_refused(damage: str) -> None:
    loaded = load_graph(SEGMENTED / "two_engines_native")
    for function in loaded.graph_def.library.function:
        if damage == "arguments":
            function.signature.input_arg.add(name="more")
        elif damage == "results":
            del function.signature.output_arg[:]
        else:
            function.ret.clear()
    with pytest.raises(ModelError, match="two_engines_native: a call and the function"):
        flatten(loaded)


@pytest.mark.parametrize("inner", ["call", "wait"])
def test_functions_that_multiply_are_refused_or_read_at_once(
    inner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """60 functions: each calls the next one twice, or waits twice for one call of it."""
    monkeypatch.setattr(flat_graph, "_MOST_NODES", 25_000)
    maker = GraphMaker()
    for i in range(60):
        function = maker.graph.library.function.add()
        function.signature.name = f"f{i}"
        for key in "ab":
            name = key if inner == "call" else "a"
            function.control_ret[key] = name
            if i < 59 and name not in [node.name for node in function.node_def]:
                call = function.node_def.add(name=name, op="PartitionedCall")
                call.attr["f"].func.name = f"f{i + 1}"
    call = maker.graph.node.add(name="first", op="PartitionedCall")
    call.attr["f"].func.name = "f0"
    if inner == "call":
        with pytest.raises(ModelError, match="more than 25000 nodes once its functions are"):
            maker.flat(Path("graph.pb"))
    else:
        maker.flat(Path("graph.pb"))


def test_a_signature_of_an_output_that_its_call_has_not() -> None:
    loaded = load_graph(SEGMENTED / "two_engines_native")
    (tensor,) = loaded.signatures["serving_default"].outputs.values()
    wrong = replace(tensor, name=tensor.name.partition(":")[0] + ":7")
    signature = replace(loaded.signatures["serving_default"], outputs={"y": wrong})
    with pytest.raises(ModelError, match="two_engines_native: a call and the function"):
        flatten(replace(loaded, signatures={"serving_default": signature}))


def test_a_signature_of_nothing_is_refused() -> None:
    loaded = load_graph(SEGMENTED / "two_engines_native")
    del loaded.graph_def.node[:]
    with pytest.raises(ModelError, match="'serving_default' gives .* which its graph has not"):
        flatten(loaded)


@pytest.mark.parametrize("tensor", ["a/b:", "a/b:x", "a/b:-1", "a/b"])
def test_a_tensor_without_a_number_is_a_damaged_model(tensor: str) -> None:
    assert index_of("a/b:12") == 12
    with pytest.raises(ModelError, match="names no output"):
        index_of(tensor)
