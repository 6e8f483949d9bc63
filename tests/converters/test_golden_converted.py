"""Tests the golden converted models. Their files are those that the script made, and inspect_model
reads them."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_event_files import graph_of, ops

from converters import extract_plans, inspect_model
from converters.checks.runnable import load_signatures, require_same_gpu
from converters.cli.app import main
from converters.int8.calibration_table import CalibrationTable
from converters.model.engine_file import read_engine_file
from converters.model.trt_graph import engine_nodes, load_graph
from converters.util.errors import PlanError

CONVERTED = Path(__file__).resolve().parent.parent / "golden" / "converted"
MADE: dict[str, Any] = json.loads((CONVERTED / "PROVENANCE.json").read_text())["models"]
ENGINES = {"fp16_explicit": 1, "fp32_two_shapes": 1, "int8": 1, "fp16_gap": 2, "static": 1}


def source_of(name: str) -> Path:
    return CONVERTED / str(MADE[name]["source"])


def test_the_models_are_those_that_were_made() -> None:
    assert set(MADE) == set(ENGINES)
    for name, made in MADE.items():
        compared = made["comparisons"]
        assert compared and all(c["passed"] and c["tolerance"] == 0 for c in compared), name


@pytest.mark.parametrize("name", ENGINES)
def test_inspection(name: str) -> None:
    report = inspect_model(CONVERTED / name, source_of(name), ask=False)
    assert len(report.engines) == ENGINES[name]
    spec = MADE[name]["spec"]
    assert {engine.precision for engine in report.engines} == {spec["precision"]}
    assert all(engine.plan_bytes > 10_000 for engine in report.engines)
    assert report.reasons_from == "recorded"
    assert json.loads(json.dumps(report.to_json()))
    for engine in report.engines:
        assert engine.name in str(report)


def test_a_smaller_batch_has_no_engine_of_its_own() -> None:
    """The pages say so of implicit batch: the engine of the largest batch serves the others."""
    name = "fp32_two_shapes"
    assert [shapes["image"][0] for shapes in MADE[name]["spec"]["input_shapes"]] == [1, 8]
    (engine,) = inspect_model(CONVERTED / name, ask=False).engines
    assert engine.batch == "implicit"
    assert [plan.input_shapes for plan in engine.plans] == [((8, 16, 16, 3),)]


@pytest.mark.parametrize("name", ENGINES)
def test_page_and_events(name: str, tmp_path: Path) -> None:
    command = ["inspect", str(CONVERTED / name), "--original", str(source_of(name)), "--no-ask"]
    command += ["--html", str(tmp_path / "page.html"), "--events", str(tmp_path / "events")]
    assert main(command) == 0
    page = (tmp_path / "page.html").read_text()
    engines = inspect_model(CONVERTED / name, source_of(name), ask=False).engines
    assert all(engine.name in page for engine in engines)
    graphs = [graph_of(path) for path in (tmp_path / "events").rglob("events.*")]
    in_engines = sorted(ops(graph).count("TRTEngineOp") for graph in graphs)
    assert in_engines == [0, ENGINES[name]]


def test_the_op_that_was_left_out_is_told() -> None:
    """This model has a sort between its convolutions. TF-TRT converts the sort's op only under
    conditions, and the report says which one does not hold."""
    report = inspect_model(CONVERTED / "fp16_gap", source_of("fp16_gap"), ask=False)
    assert 'The input "k" for TopKV2 must be a constant' in str(report)


@pytest.mark.parametrize("name", ENGINES)
def test_plans(name: str, tmp_path: Path) -> None:
    made = extract_plans(CONVERTED / name, tmp_path / "plans", partial=True, compare=False)
    files = [json_engine["plan"] for json_engine in MADE[name]["comparisons"]]
    assert sorted(plan.file for plan in made.plans) == sorted(files)
    for plan in made.plans:
        data = (tmp_path / "plans" / plan.file).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (plan.size, plan.sha256)
        assert plan.tensorrt_version.startswith("8.6.0")
        assert plan.precision == MADE[name]["spec"]["precision"]
        inputs = [binding for binding in plan.bindings if binding.io == "input"]
        assert inputs and inputs[0].name == "TensorRTInputPH_0"


def test_a_part_is_no_whole_model(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="it has 2 engines"):
        extract_plans(CONVERTED / "fp16_gap", tmp_path / "plans")
    assert not (tmp_path / "plans").exists()


def test_the_calibration_table_is_in_the_graph() -> None:
    (engine,) = engine_nodes(load_graph(CONVERTED / "int8").graph_def)
    table = CalibrationTable.parse(engine.calibration_table)
    assert table.header.startswith("TRT-8600-")
    assert "TensorRTInputPH_0" in table.scales
    assert all(scale > 0 for scale in table.scales.values())


@pytest.mark.parametrize("name", ENGINES)
def test_engines_for_another_gpu(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CONVERTED / name

    def here(*capabilities: str) -> None:
        gpus = [{"name": "NVIDIA X", "compute_capability": found} for found in capabilities]
        monkeypatch.setattr("converters.checks.runnable.cuda", lambda: {"gpus": gpus})

    says = r"has engines for NVIDIA H200 \(compute capability 9\.0\).*here is NVIDIA X .*8\.0\)"
    here("8.0", "8.0")
    with pytest.raises(PlanError, match=f"{name} {says}, which cannot run them: convert"):
        load_signatures(model)
    with pytest.raises(PlanError, match=says):
        extract_plans(model, tmp_path / "plans", partial=True, compare=True)
    assert not (tmp_path / "plans").exists()
    made = extract_plans(model, tmp_path / "plans", partial=True)
    assert "cannot run them" in made.not_compared
    for capabilities in (("8.0", "9.0"), ()):
        here(*capabilities)
        require_same_gpu(load_graph(model))
    here("8.0")
    require_same_gpu(load_graph(source_of(name)))  # A model without engines runs on any GPU.


def test_a_cut_engine_file_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(CONVERTED / "fp16_explicit", model)
    (asset,) = (model / "assets").iterdir()
    assert len(read_engine_file(asset)) == 1
    asset.write_bytes(asset.read_bytes()[:-1000])
    with pytest.raises(PlanError, match=asset.name):
        extract_plans(model, tmp_path / "plans", compare=False)


GOLDEN = Path(__file__).resolve().parent.parent / "golden"
RECORDS = sorted(GOLDEN.glob("*/PROVENANCE.json"))


def test_there_are_records() -> None:
    assert {record.parent.name for record in RECORDS} >= {"converted", "segmented"}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: str(record.parent.name))
def test_every_file_is_as_it_was_made(record: Path) -> None:
    made = json.loads(record.read_text())["sha256"]
    folder = record.parent
    there = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path != record
    }
    assert sorted(there) == sorted(made)
    changed = [name for name, digest in there.items() if made[name] != digest]
    assert not changed, f"{record} has other hashes; make them again by its command"
