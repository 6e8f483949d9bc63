"""The layers in TensorRT's build log, and the TensorFlow nodes in their names. The names are those
of real plans: tests/golden/converted holds plans that TensorRT 8.6.0 built on an H200."""

from __future__ import annotations

import re

import pytest
from recorded_layers import CONVERTED, build_log, layer_names, plan_of

from converters.model.engine_layers import (
    Layer,
    LayerTensor,
    built_layers,
    is_copy,
    layers_of_plan,
    nodes_of,
    parse_layer,
)
from converters.model.trt_graph import engine_nodes, load_graph


def test_a_line_of_the_log() -> None:
    line = (
        "Layer(CaskConvolution): a + (Unnamed Layer* 3) [Shuffle], Tactic: 0x4037b478ce77e422, "
        "x, y (Half[-1,3:4,16,16]), (Unnamed Layer* 2) [Constant]_output (Int32[]) -> "
        "Reformatted Output Tensor 0 to a (Float[-1,16,8,8])"
    )
    assert parse_layer(line) == Layer(
        "a + (Unnamed Layer* 3) [Shuffle]",
        "CaskConvolution",
        "0x4037b478ce77e422",
        (
            LayerTensor("x, y", "Half", "-1,3:4,16,16"),
            LayerTensor("(Unnamed Layer* 2) [Constant]_output", "Int32", ""),
        ),
        (LayerTensor("Reformatted Output Tensor 0 to a", "Float", "-1,16,8,8"),),
    )
    assert parse_layer("Layer information is not recorded") is None


@pytest.mark.parametrize(
    ("reads", "writes", "precision"),
    [
        ("a (Half[1])", "b (Half[1])", "Half"),
        ("a (Float[1])", "b (Half[1])", "Float -> Half"),
        ("a (Half[1]), i (Int32[1])", "b (Half[1])", "Half, Int32 -> Half"),
        ("", "b (Float[1])", "Float"),
    ],
)
def test_precision(reads: str, writes: str, precision: str) -> None:
    layer = parse_layer(f"Layer(Gather): a, Tactic: 0x0000000000000000, {reads} -> {writes}")
    assert layer is not None and layer.precision == precision and not layer.changes_format


def test_layers_that_change_the_format() -> None:
    rest = "Tactic: 0x00000000000003e8, a (Float[1]) -> b (Half[1])"
    copy = parse_layer(f"Layer(NoOp): Reformatting CopyNode for Input Tensor 0 to c, {rest}")
    reformat = parse_layer(f"Layer(Reformat): c/QuantizeLinear, {rest}")
    assert copy is not None and copy.changes_format
    assert reformat is not None and reformat.changes_format


@pytest.mark.parametrize("model", ["fp16_explicit", "fp16_gap", "int8", "static"])
def test_every_name_of_a_real_plan_tells_nodes_of_the_graph(model: str) -> None:
    for engine in engine_nodes(load_graph(CONVERTED / model).graph_def):
        names = layer_names(plan_of(CONVERTED / model, engine))
        told: set[str] = set()
        for name in names:
            nodes = nodes_of(name, engine.node_ops)
            # Each part that TF-TRT named is a node, and TF-TRT names each part but a few shuffles.
            assert len(nodes) <= name.count("TRTEngineOp_")
            assert nodes or "TRTEngineOp_" not in name, name
            assert all(node in name for node in nodes)
            told.update(nodes)
            assert set(nodes_of(name)) == set(nodes), "the graph's nodes tell the same"
        computing = {n for n, op in engine.node_ops.items() if op in ("Conv2D", "MatMul", "Relu")}
        assert computing and computing <= told


