"""inspect's advice: a well-made network gets none, and each rule names the faulty node."""

from __future__ import annotations

import dataclasses
import html
import json
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from trt_graphs import GraphMaker, with_plans

from converters.cli.app import main
from converters.model.trt_graph import Signature
from converters.report.advice import RULES
from converters.report.inspect_model import ModelReport, inspect_model
from converters.report.report_data import Advice
from converters.segments.segmenter import SegmenterOptions

tf = pytest.importorskip("tensorflow")
ROOT = Path(__file__).resolve().parents[3]
CONVERTED = ROOT / "tests" / "golden" / "converted"
layers = tf.keras.layers


def exported(folder: Path, image: Any, made: Any) -> Path:
    tf.keras.Model(image, made).export(str(folder / "model"), verbose=False)
    return folder / "model"


def report_of(
    folder: Path,
    compute: Callable[..., Any],
    *shapes: list[int | None],
    precision: str = "FP32",
) -> ModelReport:
    """Returns the report of a frozen graph of `compute`, a function of float32 tensors."""
    from tensorflow.python.framework import convert_to_constants

    specs = [tf.TensorSpec(shape, tf.float32, name=f"x{i}") for i, shape in enumerate(shapes)]
    made = tf.function(compute, input_signature=specs).get_concrete_function()
    frozen = convert_to_constants.convert_variables_to_constants_v2(made, lower_control_flow=False)
    path = folder / "graph.pb"
    path.write_bytes(frozen.graph.as_graph_def(add_shapes=True).SerializeToString())
    return inspect_model(path, ask=False, options=SegmenterOptions(precision))


def found(report: ModelReport, rule: str) -> list[Advice]:
    return [advice for advice in report.advice if advice.rule == rule]


def only(report: ModelReport, rule: str) -> Advice:
    (advice,) = found(report, rule)
    return advice


def weight(*shape: int) -> Any:
    return tf.constant(np.random.default_rng(0).normal(size=shape), tf.float32)


