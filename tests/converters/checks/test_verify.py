"""verify compares two models: good copies pass, and every kind of difference fails by name."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copied_models import keras_file, session_graph

from converters.checks import model_pair
from converters.checks.runnable import FrozenGraph, load_signatures
from converters.checks.verify import verify
from converters.model.model_source import open_source
from converters.spec.thresholds import Thresholds
from converters.util.errors import (
    ModelError,
    SpecError,
    VerificationDataError,
    VerificationError,
)

tf = pytest.importorskip("tensorflow")
# converters.checks has a function of this name, which an ordinary import would give.
verify_module = importlib.import_module("converters.checks.verify")


class Net(tf.Module):
    """Two signatures: "scores" of one input, "pair" of two inputs and three outputs."""

    def __init__(self, noise: float = 0.0, flaw: str = "") -> None:
        super().__init__()
        rng = np.random.default_rng(3)
        kernel = rng.normal(size=(6, 8)) + noise * rng.normal(size=(6, 8))
        self.kernel = tf.Variable(kernel.astype(np.float32))
        self.flaw = flaw

    @tf.function(input_signature=[tf.TensorSpec([None, 6], tf.float32, name="x")])
    def scores(self, x: Any) -> Any:
        y = tf.matmul(x, self.kernel)
        if self.flaw == "nan":
            y = tf.where(y > 2.5, np.nan, y)
        if self.flaw == "shape":
            y = y[:, :4]
        if self.flaw == "dtype":
            y = tf.cast(y, tf.float16)
        if self.flaw == "raises":
            tf.debugging.assert_less(tf.reduce_max(x), 0.0, message="too large for me")
        return {"logits_2" if self.flaw == "name" else "logits": y}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 3], tf.float32, name="a"),
            tf.TensorSpec([None, 3], tf.int32, name="b"),
        ]
    )
    def pair(self, a: Any, b: Any) -> Any:
        total = tf.reduce_sum(a, axis=1) + self.kernel[0, 0]
        count = tf.reduce_sum(b, axis=1) + (1 if self.flaw == "integer" else 0)
        label = tf.where(count > 9, b"many", b"few")
        return {"total": total, "count": count, "label": label}


def save(path: Path, net: tf.Module, *names: str) -> str:
    functions = {name: getattr(net, name) for name in names or ("scores", "pair")}
    tf.saved_model.save(net, str(path), signatures=functions)
    return str(path)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save(tmp_path_factory.mktemp("native") / "model", Net())


@pytest.fixture(scope="module")
def close(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save(tmp_path_factory.mktemp("close") / "model", Net(noise=1e-3))


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save(tmp_path_factory.mktemp("far") / "model", Net(noise=0.3))


def test_a_copy_passes_on_random_inputs(native: str) -> None:
    report = verify(native, native, precision="FP32")
    assert report.passed and report.generated and not report.failures()
    report.raise_if_failed()
    assert report.batches == {"pair": 4, "scores": 4}
    outputs = {(r.signature, r.difference.name): r.difference for r in report.outputs}
    assert set(outputs) == {
        ("pair", "count"),
        ("pair", "label"),
        ("pair", "total"),
        ("scores", "logits"),
    }
    assert outputs["scores", "logits"].max_abs == 0
    assert outputs["scores", "logits"].count == 4 * 8
    assert outputs["scores", "logits"].top1 == 1
    assert outputs["pair", "label"].equal == 1


def test_noise_passes_coarse_bounds_and_fails_fine_ones(native: str, close: str, far: str) -> None:
    assert verify(native, close, precision="fp16").passed
    assert not verify(native, close, precision="FP32", thresholds=Thresholds(max_abs=1e-6)).passed
    report = verify(native, far, precision="FP16", num_batches=8, signatures=["scores"])
    assert not report.passed
    with pytest.raises(VerificationError) as caught:
        report.raise_if_failed()
    for word in ("'scores'", "'logits'", "max_abs", "threshold 0.02", "FP16", "--bisect"):
        assert word in str(caught.value)


def test_figures_are_those_of_the_models(native: str, far: str) -> None:
    data = np.random.default_rng(1).normal(size=(40, 6)).astype(np.float32)
    report = verify(native, far, data, signatures=["scores"], batch_size=7, precision="FP32")
    assert report.batches == {"scores": 6} and not report.generated
    left, right = data @ Net().kernel.numpy(), data @ Net(noise=0.3).kernel.numpy()
    diff = report.outputs[0].difference
    assert diff.count == left.size
    assert diff.max_abs == pytest.approx(np.abs(left - right).max(), rel=1e-4)
    assert diff.mean_abs == pytest.approx(np.abs(left - right).mean(), rel=1e-4)
    assert diff.top1 == pytest.approx((left.argmax(1) == right.argmax(1)).mean())
    assert report.outputs[0].thresholds.top1 is not None
    random = verify(native, far, signatures=["scores"], precision="FP32")
    assert random.outputs[0].thresholds.top1 is None


@pytest.mark.parametrize(
    ("flaw", "says"),
    [
        ("nan", "'logits': .* elements are NaN"),
        ("shape", r"'logits': the native output has shape \[4, 8\], .* \[4, 4\]"),
        ("dtype", "'logits': .*float16"),
        ("name", "converted model has no output 'logits'"),
        ("integer", "'count': only 0 of its int32 elements are equal"),
    ],
)
def test_every_difference_is_named(native: str, tmp_path: Path, flaw: str, says: str) -> None:
    flawed = save(tmp_path / "flawed", Net(flaw=flaw))
    shapes = [{"x": (4, 6)}, {"a": (4, 3), "b": (4, 3)}]
    report = verify(native, flawed, shapes=shapes, precision="INT8", num_batches=20)
    assert not report.passed
    with pytest.raises(VerificationError, match=says):
        report.raise_if_failed()


def test_a_lost_signature_fails(native: str, tmp_path: Path) -> None:
    one = save(tmp_path / "one", Net(), "scores")
    report = verify(native, one, precision="FP32")
    assert report.failures() == ["the converted model has no signature 'pair'"]
    assert verify(native, one, signatures=["scores"], precision="FP32").passed
    with pytest.raises(ModelError, match="no signature 'score'; it has: pair, scores"):
        verify(native, one, signatures=["score"], precision="FP32")


def test_a_model_that_fails_to_run_is_named(native: str, tmp_path: Path) -> None:
    flawed = save(tmp_path / "flawed", Net(flaw="raises"), "scores")
    with pytest.raises(
        VerificationError, match="converted model failed in signature 'scores'"
    ) as e:
        verify(native, flawed, signatures=["scores"], precision="FP32")
    assert "batch 1 (x [1, 6])" in str(e.value)
    assert isinstance(e.value.__cause__, tf.errors.InvalidArgumentError)


def test_every_kind_of_data(native: str, tmp_path: Path) -> None:
    a, b = np.ones((6, 3), np.float32), np.arange(18, dtype=np.int32).reshape(6, 3)
    np.savez(tmp_path / "pair.npz", a=a, b=b)
    dataset = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
    for data, count in (
        (tmp_path / "pair.npz", 3),
        ({"a": a, "b": b}, 3),
        (dataset, 2),
        (lambda: ({"b": b, "a": a} for _ in range(5)), 5),
        ([(a, b)], 1),
    ):
        report = verify(native, native, data, signatures=["pair"], batch_size=2, precision="FP32")
        assert report.passed and report.batches == {"pair": count}
    by_signature = {"pair": [(a, b)], "scores": np.ones((2, 6), np.float32)}
    report = verify(native, native, by_signature, precision="FP32")
    assert report.batches == {"pair": 1, "scores": 1} and not report.generated
    report = verify(native, native, {"pair": [(a, b)]}, precision="FP32")
    assert report.batches == {"pair": 1, "scores": 4} and report.generated


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], "empty"),
        ([np.ones((2, 5), np.float32)], "2x5, the model takes \\?x6"),
        ([np.ones((2, 6), np.float64)], "float64, the model takes float32"),
        (lambda: iter([1 / 0]), "division by zero"),
    ],
)
def test_bad_data(native: str, data: Any, says: str) -> None:
    with pytest.raises(VerificationError, match=says):
        verify(native, native, data, signatures=["scores"], precision="FP32")


def test_nan_in_the_data_is_compared(native: str) -> None:
    data = np.ones((2, 6), np.float32)
    data[0, 0] = np.nan
    report = verify(native, native, data, signatures=["scores"], precision="FP32")
    assert report.outputs[0].difference.finite


def test_memory_holds_one_batch(native: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """verify makes a batch only after both models have run the one before."""
    order: list[str] = []
    real = model_pair.run_batch

    def counted(model: Any, batch: Any, role: str, index: int) -> Any:
        order.append(f"{role} {index}")
        return real(model, batch, role, index)

    def data() -> Iterator[Any]:
        for index in range(3):
            order.append(f"made {index}")
            yield np.ones((1, 6), np.float32)

    monkeypatch.setattr(model_pair, "run_batch", counted)
    steps: list[int] = []
    verify(
        native,
        native,
        data,
        signatures=["scores"],
        precision="FP32",
        progress=lambda: steps.append(1),
    )
    assert order == [f"{what} {i}" for i in range(3) for what in ("made", "native", "converted")]
    assert len(steps) == 3


def test_frozen_graphs_and_functions(tmp_path: Path) -> None:
    net = Net()
    kernel = net.kernel.numpy()
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 6], name="x")
        tf.matmul(x, tf.constant(kernel), name="logits")
    path = tmp_path / "frozen.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    frozen = FrozenGraph(path, ["logits:0"])

    def function(x: Any) -> Any:
        return x @ kernel

    for left, right in ((frozen, function), (function, frozen), (frozen, frozen)):
        report = verify(left, right, precision="FP32", num_batches=2)
        assert report.passed, str(report)
        assert [r.difference.name for r in report.outputs] == ["logits"]
    one = save(tmp_path / "one", net, "scores")
    report = verify(one, lambda x: {"logits": x @ kernel * 1.1}, precision="FP32")
    assert not report.passed and report.outputs[0].signature == "scores"
    assert verify(one, net.scores.get_concrete_function(), precision="FP32").passed
    # A function does not tell its inputs: shapes are of the converted model's.
    report = verify(function, one, shapes=[{"x": (3, 6)}, {"x": (5, 6)}], num_batches=1)
    assert report.passed and report.outputs[0].difference.count == (3 + 5) * 8
    with pytest.raises(VerificationError, match="z:3x6 fit no signature's inputs .scores: x."):
        verify(function, one, shapes={"z": (3, 6)}, precision="FP32")
    with pytest.raises(VerificationError, match="neither model says"):
        verify(function, function, precision="FP32")
    with pytest.raises(ModelError, match="returned a tuple"):
        verify(one, lambda x: (x, x), precision="FP32")


@pytest.mark.parametrize(
    ("outputs", "inputs", "says"),
    [
        ([], None, "name the outputs"),
        (["z"], None, "no node 'z' to be an output"),
        (["y"], ["w"], "no node 'w' to be an input"),
        (["y:3"], None, "cannot be loaded"),
    ],
)
def test_bad_frozen_graphs(tmp_path: Path, outputs: Any, inputs: Any, says: str) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        tf.identity(x, name="y")
    path = tmp_path / "frozen.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    with pytest.raises(ModelError, match=says):
        load_signatures(FrozenGraph(path, outputs, inputs))


def test_bad_models(native: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no-model"):
        verify(native, tmp_path / "no-model", precision="FP32")
    module = tf.Module()
    tf.saved_model.save(module, str(tmp_path / "bare"))
    with pytest.raises(ModelError, match="no signature"):
        verify(tmp_path / "bare", native, precision="FP32")
    (tmp_path / "frozen.pb").write_bytes(
        tf.compat.v1.GraphDef(node=[{"name": "x", "op": "NoOp"}]).SerializeToString()
    )
    with pytest.raises(ModelError, match="FrozenGraph"):
        verify(tmp_path / "frozen.pb", native, precision="FP32")
    with pytest.raises(SpecError, match="FP8"):
        verify(native, native, precision="FP8")


def test_an_engine_without_tftrt_is_explained(tmp_path: Path) -> None:
    """TensorFlow 2.18 and later do not know TRTEngineOp. verify's error must say so."""
    path = Path(save(tmp_path / "model", Net(), "scores")) / "saved_model.pb"
    from tensorflow.core.protobuf import saved_model_pb2

    message = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    library = message.meta_graphs[0].graph_def.library
    for function in library.function:
        for node in function.node_def:
            if node.op == "MatMul":
                node.op = "TRTEngineOp"
                node.attr["precision_mode"].s = b"INT8"
    message.meta_graphs[0].meta_info_def.stripped_op_list.op.add(name="TRTEngineOp")
    path.write_bytes(message.SerializeToString())
    from converters.util.errors import ConverterError

    with pytest.raises(ConverterError, match="TRTEngineOp|TensorRT engines|cannot be loaded"):
        verify(path.parent, path.parent)
    assert verify_module.precision_of(str(path.parent), None) == "INT8"