@pytest.mark.parametrize(
    ("layer", "nodes"),
    [
        ("TRTEngineOp_000_000_ab/a/x-y-conv:CONVOLUTION", ("a/x-y",)),
        ("TRTEngineOp_000_000_ab/a/x-z:SHUFFLE", ("a/x",)),
        ("PWN(TRTEngineOp_0/a/x:UNARY, TRTEngineOp_0/b-mul:ELEMENTWISE)", ("a/x", "b")),
        ("{ForeignNode[TRTEngineOp_0/a/x-0:SHUFFLE...TRTEngineOp_0/b:SOFTMAX]}", ("a/x", "b")),
        ("Reformatting CopyNode for Input Tensor 0 to TRTEngineOp_0/b:RELU", ("b",)),
        ("TRTEngineOp_0/b:RELU + TRTEngineOp_0/b-0:SHUFFLE", ("b",)),
        ("(Unnamed Layer* 9) [Shuffle]", ()),
        ("TRTEngineOp_0/gone-conv:CONVOLUTION", ()),
    ],
)
def test_nodes_of_a_name(layer: str, nodes: tuple[str, ...]) -> None:
    assert nodes_of(layer, {"a/x", "a/x-y", "b"}) == nodes


def test_the_layers_of_each_build() -> None:
    names = [f"TRTEngineOp_000_00{n}_ab/conv:CONVOLUTION" for n in (0, 1)]
    log = "".join(
        (
            build_log(names[:1], "Float"),  # calibration: the log has no shapes
            build_log(names[:1], "Int8", "PartitionedCall/TRTEngineOp_000_000_ab", "[[8,4], []]"),
            build_log(names[1:], "Half", "TRTEngineOp_000_001_ab", "[[8,4]]"),
            build_log(names[:1], "Half", "PartitionedCall/TRTEngineOp_000_000_ab", "[[1,4], []]"),
        )
    )
    built = built_layers(log)
    assert [(made.engine, made.input_shapes) for made in built] == [
        ("TRTEngineOp_000_000_ab", None),
        ("TRTEngineOp_000_000_ab", ((8, 4), ())),
        ("TRTEngineOp_000_001_ab", ((8, 4),)),
        ("TRTEngineOp_000_000_ab", ((1, 4), ())),
    ]
    plan = "\0".join(names).encode()

    def precision(engine: str, *shapes: tuple[int, ...]) -> str:
        (layer,) = layers_of_plan(built, engine, shapes, plan)
        return layer.precision

    assert precision("TRTEngineOp_000_000_ab", (8, 4), ()) == "Int8"
    assert precision("TRTEngineOp_000_000_ab", (1, 4), ()) == "Half"
    assert precision("TRTEngineOp_000_000_ab", (32, 4), ()) == "Float"  # only calibration is left
    assert precision("TRTEngineOp_000_001_ab", (8, 4)) == "Half"
    assert layers_of_plan(built, "TRTEngineOp_000_002_ab", (), plan) == ()


def test_an_engine_of_v1_gets_its_last_name_later() -> None:
    (built,) = built_layers(build_log(["TRTEngineOp_000_000/conv:CONVOLUTION"], "Float"))
    assert layers_of_plan([built], "TRTEngineOp_000_000_584752cb", ((8, 4),), b"") == built.layers
    assert layers_of_plan([built], "TRTEngineOp_000_0001", ((8, 4),), b"") == ()


def test_an_engine_for_a_range_of_shapes() -> None:
    engine = "TRTEngineOp_000_000"
    log = build_log([f"{engine}/conv:CONVOLUTION"], "Half", f"PartitionedCall/{engine}", "[[?,4]]")
    (built,) = built_layers(log)
    assert (built.engine, built.input_shapes) == (engine, None)
    assert layers_of_plan([built], engine, ((8, 4),), b"") == built.layers


def test_names_in_the_plan_tell_builds_apart() -> None:
    engine = "TRTEngineOp_000_000"
    log = "".join(build_log([f"{engine}/{part}:CONVOLUTION"], "Float") for part in ("a", "b"))
    (layer,) = layers_of_plan(built_layers(log), engine, (), b"..TRTEngineOp_000_000/a:CONVOLUTION")
    assert layer.name.endswith("/a:CONVOLUTION")


def test_the_recorded_names_are_text_in_the_plan() -> None:
    (engine,) = engine_nodes(load_graph(CONVERTED / "fp16_explicit").graph_def)
    plan = plan_of(CONVERTED / "fp16_explicit", engine)
    names = layer_names(plan)
    assert len(names) == 10 and all(name.encode() in plan for name in names)
    assert re.match(r"TRTEngineOp_\w+/.*:SHUFFLE$", names[0])
    assert sum(map(is_copy, names)) == 1
