"""The bounds of a verification: those of the engines' precision, and single ones in their place."""

from __future__ import annotations

import dataclasses
import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from copied_models import save

from converters.checks.verify import verify
from converters.cli import main
from converters.spec.thresholds import Thresholds, default_thresholds
from converters.util.errors import SpecError

verify_module = importlib.import_module("converters.checks.verify")
X = np.ones((4, 3), np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save(tmp_path_factory.mktemp("models") / "a"))


@pytest.fixture(params=["INT8", "FP16"])
def precision(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the engines of the converted model have; here there are none."""
    monkeypatch.setattr(verify_module, "_precision_of", lambda *_: request.param)
    return str(request.param)


@pytest.mark.parametrize("data", [None, X])
def test_a_bound_leaves_the_others_as_they_are(model: str, precision: str, data: object) -> None:
    plain = verify(model, model, data)
    report = verify(model, model, data, thresholds={"max_abs": 0.3, "top5": None})
    assert report.precision == plain.precision == precision
    (one,), (other,) = report.outputs, plain.outputs
    assert one.thresholds == dataclasses.replace(other.thresholds, max_abs=0.3, top5=None)
    assert other.thresholds == default_thresholds(precision, data is None)


def test_the_option(model: str, precision: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--threshold", "max_abs=0.3", "--threshold", "top1=none", "--json", "--quiet"]
    assert main(["verify", model, model, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    bounds = dataclasses.replace(default_thresholds(precision, True), max_abs=0.3, top1=None)
    assert found["precision"] == precision
    assert found["outputs"][0]["thresholds"] == bounds.to_json()
    assert main(["verify", model, model, *options, "--precision", "fp32"]) == 0
    assert json.loads(capsys.readouterr().out)["precision"] == "FP32"


def test_bounds_of_ones_own_are_all_of_them(model: str, precision: str) -> None:
    report = verify(model, model, thresholds=Thresholds(max_abs=0.3))
    assert report.precision is None and report.outputs[0].thresholds == Thresholds(max_abs=0.3)


def test_a_figure_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no figure 'speed'"):
        verify(tmp_path / "none", tmp_path / "none", thresholds={"speed": 1.0})
