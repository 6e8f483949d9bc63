"""Two models under comparison whose inputs may have different names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from converters.checks.runnable import FrozenGraph, signature_specs
from converters.checks.verify import verify
from converters.model.model_source import open_source
from converters.util.errors import VerificationError


def graph(path: Path, *names: str) -> Path:
    """Writes a frozen graph with these inputs. Its output is the first input minus 10 times the
    second, so a test notices if the inputs change places."""
    made = tf.compat.v1.GraphDef()
    with tf.Graph().as_default() as pattern:
        tf.compat.v1.placeholder(tf.float32, [None, 3], name="p")
    for name in names:
        made.node.add().CopyFrom(pattern.as_graph_def().node[0])
        made.node[-1].name = name
    one = made.node.add(name="ten", op="Const")
    one.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(10.0))
    for name, op, inputs in (
        ("scaled", "Mul", [names[1], "ten"]),
        ("y", "Sub", [names[0], "scaled"]),
    ):
        made.node.add(name=name, op=op, input=inputs)
    for node in made.node:
        if node.op in ("Mul", "Sub"):
            node.attr["T"].type = 1
        elif node.op == "Const":
            node.attr["dtype"].type = 1
    path.write_bytes(made.SerializeToString())
    return path


NAME = "image-in"
NAMES = [("in", "class"), ("import/x", "import_x"), ("a", "b")]


@pytest.mark.parametrize("names", NAMES, ids=" ".join)
def test_a_graph_against_its_export(tmp_path: Path, names: tuple[str, str]) -> None:
    path = graph(tmp_path / "frozen.pb", *names)
    found = open_source(path, tmp_path)
    export = found.saved_model
    for models in ((FrozenGraph(path), export), (export, FrozenGraph(path))):
        report = verify(*models, num_batches=1)
        assert report.passed and report.outputs[0].difference.count, str(report)
    keys = [found.renamed.get(name, name) for name in names]
    for given in (names, keys):
        shapes = dict.fromkeys(given, (7, 3))
        report = verify(FrozenGraph(path), export, shapes=shapes, num_batches=1)
        assert report.outputs[0].difference.count == 21
    data = {key: np.full((2, 3), value, np.float32) for key, value in zip(keys, (1, 2))}
    assert verify(FrozenGraph(path), export, data).passed


def test_a_graph_against_its_export_in_children(tmp_path: Path) -> None:
    path = graph(tmp_path / "frozen.pb", "import/x", "import_x")
    export = open_source(path, tmp_path).saved_model
    report = verify(FrozenGraph(path), export, num_batches=1, separate_processes=True)
    assert report.passed and report.outputs[0].difference.count, str(report)


def test_two_graphs_keep_their_names(tmp_path: Path) -> None:
    frozen = FrozenGraph(graph(tmp_path / "frozen.pb", "in", "import/x"))
    data = {"in": np.ones((2, 3), np.float32), "import/x": np.ones((2, 3), np.float32)}
    assert verify(frozen, frozen, data).passed


def test_models_of_other_inputs(tmp_path: Path) -> None:
    one = open_source(graph(tmp_path / "a.pb", "x", "y_in"), tmp_path / "a").saved_model
    other = open_source(graph(tmp_path / "b.pb", "x", "z"), tmp_path / "b").saved_model
    says = "'serving_default': the native model takes x, y_in, the converted one x, z"
    for native in (one, FrozenGraph(tmp_path / "a.pb")):
        with pytest.raises(VerificationError, match=says):
            verify(native, other)


def test_a_graph_that_lost_a_placeholder_that_nothing_read(tmp_path: Path) -> None:
    whole, pruned = tmp_path / "whole.pb", tmp_path / "pruned.pb"
    graph(whole, "x", "z", "is_training")
    graph(pruned, "x", "z")
    data = {name: np.ones((2, 3), np.float32) for name in ("x", "z", "is_training")}
    assert verify(FrozenGraph(whole, ["y"]), FrozenGraph(pruned, ["y"]), data).passed


class Hyphen(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "image-in")])
    def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": 2 * x}


def test_names_that_tensorflow_writes_in_another_way(tmp_path: Path) -> None:
    """A converter loads a function from a SavedModel and saves it again. TensorFlow then writes
    the input's name differently."""
    native, again = str(tmp_path / "native"), str(tmp_path / "again")
    module = Hyphen()
    tf.saved_model.save(module, native, signatures=module.__call__.get_concrete_function())
    loaded = tf.saved_model.load(native)
    other = tf.Module()
    other.serve = tf.function(
        lambda image_in: loaded.signatures["serving_default"](**{NAME: image_in}),
        input_signature=[tf.TensorSpec([None, 3], tf.float32, "image_in")],
    )
    other.loaded = loaded
    tf.saved_model.save(other, again, signatures=other.serve)
    assert list(signature_specs(native)["serving_default"]) == [NAME]
    assert list(signature_specs(again)["serving_default"]) == ["image_in"]
    for models in ((native, again), (again, native)):
        report = verify(*models, num_batches=1)
        assert report.passed and report.outputs[0].difference.count, str(report)


class Words(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def words(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.strings.length(text)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def numbers(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x + 1}


def test_a_signature_of_strings_is_named(tmp_path: Path) -> None:
    module = Words()
    functions = {"words": module.words, "numbers": module.numbers}
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=functions)
    model = str(tmp_path / "m")
    with pytest.raises(VerificationError, match="signature 'words': .*strings.*--signature"):
        verify(model, model)
    assert verify(model, model, signatures=["numbers"]).passed