def residual(x: Any, width: int, steps: int) -> Any:
    short = layers.Conv2D(4 * width, 1, strides=steps)(x)
    for size, stride in ((1, steps), (3, 1)):
        x = layers.Conv2D(width, size, strides=stride, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return layers.ReLU()(layers.Conv2D(4 * width, 1)(x) + short)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ResNet of pictures with 3 channels and 10 classes: what the task gives is no fault."""
    image = tf.keras.Input((64, 64, 3))
    x = layers.Conv2D(64, 7, strides=2, padding="same")(image)
    x = layers.MaxPooling2D(3, 2)(layers.ReLU()(layers.BatchNormalization()(x)))
    x = residual(residual(x, 64, 1), 128, 2)
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    made = layers.Softmax()(layers.Dense(10)(x))
    return exported(tmp_path_factory.mktemp("good"), image, made)


@pytest.mark.parametrize("precision", ["FP32", "FP16", "INT8"])
def test_a_well_made_network_needs_no_advice(good: Path, precision: str) -> None:
    report = inspect_model(good, ask=False, options=SegmenterOptions(precision))
    assert report.advice == ()
    assert "no rule" in report.advice_text()


def test_odd_channels_are_named_with_their_waste(tmp_path: Path) -> None:
    image = tf.keras.Input((32, 32, 3))
    x = layers.Conv2D(30, 3, name="odd_first")(image)
    x = layers.Conv2D(50, 3, name="odd_middle")(x)
    x = layers.Conv2DTranspose(64, 2, name="up")(x)
    x = layers.DepthwiseConv2D(3, name="depthwise")(x)
    squeezed = layers.Conv2D(6, 1)(layers.GlobalAveragePooling2D(keepdims=True)(x))
    x = x * layers.Conv2D(64, 1, activation="sigmoid")(squeezed)
    x = layers.Conv2D(64, 3, name="even")(x)
    made = layers.Dense(1001, name="head")(layers.GlobalAveragePooling2D()(x))
    report = inspect_model(exported(tmp_path, image, made), ask=False)
    advice = found(report, "tensor-core-channels")
    assert [[name.split("/")[2] for name in a.nodes] for a in advice] == [
        ["odd_first_1"],
        ["odd_middle_1"],
        ["up_1"],
    ]
    # 30 of 32 times 50 of 56.
    assert "30 input channels and 50 output" in advice[1].reason and "16 %" in advice[1].reason
    assert "32 and 56" in advice[1].cure
    assert advice[2].reason.startswith("50 input channels: ")
    assert advice[0].reason.startswith("30 output channels: ")  # 3 are the picture's
    assert "1001" in only(report, "tensor-core-matrices").reason
    as_int8 = inspect_model(report.path, ask=False, options=SegmenterOptions("INT8"))
    assert "multiples of 32" in found(as_int8, "tensor-core-channels")[0].reason


def test_matrix_products_go_by_k_and_n(tmp_path: Path) -> None:
    def compute(x: Any, y: Any) -> Any:
        x = tf.matmul(x, weight(100, 20), name="first")  # 100 is the input's
        x = tf.matmul(x, weight(96, 20), transpose_b=True, name="turned")
        x = tf.matmul(x, weight(96, 48), name="even")
        both = tf.matmul(tf.reshape(x, [-1, 6, 8]), y, name="both")  # K is 8, N is 12
        return tf.nn.relu(tf.reshape(both, [-1, 72])) @ weight(72, 512)

    report = report_of(tmp_path, compute, [None, 100], [None, 8, 12])
    advice = {a.nodes: a.reason for a in found(report, "tensor-core-matrices")}
    assert set(advice) == {("first",), ("turned",), ("both",)}
    assert "20 inner elements (K): " in advice[("turned",)]
    assert "12 columns (N): " in advice[("both",)]


def test_training_mode_is_found_in_keras_layers(tmp_path: Path) -> None:
    image = tf.keras.Input((16, 16, 8))
    x = layers.BatchNormalization(name="norm")(layers.Conv2D(16, 3)(image), training=True)
    made = layers.Dropout(0.3, name="drop")(x, training=True)
    report = inspect_model(exported(tmp_path, image, made), ask=False)
    (mean,) = only(report, "training-batch-norm").nodes
    assert mean.endswith("norm_1/moments/mean")
    (random,) = only(report, "training-dropout").nodes
    assert "drop_1/" in random and random.endswith("StatelessRandomUniformV2")


def test_fused_batch_norm_trains_unless_it_says_otherwise(tmp_path: Path) -> None:
    maker = GraphMaker()
    last = maker.node("Placeholder", "x")
    last = maker.node("FusedBatchNormV3", "silent", [last])
    last = maker.node("FusedBatchNormV3", "yes", [last], is_training=True)
    last = maker.node("FusedBatchNormV3", "no", [last], is_training=False)
    maker.node("Identity", "y", [maker.node("Relu", "end", [last])])
    report = inspect_model(maker.write(tmp_path / "g.pb"), ask=False)
    assert only(report, "training-batch-norm").nodes == ("silent", "yes")


def test_the_learning_phase_is_no_common_branch(tmp_path: Path) -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.node("PlaceholderWithDefault", "keras_learning_phase", [], "bool", ())
    maker.node("Placeholder", "flip", [], "bool", ())
    maker.node("LogicalNot", "serves", ["keras_learning_phase"], "bool", ())
    maker.node("Switch", "cond/Switch", ["x", "serves"])
    maker.node("Switch", "other/Switch", ["x", "flip"])
    maker.node("Merge", "y", ["cond/Switch:1", "other/Switch:1"])
    report = inspect_model(maker.write(tmp_path / "g.pb"), ask=False)
    assert only(report, "learning-phase").nodes == ("keras_learning_phase", "cond/Switch")
    assert only(report, "control-flow").nodes == ("other/Switch",)


def body(x: Any) -> Any:
    """Several ops that TF-TRT converts."""
    for _ in range(6):
        x = tf.nn.relu(tf.sigmoid(x) * 0.5)
    return x


def test_what_cuts_engines_is_named_with_its_cure(tmp_path: Path) -> None:
    def compute(x: Any) -> Any:
        x = body(x)
        x = tf.gather_nd(x, [[0, 1], [1, 1]], name="picked")[..., None] * x
        x = tf.cast(tf.math.cumsum(tf.cast(body(x), tf.float64), name="sum64"), tf.float32)
        x = tf.while_loop(lambda v: tf.reduce_sum(v) < 5.0, lambda v: [v + 1.0], [body(x)])[0]
        return tf.math.cumsum(body(x), name="last")

    report = report_of(tmp_path, compute, [None, 8])
    cut = {advice.nodes: advice for advice in found(report, "engines-cut")}
    assert "tf.gather" in cut[("picked",)].cure and "TF-TRT has no" in cut[("picked",)].reason
    assert ("sum64",) in cut  # and not the last one, which has no engine behind it
    assert [name.split("/")[0] for name in only(report, "control-flow").nodes] == ["while"]
    assert all("double" in a.reason or "float64" in a.reason for a in found(report, "data-types"))
    assert found(report, "data-types")
    little = only(report_of(tmp_path, tf.math.cumsum, [None, 8]), "less-than-90-percent")
    assert little.nodes and "Cumsum (1)" in little.reason
    assert "0.0 %" in little.reason


def test_small_segments_and_small_engines(tmp_path: Path) -> None:
    def compute(x: Any) -> Any:
        for _ in range(100):
            x = tf.nn.relu(tf.sigmoid(x) * 0.5)
        x = tf.tanh(tf.math.cumsum(x), name="alone")
        return tf.nn.relu(tf.exp(tf.sigmoid(tf.tanh(tf.math.cumsum(x)))), name="few")

    report = report_of(tmp_path, compute, [None, 8])
    assert only(report, "small-segments").nodes == ("alone",)
    few = only(report, "small-engines")
    assert few.nodes[0] == "Tanh" and "1 of 2 engines" in few.reason
    assert found(report, "less-than-90-percent") == []


def test_segments_beyond_the_limit(tmp_path: Path) -> None:
    def compute(x: Any) -> Any:
        return body(tf.math.cumsum(body(tf.math.cumsum(body(x)))))

    report_of(tmp_path, compute, [None, 8])
    options = SegmenterOptions(max_engines=1)
    report = inspect_model(tmp_path / "graph.pb", ask=False, options=options)
    assert len(only(report, "engine-limit").nodes) > 10


def test_slow_layers(tmp_path: Path) -> None:
    def compute(x: Any) -> Any:
        x = tf.nn.relu(tf.gather(x, [1, 0, 2], axis=2, name="third"))
        x = tf.nn.relu(tf.gather(x, [0], axis=0, name="first"))
        pooled = tf.reduce_mean(x, axis=[1, 2], name="pooled")
        x = tf.reduce_max(x, axis=1, name="middle")
        x = tf.reduce_mean(x, axis=-1, name="tail") * pooled[:, :1]
        x = tf.tile(x, [1, 200])
        many, few = tf.math.top_k(x, 300, name="many"), tf.math.top_k(x, 5, name="few")
        return tf.nn.relu(many.values) + tf.nn.relu(few.values[:, :1])

    report = report_of(tmp_path, compute, [None, 512, 512, 8])
    assert only(report, "gather-axis").nodes == ("third",)
    assert "axis 2" in only(report, "gather-axis").reason
    assert only(report, "reduced-axes").nodes == ("middle",)
    assert only(report, "large-top-k").nodes == ("many",)


def test_a_batch_of_one(tmp_path: Path) -> None:
    advice = only(report_of(tmp_path, body, [1, 8]), "batch-of-one")
    assert advice.nodes == ("x0",)
    for shape in ([None, 8], [2, 8], [], [None, 1]):
        assert not found(report_of(tmp_path, body, shape), "batch-of-one")


def with_batch(model: Path, implicit: bool, fixed: bool) -> Path:
    """Changes the engines of a SavedModel to an implicit batch, or to inputs of batch 1."""
    from tensorflow.core.protobuf import saved_model_pb2

    path = model / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for function in saved.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            if node.op == "TRTEngineOp":
                node.attr["_use_implicit_batch"].b = implicit
                for shape in node.attr["input_shapes"].list.shape if fixed else ():
                    shape.dim[0].size = 1
    path.write_bytes(saved.SerializeToString())
    return model


@pytest.mark.parametrize(
    ("implicit", "fixed", "batches", "advised"),
    [
        (True, False, (1,), True),
        (True, False, (1, 8), False),
        (False, True, (1,), True),
        # A plan that is first built for a batch of 1 may serve a range.
        (False, False, (1,), False),
    ],
)
def test_engines_for_a_batch_of_one(
    tmp_path: Path, implicit: bool, fixed: bool, batches: tuple[int, ...], advised: bool
) -> None:
    model = with_batch(with_plans("two_engines", tmp_path, batches), implicit, fixed)
    report = inspect_model(model, ask=False)
    assert {engine.batch for engine in report.engines} == {"implicit" if implicit else "explicit"}
    names = [(engine.name,) for engine in report.engines] if advised else []
    assert [advice.nodes for advice in found(report, "batch-of-one")] == names


def test_engines_are_looked_into(tmp_path: Path) -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    segment = {"normal": "FusedBatchNormV3", "after": "Relu"}
    maker.engine("TRTEngineOp_0", ["x"], segment, precision_mode=b"FP16")
    maker.node("Identity", "y", ["TRTEngineOp_0"])
    report = inspect_model(maker.write(tmp_path / "g.pb"), ask=False)
    assert only(report, "training-batch-norm").nodes == ("TRTEngineOp_0/normal",)
    # The filters of a frozen segment are its constants. INT8 takes 32 channels.
    first, second = inspect_model(CONVERTED / "int8", ask=False).advice
    assert first.rule == second.rule == "tensor-core-channels"
    assert first.reason.startswith("16 output channels: INT8 Tensor Cores take multiples of 32")
    assert second.reason.startswith("16 input channels: INT8")


def test_a_damaged_graph_that_goes_round(tmp_path: Path) -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.node("Identity", "a", ["b"], shape=None)
    maker.node("Identity", "b", ["a"], shape=None)
    # Each rule that follows a tensor to what it is made of.
    maker.node("MatMul", "product", ["x", "a"])
    maker.node("GatherV2", "gather", ["product", "x", "a"])
    maker.node("Sum", "y", ["gather", "a"])
    assert inspect_model(maker.write(tmp_path / "graph.pb"), ask=False).advice


@pytest.mark.parametrize("k", ["one number for 2**40", "no integers", "cut off", "a negative size"])
def test_damaged_constants_are_unknown(tmp_path: Path, k: str) -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.node("Const", "k", dtype="int32", shape=())
    value = maker.graph.node[-1].attr["value"].tensor
    value.dtype = 3
    value.int_val.append(1000)
    maker.node("Relu", "a", ["x"])
    maker.node("TopKV2", "top", ["a", "k"])
    maker.node("Relu", "b", ["top"])
    maker.node("Relu", "c", ["b"])
    maker.node("Identity", "y", ["c"])
    path = maker.write(tmp_path / "graph.pb")
    assert only(inspect_model(path, ask=False), "large-top-k").nodes == ("top",)
    if k == "one number for 2**40":
        value.tensor_shape.dim.add(size=2**40)
    elif k == "no integers":
        value.dtype = 1
        value.float_val.append(float("inf"))
    elif k == "cut off":
        value.tensor_content = b"abc"
    else:
        value.tensor_shape.dim.add(size=-7)
    maker.write(path)
    assert not found(inspect_model(path, ask=False), "large-top-k")


def test_every_form_has_the_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    maker = GraphMaker()
    last = maker.node("Placeholder", "x")
    last = maker.node("FusedBatchNorm", "norm<1>", [last])
    maker.node("Identity", "y", [maker.node("Relu", "end", [last])])
    path = str(maker.write(tmp_path / "g.pb"))
    report = inspect_model(path, ask=False)
    plain = {advice["rule"]: advice for advice in report.to_json()["advice"]}
    assert plain["training-batch-norm"]["nodes"] == ("norm<1>",)
    page = report.to_html()
    assert "norm&lt;1&gt;" in page and "<h2>Advice</h2>" in page
    assert main(["inspect", path, "--no-ask"]) == 0
    assert "training-batch-norm" not in capsys.readouterr().out
    assert main(["inspect", path, "--no-ask", "--advice"]) == 0
    text = capsys.readouterr().out
    for word in ("training-batch-norm: norm<1>", "why: ", "cure: ", "source: TF-TRT"):
        assert word in text
    assert main(["inspect", path, "--no-ask", "--advice", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["advice"]
    assert "training-batch-norm" in [advice["rule"] for advice in said]


def test_advice_names_its_signature_among_several(tmp_path: Path) -> None:
    report = report_of(tmp_path, body, [1, 8])
    advice = only(report, "batch-of-one")
    names = ("a<b>", "c", "")  # "" is advice on all of them
    each = tuple(dataclasses.replace(advice, signature=name) for name in names)
    signatures = {name: Signature(name, {}, {}) for name in names[:2]}
    several = dataclasses.replace(report, signatures=signatures, advice=each)
    lines = several.advice_text().splitlines()
    assert lines[1::4] == [f"  batch-of-one: {place}x0" for place in ("a<b>: ", "c: ", "")]
    page, single = several.to_html(), report.to_html()
    reason = html.escape(advice.reason)
    for place in ("a&lt;b&gt;: ", "c: ", ""):
        assert page.count(f"<td>{place}{reason}") == 1
    assert f"<td>{reason}" in single


def test_the_page_has_each_rule() -> None:
    page = (ROOT / "docs" / "converters_inspect.md").read_text()
    rows = [line.split("|")[1].strip(" `") for line in page.splitlines() if line.startswith("| `")]
    assert [row for row in rows if row in RULES] == list(RULES)
