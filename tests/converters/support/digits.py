"""scikit-learn's handwritten digits, and how many of them a SavedModel recognises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf

from converters.model.trt_graph import load_graph

TRAINING = 1397


def pictures_and_labels() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns the images and labels for training, then 400 images and labels for the test. Images
    are float32 [n, 16, 16, 1] in 0 to 1."""
    from sklearn.datasets import load_digits  # Only the tests on a GPU need scikit-learn.

    data = load_digits()
    pictures = (data.images / 16).astype(np.float32).repeat(2, 1).repeat(2, 2)[..., None]
    order = np.random.default_rng(1).permutation(len(pictures))
    pictures, labels = pictures[order], data.target[order]
    return pictures[:TRAINING], labels[:TRAINING], pictures[TRAINING:], labels[TRAINING:]


def input_of(folder: Path) -> str:
    return next(iter(load_graph(folder).signatures["serving_default"].inputs))


def accuracy(folder: Path, pictures: np.ndarray, labels: np.ndarray, batch: int = 100) -> float:
    model = tf.saved_model.load(str(folder))  # The engines live as long as this object.
    function = model.signatures["serving_default"]
    name = input_of(folder)
    found = [
        next(iter(function(**{name: tf.constant(pictures[i : i + batch])}).values())).numpy()
        for i in range(0, len(pictures), batch)
    ]
    return float(np.mean(np.argmax(np.concatenate(found), 1) == labels))
