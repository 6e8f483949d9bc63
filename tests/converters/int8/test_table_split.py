"""A calibration table gives its ranges to engines that are cut differently. TF-TRT cuts the golden
INT8 model again for this, and further graphs are made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from converters.int8.calibration_table import CalibrationTable
from converters.int8.table_split import CalibratedGraph
from converters.model.trt_graph import engine_nodes, load_graph, trt_nodes
from converters.segments.segmenter import SegmenterOptions, ask_segmenter, tftrt_is_compiled_in
from converters.spec.conversion_spec import ConversionSpec
from converters.tftrt import engine_job
from converters.tftrt.signature_v2 import _converter_class
from converters.util.errors import CalibrationError

graph_pb2 = pytest.importorskip("tensorflow.core.framework.graph_pb2")

CONVERTED = Path(__file__).resolve().parents[2] / "golden" / "converted"
PREFIX = "StatefulPartitionedCall/functional_1/"
HEADER = "TRT-8600-EntropyCalibration2"


@pytest.fixture(scope="module")
def golden() -> Any:
    return load_graph(CONVERTED / "int8").graph_def


@pytest.fixture(scope="module")
def table(golden: Any) -> CalibrationTable:
    (engine,) = engine_nodes(golden)
    return CalibrationTable.parse(engine.calibration_table)


@pytest.fixture(scope="module")
def calibrated(golden: Any) -> CalibratedGraph:
    found = CalibratedGraph.of(golden)
    assert found is not None
    return found


def cut_again(**denied: tuple[str, ...]) -> Any:
    """Lets TF-TRT cut the golden model again, with a denylist."""
    if not tftrt_is_compiled_in():
        pytest.skip("this TensorFlow has no TF-TRT inside")
    options = SegmenterOptions("INT8", implicit_batch=True, minimum_segment_size=1, **denied)
    graph = ask_segmenter(CONVERTED / "native/cnn", options, signature="serving_default").graph_def
    for node in trt_nodes(graph):
        # TF-TRT writes FP16 here, because it does not calibrate.
        node.attr["precision_mode"].s = b"INT8"
    return graph


def test_the_graph_s_names_of_what_was_calibrated(
    calibrated: CalibratedGraph, table: CalibrationTable
) -> None:
    scales = calibrated.scales.scales
    assert scales["image"] == table.scales["TensorRTInputPH_0"]
    assert scales[f"{PREFIX}dense_1/Softmax"] == table.scales["TensorRTOutputPH_0"]
    named = {name for name in table.scales if name.startswith(PREFIX)}
    assert len(named) == 9 and all(scales[name] == table.scales[name] for name in named)
    assert set(scales) == {*named, "image", f"{PREFIX}dense_1/Softmax"}
    assert calibrated.tables == (table,) and len(calibrated.segments) == 1
    norms = {f"{PREFIX}batch_normalization_{i}/batchnorm/mul_1" for i in ("1", "1_2", "2_1")}
    # These are the convolutions, under the names of their normalizations, and the matrix product.
    assert calibrated.ranged == {*norms, f"{PREFIX}dense_1/MatMul"}
    assert CalibratedGraph.from_json(calibrated.to_json()) == calibrated


def test_an_engine_as_before_has_its_table(
    calibrated: CalibratedGraph, table: CalibrationTable, golden: Any
) -> None:
    """An engine with the same nodes as before gets its whole table. Even the tensors that TensorRT
    numbers itself keep their scales."""
    for graph in (golden, cut_again()):
        (found,) = calibrated.split(graph).values()
        assert found == table


def test_an_engine_that_is_split_in_two(
    calibrated: CalibratedGraph, table: CalibrationTable
) -> None:
    denied = f"{PREFIX}re_lu_1_2/Relu"
    graph = cut_again(node_denylist=(denied,))
    first, second = calibrated.split(graph).values()
    of = table.scales
    before = f"{PREFIX}batch_normalization_1_2/batchnorm/mul_1"
    assert first.scales["TensorRTInputPH_0"] == of["TensorRTInputPH_0"]
    assert first.scales["TensorRTOutputPH_0"] == of[before]
    assert second.scales["TensorRTInputPH_0"] == of[denied]
    assert second.scales["TensorRTOutputPH_0"] == of["TensorRTOutputPH_0"]
    both = [*first.scales, *second.scales]
    inner = {name for name in of if name.startswith(PREFIX)} - {denied, before}
    assert sorted(name for name in both if name.startswith(PREFIX)) == sorted(inner)
    assert all({**first.scales, **second.scales}[name] == of[name] for name in inner)
    assert not [name for name in both if "Unnamed" in name]
    assert first.header == second.header == HEADER


@pytest.mark.slow
def test_every_piece_has_the_ranges_of_its_ends(
    calibrated: CalibratedGraph, table: CalibrationTable
) -> None:
    found = calibrated.split(cut_again(op_denylist=("Relu",)))
    of = table.scales
    ends = [(t.scales["TensorRTInputPH_0"], t.scales["TensorRTOutputPH_0"]) for t in found.values()]
    norm, relu = f"{PREFIX}batch_normalization_%s/batchnorm/mul_1", f"{PREFIX}re_lu_%s/Relu"
    assert ends == [
        (of["TensorRTInputPH_0"], of[norm % "1"]),
        (of[relu % "1"], of[norm % "1_2"]),
        (of[relu % "1_2"], of[norm % "2_1"]),
        (of[relu % "2_1"], of["TensorRTOutputPH_0"]),
    ]


@pytest.mark.slow
def test_no_engine_needs_no_table(calibrated: CalibratedGraph) -> None:
    ops = ("Conv2D", "Relu", "Mul", "AddV2", "Sub", "Mean", "MatMul", "BiasAdd", "Softmax")
    graph = cut_again(op_denylist=ops)
    assert not engine_nodes(graph)
    assert calibrated.split(graph) == {}
    assert CalibratedGraph.of(graph) is None


# Each node is (name, op, inputs). Nodes of a segment call its inputs in0, in1, and so on.
Nodes = Sequence[tuple[str, str, Sequence[str]]]


def add_nodes(where: Any, nodes: Nodes) -> None:
    for name, op, inputs in nodes:
        node = where.add(name=name, op=op, input=list(inputs))
        node.attr["T"].type = 1


def engine(
    graph: Any,
    name: str,
    inputs: Sequence[str],
    nodes: Nodes,
    outputs: Sequence[str],
    scales: Mapping[str, float] | None = None,
    dtype: int = 1,  # DT_FLOAT
) -> None:
    node = graph.node.add(name=name, op="TRTEngineOp", input=list(inputs))
    node.attr["segment_func"].func.name = f"{name}_native_segment"
    node.attr["precision_mode"].s = b"INT8"
    node.attr["InT"].list.type.extend([dtype] * len(inputs))
    if scales is not None:
        text = CalibrationTable(HEADER, scales).serialize()
        node.attr["calibration_data"].s = text.encode()
    function = graph.library.function.add()
    function.signature.name = f"{name}_native_segment"
    for index in range(len(inputs)):
        function.signature.input_arg.add(name=f"in{index}", type=1)
    for index, tensor in enumerate(outputs):
        function.signature.output_arg.add(name=f"out{index}", type=1)
        function.ret[f"out{index}"] = tensor
    add_nodes(function.node_def, nodes)


PRODUCTS: Nodes = [
    ("a", "MatMul", ("in0", "in1")),
    ("b", "Relu", ("a:product:0",)),
    ("c", "MatMul", ("b:activations:0", "in1")),
    ("d", "Sigmoid", ("c:product:0",)),
]
OF_PRODUCTS = {
    "TensorRTInputPH_0": 1.0,
    "TensorRTInputPH_1": 2.0,
    "a": 3.0,
    "E/a-weights_output": 9.0,
    "(Unnamed Layer* 1) [Shuffle]_output": 3.0,
    "b": 4.0,
    "c": 5.0,
    "TensorRTOutputPH_0": 6.0,
    "TensorRTOutputPH_1": 7.0,
}


def products() -> Any:
    """Returns a graph with one calibrated engine, which has two inputs and two outputs."""
    graph = graph_pb2.GraphDef()
    add_nodes(graph.node, [("x", "Placeholder", ()), ("y", "Placeholder", ())])
    more = [*PRODUCTS, ("e", "Tanh", ("c:product:0",))]
    scales = {name.replace("E/", "TRTEngineOp_000_000/"): v for name, v in OF_PRODUCTS.items()}
    engine(graph, "TRTEngineOp_000_000", ["x", "y"], more, ["d:y:0", "e:y:0"], scales)
    return graph


def halves(between: Nodes = (("b", "Relu", ("E_0",)),)) -> Any:
    """Returns the graph of `products` in another cut: two engines, with the nodes `between` in
    TensorFlow."""
    graph = graph_pb2.GraphDef()
    add_nodes(graph.node, [("x", "Placeholder", ()), ("y", "Placeholder", ())])
    engine(graph, "E_0", ["x", "y"], PRODUCTS[:1], ["a:product:0"])
    add_nodes(graph.node, between)
    last = between[-1][0] if between else "E_0:0"
    tail: Nodes = [("c", "MatMul", ("in1", "in0")), ("d", "Sigmoid", ("c:product:0",))]
    engine(graph, "E_1", ["y", last], tail, ["d:y:0"])
    return graph


def test_ends_of_engines_are_the_graph_s_tensors() -> None:
    calibrated = CalibratedGraph.of(products())
    assert calibrated is not None
    first, second = calibrated.split(halves()).values()
    assert first.scales == {
        "TensorRTInputPH_0": 1.0,
        "TensorRTInputPH_1": 2.0,
        "TensorRTOutputPH_0": 3.0,
        "TRTEngineOp_000_000/a-weights_output": 9.0,
    }
    # The second engine has its inputs in another order.
    assert second.scales == {
        "TensorRTInputPH_0": 2.0,
        "TensorRTInputPH_1": 4.0,
        "c": 5.0,
        "TensorRTOutputPH_0": 6.0,
    }


def test_values_keep_their_range_over_ops_that_only_move_them() -> None:
    calibrated = CalibratedGraph.of(products())
    assert calibrated is not None
    moved: Nodes = [("t", "Transpose", ("E_0:0", "p")), ("i", "Identity", ("t",))]
    for between, scale in ((moved, 3.0), ((), 3.0)):
        _, second = calibrated.split(halves(between)).values()
        assert second.scales["TensorRTInputPH_1"] == scale


def test_what_has_no_range_is_named() -> None:
    calibrated = CalibratedGraph.of(products())
    assert calibrated is not None
    unknown: Nodes = [("new", "Exp", ("E_0",))]
    says = r"no range for these.*\n  'in1', input of MatMul 'c' in E_1\nGive calibration data"
    with pytest.raises(CalibrationError, match=says):
        calibrated.split(halves(unknown))
    alone = graph_pb2.GraphDef()
    add_nodes(alone.node, [("z", "Placeholder", ())])
    engine(alone, "E_0", ["z"], [("exp", "Exp", ("in0",))], ["exp:y:0"])
    with pytest.raises(CalibrationError, match=r"\n  'z', input of E_0\n"):
        calibrated.split(alone)
    alone.Clear()
    add_nodes(alone.node, [("z", "Placeholder", ())])
    engine(alone, "E_0", ["z"], [("neg", "Neg", ("in0",))], ["neg:y:0"], dtype=3)  # DT_INT32
    assert calibrated.split(alone)["E_0"].scales == {}


def test_what_had_no_range_before_may_lack_it() -> None:
    graph = products()
    (node,) = trt_nodes(graph)
    scales = {name: scale for name, scale in OF_PRODUCTS.items() if name != "b"}
    node.attr["calibration_data"].s = CalibrationTable(HEADER, scales).serialize().encode()
    calibrated = CalibratedGraph.of(graph)
    assert calibrated is not None and calibrated.ranged == {"a"}
    _, second = calibrated.split(halves()).values()
    assert "TensorRTInputPH_1" not in second.scales


def test_what_was_in_no_engine_may_lack_a_range() -> None:
    """With a denylist, TF-TRT may take nodes that it left out during calibration. They have no
    range, and that is no error."""
    calibrated = CalibratedGraph.of(products())
    assert calibrated is not None and calibrated.ranged == {"a", "c"}
    graph = graph_pb2.GraphDef()
    add_nodes(graph.node, [("x", "Placeholder", ()), ("y", "Placeholder", ())])
    late: Nodes = [("new", "Exp", ("in0",)), ("late", "MatMul", ("new:y:0", "in1"))]
    engine(graph, "E_0", ["x", "y"], [*PRODUCTS[:1], *late], ["a:product:0", "late:product:0"])
    assert calibrated.split(graph)["E_0"].scales == {
        "TensorRTInputPH_0": 1.0,
        "TensorRTInputPH_1": 2.0,
        "TensorRTOutputPH_0": 3.0,
        "TRTEngineOp_000_000/a-weights_output": 9.0,
    }


def chain(*engines: tuple[str, str, float | None]) -> Any:
    """Returns a graph with an engine of one Relu for each (name, node, scale). A node in TensorFlow
    stands between two engines."""
    graph = graph_pb2.GraphDef()
    add_nodes(graph.node, [("x", "Placeholder", ())])
    last = "x"
    for name, node, scale in engines:
        relu: Nodes = [(node, "Relu", ("in0",))]
        ends = ("TensorRTInputPH_0", "TensorRTOutputPH_0")
        scales = None if scale is None else dict.fromkeys(ends, scale)
        engine(graph, name, [last], relu, [f"{node}:activations:0"], scales)
        last = f"after_{node}"
        add_nodes(graph.node, [(last, "Cumsum", (name,))])
    return graph


def test_engines_whose_lines_have_the_same_names_keep_apart() -> None:
    graph = chain(("E_0", "a", 1.0), ("E_1", "b", 100.0))
    found = CalibratedGraph.of(graph)
    assert found is not None
    for calibrated in (found, CalibratedGraph.from_json(found.to_json())):
        for names in (("E_0", "E_1"), ("E_1", "E_0")):
            cut = chain((names[0], "a", None), (names[1], "b", None))
            first, second = map(calibrated.split(cut).get, names)
            assert first == calibrated.tables[0] and second == calibrated.tables[1]


def test_bindings_that_are_numbered_otherwise_have_their_own_ranges() -> None:
    graph = graph_pb2.GraphDef()
    add_nodes(graph.node, [("x", "Placeholder", ()), ("y", "Placeholder", ())])
    ends = {"TensorRTInputPH_0": 1.0, "TensorRTInputPH_1": 2.0, "TensorRTOutputPH_0": 3.0}
    engine(graph, "E_0", ["x", "y"], PRODUCTS[:1], ["a:product:0"], ends)
    calibrated = CalibratedGraph.of(graph)
    assert calibrated is not None
    graph = graph_pb2.GraphDef()
    add_nodes(graph.node, [("x", "Placeholder", ()), ("y", "Placeholder", ())])
    engine(graph, "E_0", ["y", "x"], [("a", "MatMul", ("in1", "in0"))], ["a:product:0"])
    swapped = {"TensorRTInputPH_0": 2.0, "TensorRTInputPH_1": 1.0, "TensorRTOutputPH_0": 3.0}
    assert calibrated.split(graph)["E_0"].scales == swapped


@pytest.mark.parametrize("scale", [None, 1.0], ids=["no table", "a table"])
def test_an_engine_without_its_segment_is_left_alone(scale: float | None) -> None:
    """A source model may already have engines, and may lack their segments."""
    graph = chain(("E_0", "a", scale))
    del graph.library.function[:]
    assert CalibratedGraph.of(graph) is None
    graph = chain(("E_0", "a", scale), ("E_1", "b", 100.0))
    del graph.library.function[0]
    calibrated = CalibratedGraph.of(graph)
    assert calibrated is not None
    assert set(calibrated.scales.scales) == {"after_a", "b"}
    assert set(calibrated.split(graph)) == {"E_1"}


def test_without_tables_no_engine_is_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converters.int8.table_split._Engine", None)
    assert CalibratedGraph.of(chain(("E_0", "a", None))) is None


class Signature:
    """Stands in for TF-TRT: its conversion gives the golden model's engine."""

    converter = "golden"
    asked: list[Any]

    def __init__(self, *args: Any, tables: Any, **options: Any) -> None:
        self.node_names: list[str] = []
        self.asked.append(None if tables is None else tables(self.graph_def))

    graph_def: Any

    def convert(self, *args: Any) -> None:
        pass

    build = convert

    def tables(self) -> dict[str, str]:
        return {}


