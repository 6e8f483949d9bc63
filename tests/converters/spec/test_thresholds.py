"""Compares the figures of a difference with plain NumPy, and tests their bounds."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copied_models import save

from converters.checks import differences as compare
from converters.checks.differences import DifferenceMeter, compare_arrays
from converters.checks.verify import verify
from converters.cli import main
from converters.spec.thresholds import Thresholds, default_thresholds
from converters.util.errors import SpecError

RNG = np.random.default_rng(7)


def test_figures_follow_their_formulas() -> None:
    native = np.array([0.0, 2.0, -4.0, 1.0])
    diff = compare_arrays(native, np.array([0.001, 2.5, -3.0, 1.0]))
    assert diff.max_abs == 1.0
    assert diff.mean_abs == pytest.approx(1.501 / 4)
    assert diff.scale == 4.0
    # max_rel divides by at least 0.001 * 4. So 0.001 / 0.004, 0.5 / 2 and 1 / 4 all give 0.25.
    assert diff.max_rel == pytest.approx(0.25)
    assert diff.cosine == pytest.approx(18.0 / math.sqrt(21.0 * (1e-6 + 6.25 + 9 + 1)))
    assert (diff.top1, diff.top5, diff.equal, diff.count) == (None, None, None, 4)
    assert diff.finite and not diff.problem


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_batches_and_chunks_add_up(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    native = RNG.normal(size=(12, 7, 3)).astype(dtype)
    converted = (native.astype(np.float64) + RNG.normal(size=native.shape) * 0.01).astype(dtype)
    whole = compare_arrays(native, converted)
    n, c = native.astype(np.float64), converted.astype(np.float64)
    assert whole.max_abs == np.abs(n - c).max() > 0
    assert whole.mean_abs == pytest.approx(np.abs(n - c).mean())
    assert whole.cosine == pytest.approx((n * c).sum() / np.linalg.norm(n) / np.linalg.norm(c))

    monkeypatch.setattr(compare, "CHUNK", 5)
    meter = DifferenceMeter("output")
    for start in range(0, 12, 4):
        meter.add(native[start : start + 4], converted[start : start + 4])
    parts = meter.result()
    assert parts.max_abs == whole.max_abs
    assert parts.mean_abs == pytest.approx(whole.mean_abs)
    assert parts.cosine == pytest.approx(whole.cosine)
    assert (parts.scale, parts.count) == (whole.scale, whole.count)


def test_class_agreement() -> None:
    native = np.array([[0.1, 0.9, 0, 0, 0, 0.2], [9, 1, 2, 3, 4, 5], [1, 1, 0, 0, 0, 0]], float)
    converted = np.array([[0.1, 0.8, 0, 0, 0, 0.3], [0, 1, 2, 3, 4, 5], [0, 2, 0, 0, 0, 0]], float)
    diff = compare_arrays(native, converted)
    # Row 1 has lost its class. Row 2 has one of two classes that tie, which counts as right.
    assert diff.top1 == pytest.approx(2 / 3)
    assert diff.top5 == pytest.approx(2 / 3)
    few = compare_arrays(native[:, :5], converted[:, :5])
    assert few.top1 == pytest.approx(2 / 3) and few.top5 is None


@pytest.mark.parametrize("shape", [(6,), (3, 1), (2, 3, 4), ()])
def test_only_scores_have_classes(shape: tuple[int, ...]) -> None:
    assert compare_arrays(np.ones(shape), np.ones(shape)).top1 is None


def test_rows_with_nan_agree_with_no_class() -> None:
    native = np.ones((2, 3))
    converted = np.array([[1, 1, 1], [np.nan, 1, 1]])
    assert compare_arrays(native, converted).top1 == 0.5


@pytest.mark.parametrize(
    ("native", "converted", "count"),
    [
        ([1.0, 2.0], [1.0, math.nan], 1),
        ([1.0, math.nan], [1.0, 2.0], 1),
        ([1.0, 2.0], [math.inf, 2.0], 1),
        ([math.inf, 1.0], [-math.inf, 1.0], 1),
        ([math.nan, math.inf, -math.inf, 1.0], [math.nan, math.inf, -math.inf, 1.5], 0),
    ],
)
def test_not_finite(native: list[float], converted: list[float], count: int) -> None:
    diff = compare_arrays(np.array(native), np.array(converted))
    assert diff.not_finite == count
    assert diff.finite == (count == 0)
    assert math.isfinite(diff.max_abs) and math.isfinite(diff.cosine)
    failures = Thresholds().failures(diff)
    assert len(failures) == (count > 0)
    if count:
        assert "NaN or infinite" in failures[0]
    else:
        assert diff.max_abs == 0.5


@pytest.mark.parametrize(
    ("native", "converted", "equal"),
    [
        (np.arange(4), np.array([0, 1, 2, 4]), 0.75),
        (np.array([True, False]), np.array([True, True]), 0.5),
        (np.array([b"a", b"bc"], object), np.array([b"a", b"bc"]), 1.0),
        (np.array([b"a", b"bc"], object), np.array([b"a", b"bd"], object), 0.5),
    ],
)
def test_exact_outputs(native: Any, converted: Any, equal: float) -> None:
    diff = compare_arrays(native, converted)
    assert diff.equal == equal
    assert bool(Thresholds().failures(diff)) == (equal < 1)
    assert not Thresholds(equal=0.5).failures(diff)
    # The bounds for floats do not apply to these outputs.
    assert not Thresholds(max_abs=0, cosine=1, top1=1, equal=None).failures(diff)


@pytest.mark.parametrize(
    ("native", "converted", "says"),
    [
        (np.ones(3, np.float32), np.ones(3, np.float16), "float16"),
        (np.ones((2, 3)), np.ones((3, 2)), r"\[3, 2\]"),
        (np.ones(0), np.ones(0), "nothing was compared: the output is empty in both"),
        (np.full(3, np.nan), np.full(3, np.nan), "all elements are NaN or infinite in both"),
        (
            np.array([np.inf, -np.inf]),
            np.array([np.inf, -np.inf]),
            "nothing was compared: .*--data",
        ),
        (np.ones(0), np.ones(1), r"shape \[0\]"),
        (np.ones(1, np.int32), np.ones(1, np.int64), "int64"),
    ],
)
def test_what_cannot_be_compared_fails(native: Any, converted: Any, says: str) -> None:
    diff = compare_arrays(native, converted)
    (failure,) = Thresholds().failures(diff)
    assert re.search(says, failure)
    assert diff.uncompared == failure.startswith("nothing was compared")


def test_a_dtype_that_changes_between_batches_fails() -> None:
    meter = DifferenceMeter("x")
    meter.add(np.ones(2), np.ones(2))
    meter.add(np.ones(2, np.float32), np.ones(2, np.float32))
    assert "became float32" in meter.result().problem


def test_zeros() -> None:
    zero, one = np.zeros(4), np.full(4, 0.25)
    assert compare_arrays(zero, zero).cosine == 1
    diff = compare_arrays(zero, one)
    assert (diff.cosine, diff.scale, diff.max_abs, diff.max_rel) == (0.0, 1.0, 0.25, 0.25)


def test_bounds_are_fractions_of_the_scale() -> None:
    native = RNG.normal(size=(50, 8))
    noise = RNG.normal(size=native.shape) * 0.01
    for factor in (1e-6, 1.0, 1e6):
        diff = compare_arrays(native * factor, (native + noise) * factor)
        relative = diff.max_abs / diff.scale
        assert not Thresholds(max_abs=relative * 1.01).failures(diff)
        (failure,) = Thresholds(max_abs=relative * 0.99).failures(diff)
        assert "max_abs" in failure and "threshold" in failure
        assert Thresholds(mean_abs=1e-5).failures(diff)
        assert Thresholds(max_rel=1e-5).failures(diff)
        assert Thresholds(cosine=1.0).failures(diff)


def test_defaults_grow_with_coarser_precision() -> None:
    bounds = [default_thresholds(name) for name in ("FP32", "fp16", "Int8")]
    for name in ("max_abs", "mean_abs"):
        values = [getattr(bound, name) for bound in bounds]
        assert values == sorted(values) and len(set(values)) == 3
    for name in ("cosine", "top1", "top5"):
        values = [getattr(bound, name) for bound in bounds]
        assert values == sorted(values, reverse=True) and len(set(values)) == 3
    generated = default_thresholds("INT8", generated=True)
    assert generated.top1 is None and generated.top5 is None
    assert generated.max_abs == bounds[2].max_abs
    with pytest.raises(SpecError, match="FP8"):
        default_thresholds("FP8")


def test_half_precision_passes_its_bounds_and_fails_finer_ones() -> None:
    """The test computes a layer in half precision, so the defaults meet real rounding errors."""
    x, w = RNG.normal(size=(64, 256)), RNG.normal(size=(256, 10)) / 16
    native = (x @ w).astype(np.float32)
    half = (x.astype(np.float16) @ w.astype(np.float16)).astype(np.float32)
    diff = compare_arrays(native, half)
    assert not default_thresholds("FP16").failures(diff)
    step = np.abs(x).max() / 127
    rounded = ((np.round(x / step) * step) @ w).astype(np.float32)
    diff = compare_arrays(native, rounded)
    assert not default_thresholds("INT8").failures(diff)
    assert default_thresholds("FP32").failures(diff)


@pytest.mark.parametrize(
    "bad",
    [{"max_abs": -1}, {"cosine": 2}, {"top1": "x"}, {"mean_abs": math.nan}, {"max_rel": True}],
)
def test_bad_thresholds_name_the_field(bad: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=next(iter(bad))):
        Thresholds(**bad)


def test_json() -> None:
    bound = default_thresholds("FP16")
    assert Thresholds.from_json(json.loads(json.dumps(bound.to_json()))) == bound
    with pytest.raises(SpecError, match="maxabs"):
        Thresholds.from_json({"maxabs": 1})
    diff = compare_arrays(np.array([1.0]), np.array([math.nan]), "scores")
    values = json.loads(json.dumps(diff.to_json(), allow_nan=False))
    assert values["name"] == "scores" and values["finite"] is False


verify_module = importlib.import_module("converters.checks.verify")
X = np.ones((4, 3), np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save(tmp_path_factory.mktemp("models") / "a"))


@pytest.fixture(params=["INT8", "FP16"])
def precision(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Sets the precision that verify finds in the engines. The model of these tests has none."""
    monkeypatch.setattr(verify_module, "precision_of", lambda *_: request.param)
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
