"""Every kind of input becomes a SavedModel that computes the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from copied_models import W, session_graph

from converters.checks.runnable import FrozenGraph, load_signatures
from converters.model.model_source import graph_outputs, kind_of, open_source
from converters.util.errors import ModelError

X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def run(folder: Path, **inputs: np.ndarray) -> dict[str, np.ndarray]:
    function = tf.saved_model.load(str(folder)).signatures["serving_default"]
    fed = {name: tf.constant(value) for name, value in inputs.items()}
    return {name: value.numpy() for name, value in function(**fed).items()}


Y = np.maximum(X @ W, 0)


def test_frozen_graph(tmp_path: Path) -> None:
    session_graph(tmp_path)
    found = open_source(tmp_path / "frozen.pb", tmp_path, outputs=["y:0", "scope/half"])
    assert found.kind == "frozen_graph"
    assert list(found.signature("serving_default").inputs) == ["x"]
    assert found.signature("serving_default").inputs["x"].shape == (None, 3)
    result = run(found.saved_model, x=X)
    np.testing.assert_allclose(result["y"], Y, rtol=1e-6)
    np.testing.assert_allclose(result["scope/half"], Y / 2, rtol=1e-6)


def test_names_that_no_argument_can_have(tmp_path: Path) -> None:
    names = ["import/x", "import_x", "2nd", "in", "self", "scope.y"]
    with tf.Graph().as_default() as graph:
        placeholders = [tf.compat.v1.placeholder(tf.float32, [3], name=name) for name in "yz"]
        tf.add_n(placeholders, name="import/sum")
    graph_def = graph.as_graph_def()
    pattern = graph_def.node[0]
    for name in names:
        graph_def.node.add().CopyFrom(pattern)
        graph_def.node[-1].name = name
    total = next(node for node in graph_def.node if node.op == "AddN")
    total.input.extend(names)
    total.attr["N"].i += len(names)
    path = tmp_path / "odd.pb"
    path.write_bytes(graph_def.SerializeToString())
    found = open_source(path, tmp_path, outputs=["import/sum"])
    assert found.renamed == {
        "import/x": "import_x_1",
        "2nd": "arg_2nd",
        "in": "in_",
        "self": "self_",
        "scope.y": "scope_y",
    }
    keys = ["y", "z", *(found.renamed.get(name, name) for name in names)]
    assert sorted(found.signature("serving_default").inputs) == sorted(keys)
    # Each input gets another power of ten, so the sum shows if two inputs are mixed up.
    values = {key: np.full(3, 10.0**place, np.float32) for place, key in enumerate(keys)}
    np.testing.assert_allclose(run(found.saved_model, **values)["import/sum"], 11111111.0)


def test_frozen_graph_finds_its_outputs(tmp_path: Path) -> None:
    session_graph(tmp_path)
    found = open_source(tmp_path / "frozen.pb", tmp_path)
    assert list(found.signature("serving_default").outputs) == ["scope/half"]


def test_all_outputs_of_the_last_nodes(tmp_path: Path) -> None:
    """What only gradients need is no output, nor is the rest of a node that another one reads."""
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [2, 6], name="x")
        tf.math.top_k(x, 3, name="top")
        tf.split(x, 3, axis=1, name="split")
        used, _ = tf.unique(x[0], name="partly")
        tf.add(used, 1, name="sum")
        images = tf.reshape(x, [1, 2, 2, 3])
        ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)
        tf.raw_ops.FusedBatchNormV3(
            x=images,
            scale=ones,
            offset=zeros,
            mean=zeros,
            variance=ones,
            is_training=False,
            name="n",
        )
        tf.raw_ops.PrintV2(input=tf.constant("unread"), name="says")
    path = tmp_path / "frozen.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    found = open_source(path, tmp_path)
    splits = [f"split{end}" for end in ("", ":1", ":2")]
    assert set(found.signature("serving_default").outputs) == {"top", "top:1", *splits, "sum", "n"}
    x = np.random.default_rng(1).normal(size=(2, 6)).astype(np.float32)
    result = run(found.saved_model, x=x)
    np.testing.assert_array_equal(result["top:1"], np.argsort(-x, axis=1)[:, :3])
    np.testing.assert_array_equal(result["top"], -np.sort(-x, axis=1)[:, :3])
    np.testing.assert_array_equal(np.concatenate([result[n] for n in splits], axis=1), x)
    # verify runs the graph itself, with outputs of the same names.
    same = load_signatures(FrozenGraph(path))["serving_default"]({"x": x})
    assert {name: value.tolist() for name, value in same.items()} == {
        name: value.tolist() for name, value in result.items()
    }


def test_an_op_of_a_user_has_one_output(tmp_path: Path) -> None:
    graph = tf.compat.v1.GraphDef(node=[{"name": "a", "op": "OpOfNobody"}])
    assert graph_outputs(graph, None, tmp_path) == {"a": "a:0"}
    graph = tf.compat.v1.GraphDef(node=[{"name": "a", "op": "PrintV2"}])
    with pytest.raises(ModelError, match="no node is an output"):
        graph_outputs(graph, None, tmp_path)


def test_meta_graph_and_checkpoint(tmp_path: Path) -> None:
    _, meta = session_graph(tmp_path)
    found = open_source(meta, tmp_path, outputs=["y"])
    assert found.kind == "meta_graph"
    np.testing.assert_allclose(run(found.saved_model, x=X)["y"], Y, rtol=1e-6)


def test_keras_file(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
    model.save(tmp_path / "model.keras")
    found = open_source(tmp_path / "model.keras", tmp_path)
    name = next(iter(found.signature("serving_default").inputs))
    result = next(iter(run(found.saved_model, **{name: X}).values()))
    np.testing.assert_allclose(result, model(X).numpy(), rtol=1e-5)


def test_saved_model_stays_where_it_is(tmp_path: Path) -> None:
    module = tf.Module()
    function = tf.function(lambda x: {"y": x + 1}).get_concrete_function(
        tf.TensorSpec([None], tf.float32, "x")
    )
    tf.saved_model.save(module, str(tmp_path / "m"), signatures={"a": function, "b": function})
    found = open_source(tmp_path / "m", tmp_path / "work")
    assert found.saved_model == tmp_path / "m"
    assert set(found.signatures) == {"a", "b"}
    with pytest.raises(ModelError, match="no signature 'serving_default'; it has 'a', 'b'"):
        found.signature("serving_default")


def test_bad_sources(tmp_path: Path) -> None:
    _, meta = session_graph(tmp_path)
    with pytest.raises(ModelError, match="does not exist: give a SavedModel"):
        kind_of(tmp_path / "none.pb")
    with pytest.raises(ModelError, match="of no known kind"):
        kind_of(tmp_path / "checkpoint")
    with pytest.raises(ModelError, match=r"give its MetaGraph, model\.ckpt\.meta"):
        kind_of(tmp_path / "model.ckpt")
    with pytest.raises(ModelError, match=r"no node 'half' for the output; .*'scope/half'"):
        open_source(tmp_path / "frozen.pb", tmp_path, outputs=["half"])
    with pytest.raises(ModelError, match=r"model\.ckpt\.meta has no signatures: name its outputs"):
        open_source(meta, tmp_path)
    for damaged in ("broken.keras", "broken.pb"):
        (tmp_path / damaged).write_bytes(b"\xff\x00no model")
        with pytest.raises(ModelError, match=damaged):
            open_source(tmp_path / damaged, tmp_path / "w")
    (tmp_path / "model.ckpt.index").unlink()
    with pytest.raises(ModelError, match="the checkpoint of .* cannot be restored"):
        open_source(meta, tmp_path, outputs=["y"])
