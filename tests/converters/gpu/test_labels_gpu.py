"""A trained network keeps its accuracy in each precision, on digits that it has not seen."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import digits
import numpy as np
import pytest
import tensorflow as tf
from gpu_conversions import spec_of

from converters import convert, verify_labels
from converters.checks.label_report import LabelReport
from converters.spec.thresholds import Thresholds

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

BATCH = 100


class Digits:
    """A trained network, and 1000 labelled digits."""

    def __init__(self, folder: Path) -> None:
        known, classes, pictures, labels = digits.pictures_and_labels(797)
        self.model, self.data = folder / "model", folder / "digits.npz"
        self.calibration = [known[i : i + BATCH] for i in range(0, 700, BATCH)]
        self.pictures = pictures
        with tf.device("CPU:0"):  # A GPU machine may lack cuDNN's libraries for training.
            digits.save_wide(self.model, known, classes)
        self.name = digits.input_of(self.model)
        np.savez(self.data, labels=labels, **{self.name: pictures})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Digits:
    return Digits(tmp_path_factory.mktemp("digits"))


def converted(
    trained: Digits, out: Path, precision: str, mode: str = "implicit", batch: int = BATCH
) -> Path:
    spec = dataclasses.replace(
        spec_of(precision, mode, {trained.name: (batch, 16, 16, 1)}),
        signatures=["serving_default"],
        # If the network is not sure of a digit, the probabilities may change by any amount.
        thresholds=Thresholds(mean_abs=0.02),
    )
    convert(
        trained.model,
        out,
        spec,
        calibration_data=trained.calibration if precision == "INT8" else None,
        verify_data=[trained.pictures[:batch]],
    )
    return out


@pytest.mark.parametrize(("precision", "points"), [("FP32", 0.1), ("FP16", 0.1), ("INT8", 1.0)])
def test_digits_are_still_recognised(
    trained: Digits, tmp_path: Path, precision: str, points: float
) -> None:
    out = converted(trained, tmp_path / "out", precision)
    report = verify_labels(trained.model, out, trained.data, batch_size=BATCH)
    print(report)
    assert report.passed and not report.notes
    assert report.precision == precision and report.max_drop == points
    for share in (report.native_hits.top1, report.converted_hits.top1):
        assert share >= 0.95 * report.examples
    for name in ("top1", "top5"):
        assert abs(report.difference(name) or 0) <= points


def test_shapes_without_an_engine_prove_nothing(trained: Digits, tmp_path: Path) -> None:
    out = converted(trained, tmp_path / "out", "FP16", "explicit", batch=8)
    report: LabelReport = verify_labels(trained.model, out, trained.data, batch_size=BATCH)
    assert not report.passed
    assert "no engine serves" in report.failures()[0]
