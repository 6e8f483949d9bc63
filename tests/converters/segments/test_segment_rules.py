"""Tests the rules for what TF-TRT would leave out, on graphs made by hand and against TF-TRT's own
table."""

from __future__ import annotations

from pathlib import Path

import pytest
from trt_graphs import GraphMaker, chain

from converters.report.inspect_model import inspect_model
from converters.segments import exclusions
from converters.segments.exclusions import op_rules
from converters.segments.segment_rules import forecast
from converters.segments.segmenter import SegmenterOptions, tftrt_is_compiled_in

needs_tftrt = pytest.mark.skipif(
    not tftrt_is_compiled_in(), reason="this TensorFlow has no TF-TRT inside"
)


def by_rule(maker: GraphMaker, **options: object) -> dict[str, tuple[str, str]]:
    static = bool(options.pop("static", False))
    made = SegmenterOptions(**options)
    found = forecast(maker.flat(Path("graph.pb")), made, static)
    taken = {name: ("taken", "") for segment in found.engines for name in segment.names}
    return {**taken, **found.left_out}


def test_the_table_is_of_tensorflow_2_17() -> None:
    rules = op_rules()
    assert len(rules) == 120
    assert "Conv2D" in rules
    assert "Cumsum" not in rules
    assert rules["Conv2D"].types == ("float32", "float16")
    assert rules["AddV2"].types == ("float32", "float16", "int32")
    assert rules["Shape"].explicit_only
    assert not rules["Conv2D"].explicit_only


@needs_tftrt
def test_the_table_has_the_ops_of_this_tensorflow() -> None:
    from tensorflow.compiler.tf2tensorrt import _pywrap_py_utils as tftrt
    from tensorflow.python.framework import op_def_registry

    known = {op for op in tftrt.get_registered_op_converters() if op_def_registry.get(op)}
    assert op_rules().keys() == known


def test_unsupported_types_and_ops_are_out() -> None:
    found = by_rule(chain("Relu", "Relu", "Relu", "Cumsum"))
    assert [found[f"a{i}"][0] for i in range(4)] == [
        "taken",
        "taken",
        "taken",
        exclusions.UNSUPPORTED_OP,
    ]
    found = by_rule(chain("Relu", "Relu", "Relu", dtype="float64"))
    assert {found[f"a{i}"][0] for i in range(3)} == {exclusions.DTYPE}
    assert "float64" in found["a0"][1]


def test_types_of_outputs_count_too() -> None:
    import tensorflow as tf

    maker = chain("Relu", "Relu", "Relu", "Relu")
    maker.node("Cast", "cast", ["a2"], SrcT=tf.float32, DstT=tf.int64)
    maker.node("Cast", "half", ["a2"], SrcT=tf.float32, DstT=tf.float16)
    maker.node("ArgMax", "best", ["a2"])
    maker.node("ArgMax", "short", ["a2"], output_type=tf.int32)
    for name in ("cast", "half", "best", "short"):
        maker.node("Identity", f"{name}_out", [name])
    found = by_rule(maker)
    for name in ("cast", "best"):
        assert found[name][0] == exclusions.DTYPE
        assert "int64" in found[name][1]
    assert found["half"] == found["short"] == ("taken", "")


def test_small_segments_are_out() -> None:
    maker = chain("Relu", "Identity", "Relu", "Cumsum", "Relu", "Relu", "Relu")
    found = by_rule(maker)
    # An Identity is part of a segment, but does not count towards its size.
    assert {found[name][0] for name in ("a0", "a1", "a2")} == {exclusions.TOO_SMALL}
    assert "2 nodes; minimum_segment_size asks for 3" in found["a0"][1]
    assert {found[name][0] for name in ("a4", "a5", "a6")} == {"taken"}
    found = by_rule(maker, minimum_segment_size=2)
    assert {found[name][0] for name in ("a0", "a1", "a2")} == {"taken"}


def test_constants_count_in_a_segment() -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.node("Const", "w", shape=(2,))
    maker.node("Mul", "a", ["x", "w"])
    maker.node("Relu", "b", ["a"])
    maker.node("Identity", "y", ["b"])
    assert by_rule(maker)["b"] == ("taken", "")


def test_only_the_largest_segments_are_kept() -> None:
    ops = []
    for i in range(23):
        ops += ["Relu"] * (3 if i else 5) + ["Cumsum"]
    found = by_rule(chain(*ops))
    assert list(found.values()).count(("taken", "")) == 5 + 19 * 3
    capped = [why for category, why in found.values() if category == exclusions.ENGINE_CAP]
    assert len(capped) == 9
    assert "20 largest" in capped[0]
    assert found["a0"] == ("taken", "")
    found = by_rule(chain(*ops), max_engines=0)
    assert exclusions.ENGINE_CAP not in [category for category, _ in found.values()]


