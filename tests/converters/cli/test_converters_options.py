"""Options of trt-convert: files, the spec in a file, and options that would have no effect."""

from __future__ import annotations

import importlib
import json
import os
import tempfile
from pathlib import Path

import pytest
from copied_models import save

from converters.cli import main
from converters.convert_model import _repeated
from converters.plans.extract_plan import extract_plans
from converters.spec.conversion_spec import ConversionSpec
from converters.util.errors import SpecError
from converters.util.shapes import ShapeRange

pytest_plugins = ["recorded_cli", "small_disk"]  # fixtures calls, small_disk and full_disk


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "a")


def test_a_page_replaces_nothing_unasked(model, tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.html"
    page.write_text("mine")
    command = ["inspect", str(model), "--no-ask", "--html", str(page)]
    with monkeypatch.context() as patch:
        inspect = importlib.import_module("converters.report.inspect_model")
        patch.setattr(inspect, "inspect_model", lambda *_, **__: pytest.fail("it was inspected"))
        assert main(command) == 1
    assert f"{page}: exists; name another file" in capsys.readouterr().err
    assert page.read_text() == "mine"
    assert main([*command, "--overwrite"]) == 0
    assert page.read_text().startswith("<!")
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_page_on_a_full_disk(model, full_disk, capsys):
    page = full_disk / "page.html"
    page.write_text("")
    command = ["inspect", str(model), "--no-ask", "--html", str(page), "--overwrite"]
    assert main(command) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith(f"trt-convert: {page} cannot be written: No space left on device")
    assert sorted(os.listdir(full_disk)) == ["filler", "page.html"] and page.read_text() == ""


def test_temporary_files_of_calibrate_on_a_full_disk(
    model, full_disk, tmp_path, monkeypatch, capsys
):
    """The file job.json, which tells the child what to do, does not fit on the disk."""
    monkeypatch.setattr(tempfile, "tempdir", str(full_disk))
    command = ["calibrate", str(model), str(tmp_path / "t"), "--quiet"]
    assert main([*command, "--calibrate", "not read by then"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"trt-convert: {full_disk}/trt-convert-") and "TMPDIR" in said
    assert "job.json cannot be written: No space left on device" in said
    assert os.listdir(full_disk) == ["filler"] and os.listdir(tmp_path) == ["small"]


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (PermissionError(13, "Permission denied", "/a/b"), "trt-convert: /a/b: Permission denied"),
        (OSError(5, "Input/output error"), "trt-convert: a file (--debug shows which): Input/out"),
    ],
)
def test_errors_of_files_are_not_of_stdout(monkeypatch, capsys, failure, says):
    def fail(*_, **__):
        raise failure

    monkeypatch.setattr(importlib.import_module("converters.convert_model"), "convert", fail)
    assert main(["convert", "in", "out"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith(says) and shown.err.count("\n") == 1
    with pytest.raises(OSError):
        main(["convert", "in", "out", "--debug"])


@pytest.mark.parametrize("record", [False, True], ids=["a spec", "a record"])
def test_a_spec_from_a_file_and_options_over_it(spec_of, tmp_path, record):
    written = ConversionSpec(precision="FP16", input_shapes=[{"x": (8, 2)}], op_denylist=["Relu"])
    values = written.resolved().to_json()
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({"spec": values, "files": {}} if record else values))
    assert spec_of("--spec", str(path)).resolved() == written.resolved()
    changed = spec_of("--spec", str(path), "--range", "x:1x2..8x2", "--explicit-batch")
    assert changed.input_shapes is None
    assert changed.shape_ranges == {"x": ShapeRange((1, 2), (8, 2))}
    assert changed.precision == "FP16" and changed.op_denylist == ("Relu",)


def test_what_was_asked_for_is_read_from_a_record(spec_of, tmp_path):
    """A record has the spec as the user gave it, and as the conversion completed it. --spec reads
    the first one: what the conversion filled in might contradict the new options."""
    asked = ConversionSpec(input_shapes=[{"x": (8, 2)}])
    path = tmp_path / "conversion.json"
    values = {"spec": asked.resolved().to_json(), "asked": asked.to_json(), "files": {}}
    path.write_text(json.dumps(values))
    same = spec_of("--spec", str(path))
    assert same.resolved() == asked.resolved()
    int8 = spec_of("--spec", str(path), "--precision", "int8", "--calibrate", "d").resolved()
    assert int8.require_int8 and int8.use_calibration
    two = spec_of("--spec", str(path), "--shape", "x:8x2", "--shape", "x:1x2").resolved()
    assert two.maximum_cached_engines == same.resolved().maximum_cached_engines + 1
    assert spec_of("--spec", str(path), "--range", "x:1x2..8x2").resolved().explicit_batch


INT8_SPECS = {
    "calibrated": {"calibration_table": "a.calib_table", "calibration_batches": 3},
    "by hand": {"use_calibration": False, "custom_ranges": {"x": (0.0, 1.0)}},
}


@pytest.mark.parametrize("fields", INT8_SPECS.values(), ids=INT8_SPECS)
@pytest.mark.parametrize(
    "options",
    [["--precision", "fp16"], ["--calibrate", "d"], ["--no-calibration"]],
    ids=["not INT8", "calibrated", "not calibrated"],
)
def test_options_over_an_int8_spec(spec_of, tmp_path, fields, options):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(ConversionSpec("INT8", **fields).to_json()))
    found = spec_of("--spec", str(path), *options).resolved()
    assert found.precision == ("FP16" if "fp16" in options else "INT8")
    assert found.use_calibration is ("--calibrate" in options)
    kept = fields.get("custom_ranges") if found.precision == "INT8" else None
    assert found.custom_ranges == kept


