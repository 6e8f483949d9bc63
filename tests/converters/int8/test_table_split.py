"""A calibration table gives its ranges to engines that are cut differently. TF-TRT cuts the golden
INT8 model again for this, and further graphs are made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.inputs.batch_files import write_spool
from converters.int8.calibration_table import CalibrationTable
from converters.int8.table_split import CalibratedGraph, check_ranges, with_ranges
from converters.model.trt_graph import engine_nodes, load_graph, trt_nodes
from converters.segments.segmenter import SegmenterOptions, ask_segmenter, tftrt_is_compiled_in
from converters.spec.conversion_spec import ConversionSpec
from converters.tftrt import engine_job
from converters.tftrt.signature_v2 import _converter_class
from converters.util.errors import CalibrationError, SpecError

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


def changed(
    graph: Any, tables: Mapping[str, CalibrationTable], ranges: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """Returns the ranges that differ from those in `tables`, by engine."""
    found = with_ranges(graph, tables, ranges)
    assert set(found) == set(tables)
    return {
        name: {line: amax for line, amax in made.ranges().items() if amax != before.ranges()[line]}
        for name, before in tables.items()
        if (made := found[name]) != before
    }


NORM = f"{PREFIX}batch_normalization_1/batchnorm/mul_1"


@pytest.mark.parametrize(
    ("tensor", "lines"),
    [
        (f"{PREFIX}re_lu_1/Relu", [f"{PREFIX}re_lu_1/Relu"]),
        # TF-TRT transposes the image for the convolution, which must see the range.
        ("image", ["TensorRTInputPH_0", f"{NORM}-0-TransposeNHWCToNCHW-LayoutOptimizer"]),
        (
            f"{PREFIX}global_average_pooling2d_1/Mean",
            [
                f"{PREFIX}global_average_pooling2d_1/Mean",
                "(Unnamed Layer* 8) [Shuffle]_output",
            ],
        ),
        (f"{PREFIX}dense_1/Softmax", ["TensorRTOutputPH_0"]),
    ],
)
def test_custom_ranges_take_the_place_of_measured_ones(
    golden: Any, table: CalibrationTable, tensor: str, lines: list[str]
) -> None:
    (name,) = (found.canonical_name for found in engine_nodes(golden))
    ranges = {f"{tensor}:0": 6.0}
    assert changed(golden, {name: table}, ranges) == {name: dict.fromkeys(lines, 6.0)}
    # A table that has them already, in its text, takes them again.
    text = with_ranges(golden, {name: table}, ranges)[name].serialize()
    written = CalibrationTable.parse(text)
    assert with_ranges(golden, {name: written}, ranges)[name].serialize() == text
    again = changed(golden, {name: written}, {f"{tensor}:0": 2.0})
    assert again == {name: dict.fromkeys(lines, 2.0)}


def test_custom_ranges_in_two_engines() -> None:
    """TensorFlow computes "b" and moves it to "same", which the second engine takes."""
    between: Nodes = [("b", "Relu", ("E_0",)), ("same", "Reshape", ("b", "shape"))]
    graph = halves(between)
    lines = ("TensorRTInputPH_0", "TensorRTInputPH_1", "TensorRTOutputPH_0")
    both = {name: CalibrationTable(HEADER, dict.fromkeys(lines, 1.0)) for name in ("E_0", "E_1")}
    assert changed(graph, both, {"a:0": 254.0}) == {"E_0": {"TensorRTOutputPH_0": 254.0}}
    for tensor in ("b:0", "same:0"):
        assert changed(graph, both, {tensor: 254.0}) == {"E_1": {"TensorRTInputPH_1": 254.0}}
    assert changed(graph, both, {"x:0": 254.0, "y:0": 508.0}) == {
        "E_0": {"TensorRTInputPH_0": 254.0, "TensorRTInputPH_1": 508.0},
        "E_1": {"TensorRTInputPH_0": 508.0},
    }
    # Without the second engine, no engine has the tensor, and TensorFlow needs no range.
    assert changed(graph, {"E_0": both["E_0"]}, {"b:0": 254.0}) == {}
    with pytest.raises(SpecError, match="custom_ranges: 'c': the converted engines have no range"):
        with_ranges(graph, both, {"c:0": 254.0})  # E_1's table lacks it
    check_ranges(graph, ["a:0", "b:0", "c:0", "x:0"])
    with pytest.raises(SpecError, match="custom_ranges: 'z': the converted engines have no range"):
        check_ranges(graph, ["a:0", "z:0"])


def test_a_custom_range_of_what_tensorflow_merged(golden: Any, table: CalibrationTable) -> None:
    """The optimizer puts the normalization into the convolution, which then has its name."""
    (name,) = (found.canonical_name for found in engine_nodes(golden))
    merged = f"{PREFIX}conv2d_1/convolution"
    for refuses in (
        lambda: with_ranges(golden, {name: table}, {f"{merged}:0": 1.0}),
        lambda: check_ranges(golden, [f"{merged}:0"]),
    ):
        with pytest.raises(
            SpecError, match=f"custom_ranges: '{merged}': .* Near it are '"
        ) as error:
            refuses()
        assert "merged_input" not in str(error.value)  # a constant
    check_ranges(golden, [f"{NORM}:0"])


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


class Measuring(Signature):
    """Stands in for TF-TRT: it calibrates when it converts, or with explicit batch when it builds,
    unless it is given tables."""

    did: list[Any]

    def __init__(self, *args: Any, tables: Any, edit: Any, **options: Any) -> None:
        self.node_names, self._tables, self._edit = [], tables, edit
        self._explicit, self._data = args[2].explicit_batch, None

    def convert(self, data: Any, count: int | None) -> None:
        frozen = graph_pb2.GraphDef()
        add_nodes(frozen.node, [(f"{PREFIX}re_lu_1/Relu", "Relu", ("image",)), IMAGE])
        self._edit(frozen)
        self._data = data
        if not self._explicit:
            self._ranges()

    def build(self, shapes: Any, batches: Any) -> None:
        self.did.append(("build", *(shape["image"] for shape in shapes)))
        assert len(list(batches)) == len(shapes)
        if self._explicit:
            self._ranges()

    def _ranges(self) -> None:
        if self._tables is not None:
            (table,) = self._tables(self.graph_def).values()
            self.did.append(table)
        else:
            assert len(list(self._data())) == 2
            self.did.append("measure")

    def tables(self) -> dict[str, str]:
        engines = engine_nodes(self.graph_def)
        return {found.canonical_name: found.calibration_table for found in engines}

    def discard(self) -> None:
        self.did.append("discard")


IMAGE = ("image", "Placeholder", ())


def job_of(spec: ConversionSpec, folder: Path) -> dict[str, Any]:
    """Returns arguments of convert_signatures, with two calibration batches of four images."""
    write_spool(folder / "spool", [{"image": np.zeros((4, 16, 16, 3), np.float32)}] * 2)
    return {
        "saved_model": str(CONVERTED / "native" / "cnn"),
        "folder": str(folder),
        "spec": spec.resolved().to_json(),
        "signatures": ["serving_default"],
        "kept": [],
        "calibration": {"serving_default": str(folder / "spool")},
        "tables": None,
        "progress": False,
        "save": False,
    }


@pytest.mark.parametrize("explicit", [False, True], ids=["implicit", "explicit"])
@pytest.mark.parametrize("known", ["nothing", "a table", "a table that lacks one"])
def test_engines_are_built_by_custom_ranges_and_measured_ones(
    known: str,
    explicit: bool,
    golden: Any,
    table: CalibrationTable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Measuring, "graph_def", golden, raising=False)
    monkeypatch.setattr(Measuring, "did", [], raising=False)
    monkeypatch.setattr(engine_job, "SignatureV2", Measuring)
    relu = f"{PREFIX}re_lu_1/Relu"
    spec = ConversionSpec(
        "INT8",
        input_shapes=[{"image": (n, 16, 16, 3)} for n in (8, 1)],
        custom_ranges={relu: (-1.0, 6.0)},
        explicit_batch=explicit,
    )
    lacks = {"scales": f"{HEADER}\n", "tables": [], "segments": [], "ranged": [NORM]}
    measures = known != "a table"
    job = job_of(spec, tmp_path)
    if known == "a table":
        job.update(calibration={}, tables={"": table.serialize()})
    elif known == "a table that lacks one":
        job.update(calibrated={"serving_default": lacks})
    engine_job.convert_signatures(**job)
    (name,) = (found.canonical_name for found in engine_nodes(golden))
    (made,) = [one for one in Measuring.did if isinstance(one, CalibrationTable)]
    ranges = {f"{relu}:0": 6.0}
    assert made.serialize() == with_ranges(golden, {name: table}, ranges)[name].serialize()
    assert made != table
    built = [("build", (8, 16, 16, 3), (1, 16, 16, 3))]
    # Explicit batch is calibrated while it is built, which needs only the shape of the data.
    own = [("build", (4, 16, 16, 3))] if explicit else []
    measured = [*own, "measure", "discard"] if measures else []
    if explicit:
        assert Measuring.did == [*built, *measured, made]
    else:
        assert Measuring.did == [*measured, made, *built]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("relu_7", "the frozen graph has no tensor 'relu_7'"),
        (f"{PREFIX}re_lu_1/Relu", "the converted engines have no range of that name"),
    ],
    ids=["not in the model", "not in the converted model"],
)
def test_a_custom_range_must_fit_before_anything_is_measured(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Measuring, "graph_def", halves(), raising=False)
    monkeypatch.setattr(Measuring, "did", [], raising=False)
    monkeypatch.setattr(engine_job, "SignatureV2", Measuring)
    spec = ConversionSpec("INT8", custom_ranges={name: (0.0, 6.0)})
    with pytest.raises(SpecError, match=f"custom_ranges: .*{says}"):
        engine_job.convert_signatures(**job_of(spec, tmp_path))
    assert Measuring.did == []


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