def test_denylists_keep_nodes_out() -> None:
    maker = chain("Relu", "Tanh", "Relu", "Relu", "Relu")
    found = by_rule(maker, op_denylist=("Tanh",))
    assert found["a1"] == (exclusions.DENYLISTED, "Tanh is on the op denylist")
    found = by_rule(maker, node_denylist=("a1",))
    assert found["a1"][0] == exclusions.DENYLISTED


def test_outputs_stay_outside() -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    for i, source in enumerate(("x", "a0", "a1", "a2")):
        maker.node("Relu", f"a{i}", [source])
    found = by_rule(maker)
    assert found["a3"][0] == exclusions.OUTPUT
    assert found["x"][0] == exclusions.OUTPUT
    assert found["a2"][0] == "taken"


def test_implicit_batch_needs_two_dimensions() -> None:
    maker = chain("Relu", "Relu", "Relu", "Shape", shape=(None,))
    found = by_rule(maker, implicit_batch=True)
    assert found["a1"][0] == exclusions.SHAPE
    assert "less than two dimensions" in found["a1"][1]
    assert "explicit batch only" in found["a3"][1]
    assert by_rule(maker)["a1"] == ("taken", "")
    # For a binary op, the input of the highest rank decides.
    maker = chain("Relu", "Relu", "Relu")
    maker.node("Placeholder", "s", shape=())
    maker.node("Mul", "m", ["s", "a2"])
    maker.node("Relu", "s2", ["s"], shape=())
    maker.node("Identity", "z", ["m"])
    maker.node("Identity", "z2", ["s2"])
    found = by_rule(maker, implicit_batch=True)
    assert found["m"] == ("taken", "")
    assert found["s2"][0] == exclusions.SHAPE


def test_static_mode_needs_known_dimensions() -> None:
    maker = chain("Relu", "Relu", "Relu", shape=(None, None, 4))
    assert by_rule(maker, static=True)["a1"][0] == exclusions.SHAPE
    assert "?x?x4" in by_rule(maker, static=True)["a1"][1]
    assert by_rule(maker)["a1"] == ("taken", "")


def test_unknown_shapes_pass_and_are_counted() -> None:
    maker = chain("Relu", "Relu", "Relu", shape=None)
    found = forecast(maker.flat(Path("g")), SegmenterOptions(implicit_batch=True))
    assert len(found.engines) == 1
    # Three Relus have no shape. The first one reads the placeholder, whose shape is known.
    assert found.unknown_shapes == 2


def test_quantize_nodes_are_for_int8() -> None:
    maker = chain("Relu", "QuantizeAndDequantizeV3", "Relu", "Relu")
    assert by_rule(maker)["a1"][0] == exclusions.UNSUPPORTED_OP
    assert by_rule(maker, precision="INT8")["a1"] == ("taken", "")


def test_no_segment_has_a_way_out_and_back() -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.node("Relu", "before", ["x"])
    maker.node("Cumsum", "barrier", ["before"])
    maker.node("Relu", "beside", ["before"])
    maker.node("AddV2", "after", ["barrier", "beside"])
    maker.node("Relu", "last", ["after"])
    maker.node("Identity", "y", ["last"])
    (segment,) = forecast(maker.flat(Path("g")), SegmenterOptions()).engines
    assert set(segment.names) == {"beside", "after", "last"}


def test_nodes_that_no_rule_excludes_are_said_to_be_unknown(tmp_path: Path) -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.engine("e", ["x"], {"a": "Relu", "b": "Relu", "c": "Relu"})
    last = "e"
    for i in range(4):
        last = maker.node("Relu", f"r{i}", [last])
    maker.node("Identity", "y", [last])
    report = inspect_model(maker.write(tmp_path / "g.pb"), ask=False)
    assert {out.category for out in report.left_out} == {exclusions.UNKNOWN}
    assert len(report.left_out) == 4
    for i in range(19):
        maker.engine(f"e{i}", ["x"], {f"n{i}": "Relu"})
        maker.node("Identity", f"y{i}", [f"e{i}"])
    report = inspect_model(maker.write(tmp_path / "g.pb"), ask=False)
    assert {out.category for out in report.left_out} == {exclusions.ENGINE_CAP}