def test_a_conversion_tells_and_takes_the_graph_s_ranges(
    golden: Any, table: CalibrationTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Signature, "graph_def", golden, raising=False)
    monkeypatch.setattr(Signature, "asked", [], raising=False)
    monkeypatch.setattr(engine_job, "SignatureV2", Signature)
    (name,) = (found.canonical_name for found in engine_nodes(golden))
    other = CalibrationTable(HEADER, {"TensorRTInputPH_0": 1.0})
    arguments = {
        "saved_model": str(CONVERTED / "native" / "cnn"),
        "folder": str(tmp_path),
        "spec": ConversionSpec("INT8", input_shapes={"image": (4, 16, 16, 3)}).resolved().to_json(),
        "signatures": ["serving_default"],
        "kept": [],
        "calibration": {},
        "tables": {"": other.serialize()},
        "progress": False,
        "save": False,
    }
    done = engine_job.convert_signatures(**arguments)
    told = {"serving_default": done["signatures"]["serving_default"]["calibrated"]}
    engine_job.convert_signatures(**arguments, calibrated=told)
    engine_job.convert_signatures(**{**arguments, "tables": None})
    assert Signature.asked == [{name: other}, {name: table}, None]


@pytest.mark.parametrize("has_data", [False, True])
def test_data_measures_what_the_table_lacks(
    golden: Any, table: CalibrationTable, monkeypatch: pytest.MonkeyPatch, has_data: bool
) -> None:
    trt_convert = pytest.importorskip("tensorflow.python.compiler.tensorrt.trt_convert")
    measured: list[Any] = []
    monkeypatch.setattr(
        trt_convert.TrtGraphConverterV2,
        "_execute_calibration",
        lambda self, calibration_input_fn: measured.append(calibration_input_fn()),
    )
    monkeypatch.setattr(
        "converters.tftrt.signature_v2._rebuilt", lambda function, graph_def: function
    )
    graph = graph_pb2.GraphDef()
    graph.CopyFrom(golden)
    (node,) = trt_nodes(graph)
    node.attr["calibration_data"].s = b""
    converter = _converter_class().__new__(_converter_class())
    converter._converted_graph_def, converter._converted_func = graph, None
    converter._first, converter.has_data = None, has_data

    def lacks(graph_def: Any) -> dict[str, CalibrationTable]:
        raise CalibrationError("no range for 'x'")

    converter._tables = lacks
    if has_data:
        converter._execute_calibration(lambda: "the data")
        assert measured == ["the data"] and not node.attr["calibration_data"].s
    else:
        with pytest.raises(CalibrationError, match="no range for 'x'"):
            converter._execute_calibration(lambda: "the data")
    # With a table and data, the converter takes the table.
    converter._tables = lambda graph_def: {node.name: table}
    converter._execute_calibration(lambda: "more data")
    assert node.attr["calibration_data"].s.decode() == table.serialize()
    assert len(measured) == has_data
