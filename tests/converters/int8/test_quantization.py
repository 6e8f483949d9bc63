"""Ranges in graphs are found, checked and inserted. The CPU computes what they cost."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest

from converters.int8.missing_ranges import missing_in_engines, missing_ranges, require_ranges
from converters.int8.quantization import (
    check_quantize_nodes,
    insert_ranges,
    quantize_mode,
    quantize_nodes,
)
from converters.model.node_tensors import NodeTensors
from converters.util.errors import CalibrationError, SpecError

tf = pytest.importorskip("tensorflow")
v1 = tf.compat.v1
RNG = np.random.default_rng(11)
KERNEL = RNG.normal(size=(3, 3, 2, 4)).astype(np.float32)
WEIGHTS = RNG.normal(size=(36, 5)).astype(np.float32)
IMAGES = RNG.uniform(-1, 1, size=(6, 8, 8, 2)).astype(np.float32)


def build(make: Callable[[], Any]) -> Any:
    with tf.Graph().as_default() as graph:
        make()
    return graph.as_graph_def()


def run(graph_def: Any, feeds: dict[str, Any], *tensors: str) -> list[Any]:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with v1.Session(graph=graph) as session:
            names = [name if ":" in name else f"{name}:0" for name in tensors]
            return list(session.run(names, {f"{key}:0": value for key, value in feeds.items()}))


def net() -> Any:
    """Adds a small network to the default graph: conv, relu, pool, flat, dense and scores."""
    x = v1.placeholder(tf.float32, [None, 8, 8, 2], name="x")
    y = tf.nn.conv2d(x, tf.constant(KERNEL, name="kernel"), 1, "VALID", name="conv")
    y = tf.nn.relu(y, name="relu")
    y = tf.nn.max_pool2d(y, 2, 2, "VALID", name="pool")
    y = tf.reshape(y, [-1, 36], name="flat")
    y = tf.matmul(y, tf.constant(WEIGHTS, name="weights"), name="dense")
    return tf.nn.softmax(y, name="scores")


@pytest.fixture(scope="module")
def net_graph() -> Any:
    return build(net)


def added(before: Any, after: Any) -> dict[str, Any]:
    names = {node.name for node in before.node}
    return {node.name: node for node in after.node if node.name not in names}


def test_a_range_quantises_in_steps_of_amax_over_127(net_graph: Any) -> None:
    before = net_graph.SerializeToString(deterministic=True)
    result = insert_ranges(net_graph, {"relu": (0.0, 6.0)})
    assert net_graph.SerializeToString(deterministic=True) == before, "the argument stays"
    feeds = {"x": IMAGES}
    (plain,) = run(net_graph, feeds, "relu")
    raw, quantised = run(result, feeds, "relu", "relu/custom_range")
    np.testing.assert_array_equal(raw, plain)
    step = 6.0 / 127
    inside = plain <= 6.0
    assert inside.mean() > 0.5 and not inside.all()
    assert np.abs(quantised - plain)[inside].max() <= step / 2 * 1.0001
    assert np.all(quantised[~inside] == np.float32(6.0))
    np.testing.assert_allclose(quantised / step, np.round(quantised / step), atol=1e-3)
    assert len(np.unique(quantised)) > 50


def test_the_error_of_the_whole_net_is_bounded_by_the_steps(net_graph: Any) -> None:
    feeds = {"x": IMAGES}
    plain, relu = run(net_graph, feeds, "dense", "relu")
    amax = float(relu.max())
    result = insert_ranges(net_graph, {"x": (-1.0, 1.0), "relu": (0.0, amax)})
    (quantised,) = run(result, feeds, "dense")
    half = 0.5 * 1.0001 / 127
    of_conv = half * np.abs(KERNEL).sum(axis=(0, 1, 2)).max()
    bound = (of_conv + half * amax) * np.abs(WEIGHTS).sum(axis=0).max()
    error = np.abs(quantised - plain).max()
    assert 0 < error <= bound


def test_a_range_is_spread_over_ops_that_keep_it(net_graph: Any) -> None:
    feeds = {"x": IMAGES}
    spread = insert_ranges(net_graph, {"relu": (0.0, 9.0)})
    alone = insert_ranges(net_graph, {"relu": (0.0, 9.0)}, spread=False)
    assert set(added(net_graph, alone)) == {"relu/custom_range"}
    assert set(added(net_graph, spread)) == {f"{n}/custom_range" for n in ("relu", "pool", "flat")}
    assert {node.attr["max"].f for node in added(net_graph, spread).values()} == {9.0}
    # Quantizing a value again with the same range does not change it.
    np.testing.assert_array_equal(run(spread, feeds, "scores"), run(alone, feeds, "scores"))
    named = insert_ranges(net_graph, {"relu": (0.0, 9.0), "pool": (0.0, 5.0)})
    limits = {name: node.attr["max"].f for name, node in added(net_graph, named).items()}
    assert limits == {
        "relu/custom_range": 9.0,
        "pool/custom_range": 5.0,
        "flat/custom_range": 5.0,
    }


def test_the_nodes_are_those_that_tftrt_takes(net_graph: Any) -> None:
    result = insert_ranges(net_graph, {"x:0": (-0.5, 0.25)})
    (found,) = quantize_nodes(result)
    assert (found.op, found.tensor, found.problem) == ("FakeQuantWithMinMaxArgs", "x", "")
    assert (found.low, found.high, found.amax) == (-0.5, 0.5, 0.5)
    assert found.narrow_range and found.num_bits == 8
    assert quantize_mode(result) == "dynamic_range" and quantize_mode(net_graph) == "none"
    assert check_quantize_nodes(result) == [found]


def test_an_explicit_graph_gets_explicit_nodes() -> None:
    def make() -> None:
        x = v1.placeholder(tf.float32, [4], name="x")
        y = tf.raw_ops.QuantizeAndDequantizeV2(
            input=x, input_min=-1.0, input_max=1.0, range_given=True, name="qdq"
        )
        tf.identity(tf.nn.relu(y, name="relu"), name="out")

    graph = build(make)
    assert quantize_mode(graph) == "explicit"
    result = insert_ranges(graph, {"relu": (0.0, 2.0)})
    names = [node.name for node in quantize_nodes(result)]
    assert names == ["qdq", "relu/custom_range"]
    new = quantize_nodes(result)[1]
    assert (new.op, new.low, new.high, new.problem) == ("QuantizeAndDequantizeV2", -2.0, 2.0, "")
    values = np.array([-3, 0.1, 0.5, 3], np.float32)
    relu, out = run(result, {"x": values}, "relu", "out")
    assert np.abs(out - relu).max() <= 1.0001 / 127
    np.testing.assert_allclose(out * 127 / 2, np.round(out * 127 / 2), atol=1e-4)


def test_every_user_of_a_tensor_gets_the_range() -> None:
    def make() -> None:
        x = v1.placeholder(tf.float32, [8], name="x")
        parts = tf.split(x, 2, name="parts")
        with tf.control_dependencies([x]):
            tf.add(parts[1], parts[1], name="twice")
        tf.multiply(parts[0], parts[1], name="product")

    graph = build(make)
    result = insert_ranges(graph, {"parts:1": (-1.0, 1.0)})
    nodes = {node.name: node for node in result.node}
    assert list(nodes["parts/custom_range"].input) == ["parts:1"]
    assert list(nodes["twice"].input) == ["parts/custom_range", "parts/custom_range", "^x"]
    assert list(nodes["product"].input) == ["parts", "parts/custom_range"]
    both = insert_ranges(result, {"parts": (-2.0, 2.0)})
    assert "parts/custom_range_1" in {node.name for node in both.node}
    run(both, {"x": np.ones(8, np.float32)}, "twice", "product")


def test_an_output_of_the_graph_keeps_its_name(net_graph: Any) -> None:
    result = insert_ranges(net_graph, {"scores": (0.0, 1.0)})
    plain, scores = run(net_graph, {"x": IMAGES}, "scores")[0], run(result, {"x": IMAGES}, "scores")
    assert 0 < np.abs(scores[0] - plain).max() <= 0.5001 / 127
    assert "scores/unquantized" in {node.name for node in result.node}


def test_concatenation_takes_the_widest_range() -> None:
    def make() -> None:
        x = v1.placeholder(tf.float32, [2], name="x")
        y = v1.placeholder(tf.float32, [2], name="y")
        z = v1.placeholder(tf.float32, [2], name="z")
        tf.identity(tf.concat([x, y], 0, name="both"), name="out")
        tf.identity(tf.concat([x, z], 0, name="other"), name="out2")

    graph = build(make)
    result = insert_ranges(graph, {"x": (-1, 1), "y": (-3.0, 2)})
    limits = {name: node.attr["max"].f for name, node in added(graph, result).items()}
    assert limits["both/custom_range"] == 3.0 and "other/custom_range" not in limits


@pytest.mark.parametrize(
    ("ranges", "says"),
    [
        ({"relv": (0, 1)}, "no tensor 'relv'; near it are 'relu'"),
        ({"relu:1": (0, 1)}, "'relu' has no output 1"),
        ({"kernel": (0, 1)}, "'kernel' is a constant"),
        ({"flat/shape": (0, 1)}, "is int32; ranges are for float32"),
        ({"relu": (0, 0)}, "not \\(0, 0\\)"),
        ({"relu": (1, -1)}, "min not above max"),
        ({"relu": (0, float("inf"))}, "finite"),
        ({"relu": (0, float("nan"))}, "finite"),
        ({"relu": (0, 1), "relu:0": (0, 2)}, "are one tensor"),
    ],
)
def test_bad_ranges_are_named(net_graph: Any, ranges: Any, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        insert_ranges(net_graph, ranges)


def test_tensors_that_have_a_range_are_refused(net_graph: Any) -> None:
    once = insert_ranges(net_graph, {"relu": (0, 1)})
    for name in ("relu", "relu/custom_range"):
        with pytest.raises(SpecError, match="has a range already.*relu/custom_range"):
            insert_ranges(once, {name: (0, 2)})
    # A graph with trained ranges may get further ranges from the user.
    both = insert_ranges(once, {"x": (-1, 1)})
    assert {node.tensor for node in quantize_nodes(both)} == {"relu", "pool", "flat", "x"}


def test_a_tensor_inside_a_function_is_explained() -> None:
    @tf.function
    def function(x: Any) -> Any:
        return tf.nn.relu(x, name="inner")

    concrete = function.get_concrete_function(tf.TensorSpec([2], tf.float32))
    outer = tf.function(lambda x: function(x)).get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert concrete is not None
    with pytest.raises(SpecError, match="the function .* has: inline it first"):
        insert_ranges(outer.graph.as_graph_def(), {"inner": (0, 1)})


def test_unused_inputs_are_refused() -> None:
    graph = build(lambda: v1.placeholder(tf.float32, [1], name="x"))
    with pytest.raises(SpecError, match="nothing in the graph uses 'x'"):
        insert_ranges(graph, {"x": (0, 1)})


def quantize_all(x: Any) -> None:
    low, high = tf.constant(-2.0), tf.identity(tf.constant(3.0))
    raw = tf.raw_ops
    raw.QuantizeAndDequantizeV2(input=x, input_min=low, input_max=high, range_given=True, name="v2")
    raw.QuantizeAndDequantizeV3(input=x, input_min=low, input_max=high, num_bits=8, name="v3")
    tf.quantization.fake_quant_with_min_max_vars(x, low, high, name="vars")
    tf.quantization.fake_quant_with_min_max_args(x, -2.0, 3.0, name="args")


def test_all_kinds_are_found_in_graphs_and_functions() -> None:
    graph = build(lambda: quantize_all(v1.placeholder(tf.float32, [2], name="x")))
    found = {node.name: node for node in quantize_nodes(graph)}
    assert set(found) == {"v2", "v3", "vars", "args"}
    for node in found.values():
        assert (node.low, node.high, node.amax, node.tensor) == (-2.0, 3.0, 3.0, "x")
        assert node.function == ""
    assert not found["v2"].problem and not found["v3"].problem
    assert "explicit mode" in found["vars"].problem and "explicit mode" in found["args"].problem

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def function(x: Any) -> Any:
        return tf.quantization.fake_quant_with_min_max_vars(x, -1.0, 1.0, name="inside")

    with tf.Graph().as_default() as outer:
        function(v1.placeholder(tf.float32, [2]))
    (inside,) = quantize_nodes(outer.as_graph_def())
    assert inside.name == "inside" and inside.function and inside.amax == 1.0
    assert not inside.problem and inside.tensor == "x"


def faulty(kind: str) -> Callable[[], Any]:
    def make() -> None:
        x = v1.placeholder(tf.float32, [2], name="x")
        quantization, raw = tf.quantization, tf.raw_ops
        if kind == "variable":
            quantization.fake_quant_with_min_max_vars(x, v1.placeholder(tf.float32, []), 1.0)
        elif kind == "bits":
            quantization.fake_quant_with_min_max_args(x, -1.0, 1.0, num_bits=4)
        elif kind == "bits of v3":
            raw.QuantizeAndDequantizeV3(input=x, input_min=-1.0, input_max=1.0, num_bits=4)
        elif kind == "channels":
            quantization.fake_quant_with_min_max_vars_per_channel(x, [-1.0, -1.0], [1.0, 1.0])
        elif kind == "v4":
            raw.QuantizeAndDequantizeV4(input=x, input_min=-1.0, input_max=1.0)
        elif kind == "data":
            raw.QuantizeAndDequantizeV2(input=x, input_min=-1.0, input_max=1.0)
        elif kind == "zero":
            quantization.fake_quant_with_min_max_vars(x, 0.0, 0.0)
        elif kind == "constant":
            quantization.fake_quant_with_min_max_args(tf.constant([1.0]), -1.0, 1.0)

    return make


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("variable", "min and max are no constants"),
        ("bits", "num_bits is 4"),
        ("bits of v3", "num_bits is 4"),
        ("channels", "FakeQuantWithMinMaxVarsPerChannel.*stays in TensorFlow"),
        ("v4", "QuantizeAndDequantizeV4.*stays in TensorFlow"),
        ("data", "range_given is false"),
        ("zero", r"range is \[0, 0\]"),
        ("constant", "quantises a constant"),
        ("none", "quietly make FP16"),
    ],
)
def test_what_tftrt_does_not_take_is_named(kind: str, says: str) -> None:
    with pytest.raises(CalibrationError, match=says):
        check_quantize_nodes(build(faulty(kind)))


def test_defaults_that_a_graph_leaves_out() -> None:
    graph = v1.GraphDef()
    graph.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    graph.node.add(name="q", op="FakeQuantWithMinMaxArgs", input=["x"])
    (found,) = quantize_nodes(graph)
    assert (found.low, found.high, found.num_bits, found.narrow_range) == (-6.0, 6.0, 8, False)
    assert not graph.node[1].attr, "looking adds nothing to the graph"


def test_missing_ranges_are_named(net_graph: Any) -> None:
    found = missing_ranges(net_graph.node)
    assert [(m.tensor, m.taken_by, m.op) for m in found] == [
        ("x", "conv", "Conv2D"),
        ("flat", "dense", "MatMul"),
    ]
    with pytest.raises(CalibrationError, match="(?s)no range:.*'x', input of Conv2D 'conv'\n"):
        require_ranges(found)
    require_ranges([])


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (["x"], ["flat"]),
        (["x", "relu"], []),
        (["x:0", "pool"], []),
        (["x", "conv"], []),
        (["conv"], ["x"]),
        (["x", "scores"], ["flat"]),
    ],
)
def test_custom_ranges_cover_what_keeps_them(
    net_graph: Any, given: list[str], missing: list[str]
) -> None:
    assert [m.tensor for m in missing_ranges(net_graph.node, given)] == missing
    inserted = insert_ranges(net_graph, dict.fromkeys(given, (-1.0, 1.0)))
    uncovered = [m.tensor for m in missing_ranges(inserted.node)]
    assert uncovered == missing, "the ranges inserted do what they announce"


def test_ranges_known_by_other_means() -> None:
    def make() -> None:
        x = v1.placeholder(tf.float32, [2, 4], name="x")
        w = tf.ones([4, 4])
        y = tf.matmul(tf.nn.relu6(x), w, name="after_relu6")
        z = tf.identity(y, name="alias")
        tf.quantization.fake_quant_with_min_max_args(z, -1.0, 1.0)
        tf.matmul(y, w, name="after_taken_tensor")
        tf.matmul(tf.sigmoid(y, name="sigmoid"), w, name="after_sigmoid")
        joined = tf.concat([y, tf.nn.relu6(x)], 1, name="joined")
        tf.matmul(joined, tf.ones([8, 2]), name="after_concat")
        other = tf.concat([y, x], 1, name="other")
        tf.matmul(other, tf.ones([8, 2]), name="after_other")
        tf.matmul(y, y, transpose_b=True, name="two_data_inputs")
        tf.matmul(x, x, transpose_b=True, name="two_missing")

    found = [(m.tensor, m.taken_by) for m in missing_ranges(build(make).node)]
    assert found == [
        ("sigmoid", "after_sigmoid"),
        ("other", "after_other"),
        ("x", "two_missing"),
        ("x", "two_missing"),
    ]


def test_explicit_mode_wants_weights_quantised_too() -> None:
    def quantised(x: Any) -> Any:
        return tf.raw_ops.QuantizeAndDequantizeV2(
            input=x, input_min=-1.0, input_max=1.0, range_given=True
        )

    def make() -> None:
        x = quantised(v1.placeholder(tf.float32, [2, 4], name="x"))
        tf.matmul(x, quantised(tf.ones([4, 4])), name="good")
        y = tf.matmul(tf.reshape(x, [2, 4]), tf.ones([4, 4], name="plain"), name="bare_weights")
        tf.matmul(tf.nn.relu(x, name="relu"), quantised(tf.ones([4, 4])), name="after_relu")
        quantised(y)
        tf.matmul(y, quantised(tf.ones([4, 4])), name="before_quantising")

    graph = build(make)
    found = [(m.tensor, m.taken_by) for m in missing_ranges(graph.node, explicit=True)]
    assert found == [
        ("plain", "bare_weights"),
        ("relu", "after_relu"),
        ("bare_weights", "before_quantising"),
    ]


def test_tensors_of_functions() -> None:
    """Inside a function, a tensor is named by its node, the output argument and a number. Segments
    of engines are functions."""

    @tf.function(input_signature=[tf.TensorSpec([4, 4], tf.float32)])
    def function(x: Any) -> Any:
        first, second = tf.unstack(tf.stack([x, x + 1.0]), name="parts")
        return tf.matmul(first, second, name="product")

    with tf.Graph().as_default() as outer:
        function(v1.placeholder(tf.float32, [4, 4]))
    (body,) = (f for f in outer.as_graph_def().library.function if len(f.node_def) > 2)
    graph = NodeTensors(body.node_def)
    assert graph.inputs(graph.nodes["product"]) == ["parts:0", "parts:1"]
    found = missing_ranges(body.node_def, ["parts:1"])
    assert [m.tensor for m in found] == ["parts"]
    assert missing_ranges(body.node_def, ["parts", "parts:1"]) == []
    assert graph.dtype("parts:1") == 1 and graph.dtype("parts:2") == 0
    assert graph.dtype("x:0") is None


def converted(segment: Any, **attributes: Any) -> Any:
    """Returns a graph with one engine. Its native segment is the body of `segment`."""
    graph = v1.GraphDef()
    node = graph.node.add(name="TRTEngineOp_000_000", op="TRTEngineOp")
    node.attr["segment_func"].func.name = "segment"
    node.attr["precision_mode"].s = attributes.get("precision", b"INT8")
    node.attr["use_calibration"].b = attributes.get("use_calibration", False)
    node.attr["static_engine"].b = False
    function = graph.library.function.add()
    function.signature.name = "segment"
    function.node_def.extend(segment.node)
    return graph


def test_engines_of_a_converted_graph(net_graph: Any) -> None:
    missing = missing_in_engines(converted(net_graph))
    assert [m.tensor for m in missing] == ["x", "flat"]
    assert "in TRTEngineOp_000_000" in str(missing[0])
    assert missing_in_engines(converted(net_graph), ["x", "relu"]) == []
    assert missing_in_engines(converted(net_graph, precision=b"FP16")) == []
    assert missing_in_engines(converted(net_graph, use_calibration=True)) == []