def test_the_precision_is_read_from_the_engines(native: str) -> None:
    assert verify(native, native, signatures=["pair"]).precision == "FP32"


def test_child_processes(native: str, far: str) -> None:
    arguments: dict[str, Any] = {"precision": "FP16", "num_batches": 3}
    report = verify(native, far, separate_processes=True, **arguments)
    same = verify(native, far, **arguments)
    for one, other in zip(report.outputs, same.outputs):
        # Another number of threads adds in another order, so the figures differ a little.
        for name in ("max_abs", "mean_abs", "max_rel", "cosine", "scale"):
            figure = getattr(other.difference, name)
            assert getattr(one.difference, name) == pytest.approx(figure, rel=1e-3)
        assert (one.signature, one.passed) == (other.signature, other.passed)
        assert one.difference.equal == other.difference.equal
    assert len(report.outputs) == 4
    assert not report.passed and report.batches == {"pair": 3, "scores": 3}


def test_a_keras_model_against_a_perturbed_copy(tmp_path: Path) -> None:
    drawn = tf.keras.initializers.GlorotUniform
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((8, 8, 3), name="image"),
            tf.keras.layers.Conv2D(4, 3, activation="relu", kernel_initializer=drawn(1)),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(7, activation="softmax", kernel_initializer=drawn(2)),
        ]
    )
    paths = []
    for scale in (1.0, 1.0001, 1.3):
        model.set_weights([weights * scale for weights in model.get_weights()])
        paths.append(tmp_path / str(scale))
        tf.saved_model.save(model, str(paths[-1]))
    data = np.random.default_rng(0).uniform(size=(16, 8, 8, 3)).astype(np.float32)
    report = verify(paths[0], paths[1], data, precision="FP16")
    assert report.passed, str(report)
    assert report.outputs[0].difference.top1 == 1.0
    assert 0 < report.outputs[0].difference.max_abs < 0.01
    assert not verify(paths[0], paths[2], data, precision="FP16").passed


