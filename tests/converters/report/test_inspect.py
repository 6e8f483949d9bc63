"""inspect_model counts nodes, explains what is left out, and forecasts. If TF-TRT gave a reason,
the report shows it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import gpu_models
import pytest
from trt_graphs import SEGMENTED, GraphMaker, asset, chain, with_plans

from converters.model.trt_graph import engine_nodes, load_graph
from converters.report.inspect_model import inspect_model
from converters.report.report_data import NodeCount
from converters.segments import exclusions
from converters.segments.exclusions import category_of, read_detailed_report, read_segmenter_log
from converters.segments.segmenter import SegmenterOptions, tftrt_is_compiled_in
from converters.util.errors import ModelError, UnavailableError

CUMSUM = (
    "PartitionedCall/StatefulPartitionedCall/StatefulPartitionedCall/sequential_1/lambda_1/Cumsum"
)

needs_tftrt = pytest.mark.skipif(
    not tftrt_is_compiled_in(), reason="this TensorFlow has no TF-TRT inside"
)


def test_a_converted_model_is_counted() -> None:
    report = inspect_model(SEGMENTED / "two_engines", ask=False)
    assert not report.forecast
    assert [engine.name for engine in report.engines] == [
        "TRTEngineOp_000_000",
        "TRTEngineOp_000_001",
    ]
    first, second = report.engines
    assert (first.nodes, first.compute_nodes) == (10, 6)
    assert (second.nodes, second.compute_nodes) == (12, 7)
    assert (first.precision, first.mode, first.batch) == ("FP16", "dynamic", "explicit")
    assert first.inputs[0].tensor == "serving_default_image:0"
    assert first.inputs[0].shape == (None, 8, 8, 3)
    assert first.problems == ("no plan is saved: TensorFlow builds it at the first request",)
    # Outside of the engines are a placeholder, the Cumsum with its axis, and two identities.
    assert report.nodes_after == NodeCount(7, 3)
    assert report.plumbing == {"Identity": 2, "Placeholder": 1, "Const": 1}
    assert report.nodes_before == NodeCount(5 + 22, 1 + 13)
    assert report.before_from == "reconstructed"
    assert report.converted_compute == 13
    assert report.share_converted == pytest.approx(13 / 14)
    (out,) = report.left_out
    assert (out.node, out.op, out.signature) == (CUMSUM, "Cumsum", "serving_default")
    assert (out.category, out.source) == (exclusions.UNSUPPORTED_OP, exclusions.RULE)


def test_a_converted_graph_is_counted() -> None:
    report = inspect_model(SEGMENTED / "frozen.pb", ask=False)
    assert report.kind == "frozen_graph"
    assert [engine.compute_nodes for engine in report.engines] == [6, 7]
    assert {engine.batch for engine in report.engines} == {"implicit"}
    assert [out.op for out in report.left_out] == ["Cumsum"]


def test_the_original_gives_the_nodes_before() -> None:
    report = inspect_model(SEGMENTED / "two_engines", SEGMENTED / "two_engines_native", ask=False)
    assert report.before_from == "original"
    native = inspect_model(SEGMENTED / "two_engines_native", ask=False)
    assert report.nodes_before == native.nodes_before
    assert report.nodes_before.total > report.nodes_after.total


def test_a_model_that_is_one_engine_has_nothing_left() -> None:
    report = inspect_model(SEGMENTED / "whole", ask=False)
    assert (report.share_converted, report.left_out) == (1.0, ())
    assert "100.0 %" in str(report)


def test_plans_are_measured(tmp_path: Path) -> None:
    model = with_plans("two_engines", tmp_path, batches=(2, 8))
    report = inspect_model(model, ask=False)
    first = report.engines[0]
    assert [plan.input_shapes for plan in first.plans] == [((8, 8, 8, 3),), ((2, 8, 8, 3),)]
    assert [plan.size for plan in first.plans] == [1800, 1200]
    assert first.plan_bytes == 3000
    assert {plan.tensorrt_version for plan in first.plans} == {"8.6.0.12"}
    assert len({plan.sha256 for engine in report.engines for plan in engine.plans}) == 4
    assert first.problems == ("2 plans but a cache of 1: loading evicts some",)
    assert "5.9 KiB" in str(report)


def test_a_damaged_file_of_plans_is_reported(tmp_path: Path) -> None:
    model = with_plans("whole", tmp_path)
    (engine,) = engine_nodes(load_graph(model).graph_def)
    path = asset(model, engine)
    path.write_bytes(path.read_bytes()[:-1])
    (found,) = inspect_model(model, ask=False).engines
    assert found.plans == ()
    assert "record 0" in found.problems[0]
    assert str(path) in found.problems[0]


@pytest.fixture
def static_graph(tmp_path: Path) -> Path:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.engine(
        "e",
        ["x"],
        {"a": "Conv2D", "b": "Const"},
        static_engine=True,
        serialized_segment=b"ftrt" + bytes(30),
        max_batch_size=16,
        _use_implicit_batch=True,
        use_calibration=True,
        precision_mode=b"INT8",
        calibration_data=b"TRT-8600-EntropyCalibration2\nx: 3c010a14\ny: 3c010a14\n",
    )
    maker.node("Identity", "y", ["e"])
    return maker.write(tmp_path / "static.pb")


def test_a_static_engine_has_its_plan_and_batch(static_graph: Path) -> None:
    (engine,) = inspect_model(static_graph, ask=False).engines
    assert (engine.mode, engine.batch, engine.precision) == ("static", "implicit", "INT8")
    (plan,) = engine.plans
    assert (plan.input_shapes, plan.size) == (((16, 4, 4, 2),), 34)
    assert plan.tensorrt_version is None
    assert engine.calibrated_tensors == 2
    assert engine.problems == ()


def test_the_detailed_report_is_read(tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_text(
        "OP Name|Reason|Count\nCast|Data type a|b is\nnot supported|3\nNoOp|Op type NoOp|1\n"
    )
    rows = read_detailed_report(path)
    assert [(row.op, row.reason, row.count) for row in rows] == [
        ("Cast", "Data type a|b is\nnot supported", 3),
        ("NoOp", "Op type NoOp", 1),
    ]
    golden = read_detailed_report(
        SEGMENTED / "two_engines_reports" / "left_out.serving_default.csv"
    )
    assert ("Cumsum", "Op type Cumsum is not supported.", 1) in [
        (row.op, row.reason, row.count) for row in golden
    ]
    for text in ("", "other,header\n", "OP Name|Reason|Count\nCast|cut of"):
        path.write_text(text)
        with pytest.raises(ModelError, match="report.csv"):
            read_detailed_report(path)


def test_the_segmenters_log_is_read() -> None:
    log = read_segmenter_log((SEGMENTED / "two_engines_reports" / "conversion.log").read_text())
    name = "StatefulPartitionedCall/StatefulPartitionedCall/sequential_1/lambda_1/Cumsum"
    assert log.excluded[name] == "Op type Cumsum is not supported."
    assert "_SOURCE" not in log.excluded
    assert log.too_small == log.over_limit == log.failed == {}


LIMITED = """\
T1: I s.cc:922] Not a TF-TRT candidate, (Op type: NoOp), (Op name: _SOURCE), (Reason: x)
T1: I s.cc:922] Not a TF-TRT candidate, (Op type: Cast), (Op name: c), (Reason: Data type (x)
second line)
T2: I s.cc:1210] Nodes in segment 0 with parent=a:
[Op type: Relu] a
[Op type: Relu] b
T3: I s.cc:1210] Nodes in segment 1 with parent=d:
[Op type: Relu] d
T4: I s.cc:1224] Segment 1 has only 1 effective nodes, dropping
T5: I s.cc:1224] Segment 1 has only 0 effective nodes, dropping
T6: I s.cc:1210] Nodes in segment 1 with parent=e:
[Op type: Relu] e
[Op type: Relu] f
[Op type: Relu] g
T7: I s.cc:1272] [*] Segment 0 [node count: 2] rejected.
T8: W g.cc:9] Cannot replace segment 0 consisting of 3 nodes by ENGINE reason: INTERNAL: no memory
"""
LIMITED = re.sub("^T", "2026-01-01 00:00:00.00000", LIMITED, flags=re.MULTILINE)


def test_the_log_tells_small_and_rejected_segments_apart() -> None:
    log = read_segmenter_log("something else\n" + LIMITED)
    assert log.excluded == {"c": "Data type (x)\nsecond line"}
    assert log.too_small == {"d": 1}
    assert log.over_limit == {"a": 2, "b": 2}
    assert list(log.failed) == ["ENGINE"]
    assert not read_segmenter_log("nothing of the kind\n")


@pytest.mark.parametrize(
    ("reason", "category"),
    [
        ("Op type Cumsum is not supported.", exclusions.UNSUPPORTED_OP),
        ("Data type int64 is not supported for Cast, must be one of [x]", exclusions.DTYPE),
        ("implicit batch mode requires input shape with at least two dimensions", exclusions.SHAPE),
        ("dynamic non-batch dimensions not allowed", exclusions.SHAPE),
        ("Denylisted with the env var TF_TRT_OP_DENYLIST", exclusions.DENYLISTED),
        ("excluded by segmenter option. Most likely an input or output node.", exclusions.OUTPUT),
        ("node can't be placed on GPU", exclusions.DEVICE),
        ('The input "filter" for Conv2D must be a constant', exclusions.ATTRIBUTE),
    ],
)
def test_reasons_have_categories(reason: str, category: str) -> None:
    assert category_of(reason) == category


def recorded(folder: Path, *names: str, spec: dict[str, object] | None = None) -> Path:
    model = folder / "model"
    shutil.copytree(SEGMENTED / "two_engines", model)
    for name in names:
        shutil.copy(SEGMENTED / "two_engines_reports" / name, model)
    if spec is not None:
        (model / "conversion.json").write_text(json.dumps({"spec": spec}))
    return model


def test_reasons_that_were_recorded_come_first(tmp_path: Path) -> None:
    for i, name in enumerate(("conversion.log", "left_out.serving_default.csv")):
        report = inspect_model(recorded(tmp_path / str(i), name), ask=False)
        (out,) = report.left_out
        assert (out.reason, out.source) == ("Op type Cumsum is not supported.", exclusions.RECORDED)
        assert report.reasons_from == exclusions.RECORDED


def test_the_record_can_lie_elsewhere(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    shutil.copytree(SEGMENTED / "two_engines_reports", reports)
    (reports / "conversion.json").write_text('{"spec": {"precision": "FP16"}}')
    for record in (reports, reports / "conversion.json"):
        report = inspect_model(SEGMENTED / "two_engines", record=record, ask=False)
        assert report.left_out[0].source == exclusions.RECORDED
    with pytest.raises(ModelError, match="does not exist"):
        inspect_model(SEGMENTED / "two_engines", record=tmp_path / "none.json", ask=False)
    (tmp_path / "none.json").write_text("{")
    with pytest.raises(ModelError, match=r"none\.json is no readable record"):
        inspect_model(SEGMENTED / "two_engines", record=tmp_path / "none.json", ask=False)


def test_a_denied_node_is_not_called_an_output(tmp_path: Path) -> None:
    model = recorded(tmp_path, "conversion.log", spec={"node_denylist": [CUMSUM.split("/", 1)[1]]})
    log = model / "conversion.log"
    log.write_text(
        log.read_text().replace(
            "Op type Cumsum is not supported.",
            "excluded by segmenter option. Most likely an input or output node.",
        )
    )
    (out,) = inspect_model(model, ask=False).left_out
    assert (out.category, out.source) == (exclusions.DENYLISTED, exclusions.RECORDED)


def test_the_rules_choose_among_several_recorded_reasons(tmp_path: Path) -> None:
    model = recorded(tmp_path, "left_out.serving_default.csv")
    with open(model / "left_out.serving_default.csv", "a") as file:
        file.write("Cumsum|Data type int64 is not supported for Cumsum|7\n")
    (out,) = inspect_model(model, ask=False).left_out
    assert out.category == exclusions.UNSUPPORTED_OP


# Forecasts, by the rules and by TF-TRT's segmenter.


def test_an_unconverted_model_gets_a_forecast() -> None:
    report = inspect_model(SEGMENTED / "two_engines_native", ask=False)
    assert report.forecast
    assert report.reasons_from == exclusions.RULE
    assert len(report.engines) == 2
    assert [engine.name for engine in report.engines] == ["engine 0", "engine 1"]
    first = report.engines[0]
    assert first.ops == {"BiasAdd": 2, "Conv2D": 2, "Relu": 2}
    assert [(t.tensor, t.shape) for t in first.inputs] == [
        ("serving_default_image:0", (None, 8, 8, 3))
    ]
    assert first.outputs[0].shape == (None, 8, 8, 4)
    assert [out.op for out in report.left_out] == ["Cumsum"]
    assert report.nodes_after.compute == 3
    assert any("forecast by rule" in note for note in report.notes)


def test_options_change_the_forecast() -> None:
    options = SegmenterOptions(minimum_segment_size=12, op_denylist=("Softmax",))
    report = inspect_model(SEGMENTED / "two_engines_native", options=options, ask=False)
    assert len(report.engines) == 0
    assert set(report.categories) == {
        exclusions.TOO_SMALL,
        exclusions.UNSUPPORTED_OP,
        exclusions.DENYLISTED,
    }


@needs_tftrt
@pytest.mark.slow
def test_tftrt_asked_agrees_with_its_golden_graph() -> None:
    report = inspect_model(SEGMENTED / "two_engines_native", ask=True)
    assert report.forecast
    assert report.reasons_from == exclusions.ASKED
    golden = inspect_model(SEGMENTED / "two_engines", ask=False)
    assert sorted(e.node_names for e in report.engines) == sorted(
        e.node_names for e in golden.engines
    )
    (out,) = report.left_out
    assert (out.reason, out.source) == ("Op type Cumsum is not supported.", exclusions.ASKED)
    # The rules say the same, except for nodes that constant folding removes.
    rules = inspect_model(SEGMENTED / "two_engines_native", ask=False)
    for asked, ruled in zip(report.engines, rules.engines):
        assert asked.compute_nodes == ruled.compute_nodes


@needs_tftrt
@pytest.mark.slow
def test_tftrt_is_asked_about_the_original() -> None:
    report = inspect_model(SEGMENTED / "frozen.pb", SEGMENTED / "frozen_native.pb", ask=True)
    assert report.left_out[0].source == exclusions.ASKED
    assert report.before_from == "original"


@needs_tftrt
@pytest.mark.slow
def test_tftrt_has_no_converter_for_the_gap_of_the_gpu_tests(tmp_path: Path) -> None:
    report = inspect_model(gpu_models.save_with_gap(tmp_path / "gap"), ask=True)
    assert len(report.engines) == 2
    (out,) = report.left_out
    assert (out.op, out.category) == ("Cumsum", exclusions.UNSUPPORTED_OP)
    assert (out.reason, out.source) == ("Op type Cumsum is not supported.", exclusions.ASKED)


@needs_tftrt
def test_what_the_segmenter_cannot_read_falls_back_to_rules(tmp_path: Path) -> None:
    maker = chain("Relu", "Relu", "Relu", "OpOfNobody")
    path = maker.write(tmp_path / "g.pb")
    report = inspect_model(path)
    assert report.reasons_from == exclusions.RULE
    assert any("OpOfNobody" in note for note in report.notes)
    with pytest.raises(UnavailableError, match="OpOfNobody"):
        inspect_model(path, ask=True)


@pytest.mark.skipif(tftrt_is_compiled_in(), reason="this TensorFlow has TF-TRT inside")
def test_without_tftrt_asking_is_refused() -> None:
    with pytest.raises(UnavailableError, match="has no TF-TRT inside"):
        inspect_model(SEGMENTED / "two_engines_native", ask=True)
    assert inspect_model(SEGMENTED / "two_engines_native").reasons_from == exclusions.RULE


# The report as data and as text.


def test_the_json_form_has_its_keys(tmp_path: Path) -> None:
    report = inspect_model(with_plans("two_engines", tmp_path), ask=False)
    values = json.loads(json.dumps(report.to_json()))
    assert set(values) == {
        *("schema", "path", "kind", "tags", "tensorflow_version", "signatures", "forecast"),
        *("reasons_from", "nodes_before", "before_from", "nodes_after", "engines", "left_out"),
        *("plumbing", "notes", "advice", "share_converted", "left_out_ops", "layers"),
    }
    assert values["schema"] == 1
    assert values["share_converted"] == pytest.approx(13 / 14)
    assert values["signatures"]["serving_default"]["inputs"]["image"] == {
        "tensor": "serving_default_image:0",
        "dtype": "float32",
        "shape": [None, 8, 8, 3],
    }
    assert values["engines"][0]["plan_bytes"] == 1400
    assert values["engines"][0]["plans"][0]["input_shapes"] == [[4, 8, 8, 3]]
    assert values["left_out_ops"][0]["count"] == 1


def test_the_text_names_engines_and_reasons() -> None:
    text = str(inspect_model(SEGMENTED / "two_engines", ask=False))
    for part in (
        "92.9 % of 14 compute nodes are in 2 engines",
        "TRTEngineOp_000_001",
        "float32 ?x8x8x3",
        "Cumsum  1      unsupported op  TF-TRT has no converter for Cumsum",
        CUMSUM,
        "by rule",
    ):
        assert part in text


def test_signatures_that_are_one_graph_are_shown_once() -> None:
    from converters.report.inspect_model import distinct

    flat = chain("Relu", "Relu", "Relu").flat(Path("g"))
    other = chain("Relu", "Relu").flat(Path("g"))
    assert distinct([flat, flat, other]) == [flat, other]
