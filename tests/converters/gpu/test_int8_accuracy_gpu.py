"""INT8 costs a trained network at most one percent of its accuracy. The network is wide, so that
TensorRT takes INT8 kernels."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import gpu_models
import numpy as np
import pytest
import tensorflow as tf
from digits import accuracy, input_of, pictures_and_labels
from gpu_conversions import spec_of

from converters import convert
from converters.spec.thresholds import Thresholds

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

BATCH = 100


def save_wide(folder: Path, pictures: np.ndarray, labels: np.ndarray) -> None:
    """Saves a network of random convolutions with 256 and 512 channels, and one trained layer that
    reads them."""
    tf.keras.utils.set_random_seed(0)
    image = tf.keras.Input((16, 16, 1), name="image")
    x = tf.keras.layers.UpSampling2D(2)(image)
    x = tf.keras.layers.Conv2D(256, 3, padding="same", activation="relu")(x)
    x = tf.keras.layers.GlobalAveragePooling2D()(gpu_models.blocks(x, 512, 512, 512))
    body = tf.keras.Model(image, x)
    features = body.predict(pictures, batch_size=BATCH, verbose=0)
    scaled = tf.keras.layers.Normalization()
    scaled.adapt(features)
    head = tf.keras.Sequential([scaled, tf.keras.layers.Dense(10, activation="softmax")])
    head.compile(tf.keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    head.fit(features, labels, 64, epochs=60, verbose=0)
    tf.keras.Model(image, head(body.output)).export(str(folder), verbose=False)


@pytest.mark.parametrize("mode", ["implicit", "explicit"])
def test_one_percent_at_the_most(tmp_path: Path, mode: str) -> None:
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
            spec_of("INT8", mode, {name: shape}),
            signatures=["serving_default"],
            thresholds=Thresholds(mean_abs=0.02),
        ),
        calibration_data=(training[i : i + BATCH] for i in range(0, 1000, BATCH)),
        verify_data=[pictures[i : i + BATCH] for i in range(0, len(pictures), BATCH)],
    )
    assert report.calibration["int8_share"] > 0
    native = accuracy(tmp_path / "model", pictures, labels)
    converted = accuracy(tmp_path / "out", pictures, labels)
    print(
        f"{mode}: {converted:.4f} of {native:.4f}, INT8 in {report.calibration['int8_share']:.2f}"
    )
    assert native > 0.95
    assert converted >= native - 0.01