@pytest.mark.parametrize("kind", ["keras", "meta_graph"])
def test_natives_that_are_exported_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """NATIVE may be any model that `convert` takes. `verify` exports it as a SavedModel first. The
    converted model of this test is such an export."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    made = keras_file(tmp_path / "a.keras") if kind == "keras" else session_graph(tmp_path)[1]
    outputs = ["y"] if kind == "meta_graph" else None
    same = open_source(made, tmp_path / "same", outputs=outputs).saved_model
    report = verify(made, same, shapes={"x": (4, 3)}, outputs=outputs, precision=None)
    assert report.passed and report.outputs and not report.problems
    assert not list((tmp_path / "tmp").glob("trt-convert-*"))
    if kind == "meta_graph":
        with pytest.raises(ModelError, match="name its outputs .*--output"):
            verify(made, same)
        made.with_suffix(".index").unlink()
        with pytest.raises(ModelError, match="the checkpoint of .* cannot be restored"):
            verify(made, same, outputs=outputs)
    else:
        other = open_source(keras_file(tmp_path / "b.keras"), tmp_path / "other").saved_model
        assert not verify(made, other, shapes={"x": (4, 3)}).passed


def test_a_native_that_a_child_exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    made = session_graph(tmp_path)[1]
    same = open_source(made, tmp_path / "same", outputs=["y"]).saved_model
    report = verify(made, same, shapes={"x": (4, 3)}, outputs=["y"], separate_processes=True)
    assert report.passed and report.outputs and not report.problems
    assert not list((tmp_path / "tmp").glob("trt-convert-*"))


def test_functions_do_not_go_into_child_processes(native: str) -> None:
    with pytest.raises(VerificationError, match="cannot run in another process"):
        verify(native, lambda x: x, precision="FP32", separate_processes=True)


def test_shapes(native: str) -> None:
    report = verify(
        native,
        native,
        shapes=[{"x": (2, 6)}, {"x": (5, 6)}],
        signatures=["scores"],
        num_batches=1,
        precision="FP32",
    )
    # verify runs all given shapes, although num_batches is 1.
    assert report.outputs[0].difference.count == 7 * 8
    with pytest.raises(VerificationError, match="2x5 does not fit the model's \\?x6"):
        verify(native, native, shapes={"x": (2, 5)}, precision="FP32")
    with pytest.raises(VerificationError, match="q:2x5 fit no signature's inputs"):
        verify(native, native, shapes={"q": (2, 5)}, precision="FP32")


class Two(tf.Module):
    """Two of the signatures have an input of the same name but another size."""

    @tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32, "x")])
    def short(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x + 1}

    @tf.function(input_signature=[tf.TensorSpec([None, 16], tf.float32, "x")])
    def long(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x + 1}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 8], tf.float32, "x"),
            tf.TensorSpec([None, 8], tf.float32, "z"),
        ]
    )
    def both(self, x: tf.Tensor, z: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x + z}


def test_shapes_of_several_signatures(tmp_path: Path) -> None:
    model = save(tmp_path / "two", Two(), "short", "long", "both")
    sets = {
        "short": [{"x": (3, 8)}],
        "long": [{"x": (4, 16)}],
        "both": [{"x": (5, 8), "z": (5, 8)}],
    }
    together = [shapes for own in sets.values() for shapes in own]
    for shapes in (sets, together):
        report = verify(model, model, shapes=shapes, num_batches=1, precision="FP32")
        counts = {found.signature: found.difference.count for found in report.outputs}
        assert counts == {"short": 3 * 8, "long": 4 * 16, "both": 5 * 8}
    with pytest.raises(VerificationError, match="2x5 does not fit the model's"):
        verify(model, model, shapes={"x": (2, 5)}, precision="FP32")
    with pytest.raises(
        VerificationError, match="no signature 'tall'; there are: both, long, short"
    ):
        verify(model, model, shapes={"tall": sets["short"]}, precision="FP32")


@pytest.mark.parametrize(
    ("options", "says"),
    [({"num_batches": 0}, "num_batches is 0"), ({"seed": -1}, "seed is -1")],
)
def test_numbers_that_cannot_be(native: str, options: Any, says: str) -> None:
    with pytest.raises(VerificationError, match=says):
        verify(native, native, precision="FP32", **options)


def test_an_output_beside_one_that_is_empty(tmp_path: Path) -> None:
    class Two(tf.Module):
        def __init__(self, noise: float) -> None:
            super().__init__()
            self.noise = noise

        @tf.function(input_signature=[tf.TensorSpec([None, 6], tf.float32, "x")])
        def both(self, x: Any) -> Any:
            return {"y": x + self.noise, "none": x[:0]}

    one, other = (save(tmp_path / str(noise), Two(noise), "both") for noise in (0, 1))
    report = verify(one, one, precision="FP32")
    assert report.uncompared and not report.passed
    (row,) = (line for line in str(report).splitlines() if line.split()[1:2] == ["none"])
    assert set(row.split()[2:-1]) == {"-"} and row.endswith("FAILED")
    with pytest.raises(VerificationDataError, match="does not cover all outputs") as caught:
        report.raise_if_failed()
    assert "'y'" not in str(caught.value) and "--bisect" not in str(caught.value)
    # A real difference is told as such.
    with pytest.raises(VerificationError, match="differs from the native one") as differs:
        verify(one, other, precision="FP32").raise_if_failed()
    assert not isinstance(differs.value, VerificationDataError)
    assert "'none': nothing was compared" in str(differs.value)


def test_report_as_text_and_json(native: str, far: str) -> None:
    report = verify(native, far, precision="FP16", num_batches=2)
    text = str(report)
    assert "FP16 against native on random inputs, seed 0" in text
    (line,) = [line for line in text.splitlines() if line.startswith("scores ")]
    assert line.split()[:2] == ["scores", "logits"] and line.endswith("FAILED")
    assert "failed:" in text and "threshold" in text
    values = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert values["passed"] is False and values["batches"] == {"pair": 2, "scores": 2}
    row = next(row for row in values["outputs"] if row["name"] == "logits")
    assert row["thresholds"]["max_abs"] == 0.02 and row["failures"]
    assert "passed" in str(verify(native, native, precision="FP32"))
