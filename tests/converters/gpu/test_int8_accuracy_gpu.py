"""INT8 from quantize nodes costs a trained network at most one percent of its accuracy.
test_labels_gpu.py measures calibrated INT8."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import tensorflow as tf
from digits import accuracy, input_of, pictures_and_labels, save_wide
from gpu_conversions import spec_of

from converters import convert
from converters.spec.thresholds import Thresholds

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

BATCH = 100


def test_one_percent_at_the_most(tmp_path: Path) -> None:
    training, known, pictures, labels = pictures_and_labels()
    with tf.device("CPU:0"):  # A GPU machine may lack cuDNN's libraries for training.
        save_wide(tmp_path / "model", training, known)
    name, shape = input_of(tmp_path / "model"), (BATCH, 16, 16, 1)
    report = convert(
        tmp_path / "model",
        tmp_path / "out",
        # Only the mean has a bound: if the network is not sure of a digit, the probabilities may
        # change by any amount.
        dataclasses.replace(
            spec_of("INT8", "explicit", {name: shape}),
            signatures=["serving_default"],
            thresholds=Thresholds(mean_abs=0.02),
        ),
        calibration_data=(training[i : i + BATCH] for i in range(0, 1000, BATCH)),
        verify_data=[pictures[i : i + BATCH] for i in range(0, len(pictures), BATCH)],
    )
    assert report.calibration["int8_share"] > 0
    native = accuracy(tmp_path / "model", pictures, labels)
    converted = accuracy(tmp_path / "out", pictures, labels)
    print(f"{converted:.4f} of {native:.4f}, INT8 in {report.calibration['int8_share']:.2f}")
    assert native > 0.95
    assert converted >= native - 0.01
