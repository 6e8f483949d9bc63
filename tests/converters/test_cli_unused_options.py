"""Options that name nothing or have no effect are refused, not dropped."""

from __future__ import annotations

import importlib

import pytest

from converters.cli import main
from converters.convert_model import _repeated
from converters.plans.extract_plan import extract_plans
from converters.util.errors import SpecError

pytest_plugins = ["recorded_cli"]  # fixture calls

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
    with pytest.raises(AttributeError):  # 1 is no report
        main(["verify", *models, "--output", "y", "--quiet"])
    assert seen == [["y"]]


def test_a_repeated_conversion_that_does_not_verify():
    assert _repeated(None, "x.npz", False, False) == (["--no-verify"], None)


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