VERIFY = ["verify", "a", "b"]
CONVERT = ["convert", "in", "out"]


@pytest.mark.parametrize(
    "command",
    [
        [*VERIFY, "--data", ""],
        [*VERIFY, "--data", "a.npz", "--data", ""],
        [*CONVERT, "--verify-data", ""],
        [*CONVERT, "--calibrate", ""],
        [*CONVERT, "--spec", ""],
        [*CONVERT, "--denylist", ""],
        ["calibrate", "in", "table", "--calibrate", ""],
        ["inspect", "model", "--html", ""],
        ["inspect", "model", "--events", ""],
    ],
    ids=" ".join,
)
def test_an_empty_name(calls, capsys, command):
    assert main(command) == 2
    said = capsys.readouterr().err
    assert f"argument {command[-2]}: '' names nothing" in said and said.count("\n") == 1
    assert not calls


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ([*VERIFY, "--batch-size", "4"], "argument --batch-size: it cuts --data"),
        ([*VERIFY, "--shape", "x:4x3", "--data", "a.npz"], "argument --shape: it is of random"),
        ([*VERIFY, "--seed", "0", "--data", "a.npz"], "argument --seed: it is of random inputs"),
        (
            ["calibrate", "in", "table", "--calibrate", "d", "--calibration-table", "t"],
            "argument --calibration-table: calibrate measures, and writes to TABLE",
        ),
        ([*VERIFY, "--output", "y"], "argument --output: it is of a frozen graph"),
        (["verify", "a.keras", "b", "--output", "y"], "argument --output: it is of a frozen graph"),
        ([*CONVERT, "--no-verify", "--bisect"], "argument --bisect: not allowed with --no-verify"),
        ([*CONVERT, "--no-verify", "--verify-data", "x.npz"], "argument --verify-data: not all"),
        ([*CONVERT, "--no-verify", "--threshold", "top1=1"], "argument --threshold: not allowed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_without_effect(calls, capsys, command, says):
    assert main(command) == 2
    said = capsys.readouterr().err
    assert says in said and "--help" in said and said.count("\n") == 1
    assert not calls


@pytest.mark.parametrize("models", [("a.pb", "b"), ("a", "b.pb"), ("a.meta", "b")])
def test_outputs_of_graphs(monkeypatch, models):
    seen = []
    verify = importlib.import_module("converters.checks.verify")
    monkeypatch.setattr(verify, "verify", lambda *_, **given: seen.append(given["outputs"]) or 1)
    # The replaced verify returns 1, which is no report, so main fails after the call.
    with pytest.raises(AttributeError):
        main(["verify", *models, "--output", "y", "--quiet"])
    assert seen == [["y"]]


def test_a_repeated_conversion_that_does_not_verify():
    assert _repeated({"verify_data": None}, False, False) == (["--no-verify"], None)


def test_the_data_of_a_repeated_conversion(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    data = {"build_data": ["a.mp4"], "calibration_data": None, "verify_data": "x.npz"}
    options = ["--build-data", str(tmp_path / "a.mp4"), "--verify-data", str(tmp_path / "x.npz")]
    assert _repeated(data, True, False) == (options, None)
    arguments, missing = _repeated({**data, "build_data": [[0.5]]}, True, False)
    assert not arguments and "build_data was a Python object" in missing


@pytest.mark.parametrize("bound", ["max_abs=inf", "cosine=-0.5", "top1=-1", "max_rel=nan"])
@pytest.mark.parametrize("command", [VERIFY, CONVERT], ids=" ".join)
def test_thresholds_that_no_figure_has(capsys, bound, command):
    assert main([*command, "--threshold", bound]) == 1
    assert "it is finite and at least 0, or None (none)" in capsys.readouterr().err


@pytest.mark.parametrize("tolerance", ["nan", "-1", "inf"])
def test_tolerances_that_no_difference_has(tmp_path, tolerance):
    with pytest.raises(SpecError, match=f"tolerance is {float(tolerance)}"):
        extract_plans(tmp_path / "none", tmp_path / "out", tolerance=float(tolerance))


@pytest.mark.parametrize(("command", "default"), [("convert", "FP32"), ("calibrate", "INT8")])
def test_the_precision_in_the_help(capsys, command, default):
    assert main([command, "--help"]) == 0
    assert f"default {default}" in capsys.readouterr().out
