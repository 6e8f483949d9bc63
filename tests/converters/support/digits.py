"""scikit-learn's handwritten digits, and how many of them a SavedModel recognises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf
from gpu_models import blocks

from converters.model.trt_graph import load_graph

TRAINING = 1397


def pictures_and_labels(
    training: int = TRAINING,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns the images and labels for training, then those of the other digits for the test: 400
    of 1797. Images are float32 [n, 16, 16, 1] in 0 to 1."""
    from sklearn.datasets import load_digits  # Not needed by those who import this module.

    data = load_digits()
    pictures = (data.images / 16).astype(np.float32).repeat(2, 1).repeat(2, 2)[..., None]
    order = np.random.default_rng(1).permutation(len(pictures))
    pictures, labels = pictures[order], data.target[order]
    return pictures[:training], labels[:training], pictures[training:], labels[training:]


def train(pictures: np.ndarray, labels: np.ndarray) -> tf.keras.Model:
    """Returns a small trained network of digits, in seconds."""
    tf.keras.utils.set_random_seed(0)
    image = tf.keras.Input((16, 16, 1), name="image")
    x = tf.keras.layers.Conv2D(32, 3, 2, padding="same", activation="relu")(image)
    x = tf.keras.layers.Conv2D(32, 3, 2, padding="same", use_bias=False)(x)
    x = tf.keras.layers.ReLU()(tf.keras.layers.BatchNormalization(momentum=0.8)(x))
    x = tf.keras.layers.Flatten()(x)
    model = tf.keras.Model(image, tf.keras.layers.Dense(10, activation="softmax")(x))
    model.compile(tf.keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    model.fit(pictures, labels, 32, epochs=12, verbose=0)
    return model


def save_wide(folder: Path, pictures: np.ndarray, labels: np.ndarray) -> None:
    """Saves a network that is wide enough for TensorRT to take INT8 kernels: random convolutions
    with 256 and 512 channels, and one trained layer that reads them."""
    tf.keras.utils.set_random_seed(0)
    image = tf.keras.Input((16, 16, 1), name="image")
    x = tf.keras.layers.UpSampling2D(2)(image)
    x = tf.keras.layers.Conv2D(256, 3, padding="same", activation="relu")(x)
    x = tf.keras.layers.GlobalAveragePooling2D()(blocks(x, 512, 512, 512))
    body = tf.keras.Model(image, x)
    features = body.predict(pictures, batch_size=100, verbose=0)
    scaled = tf.keras.layers.Normalization()
    scaled.adapt(features)
    head = tf.keras.Sequential([scaled, tf.keras.layers.Dense(10, activation="softmax")])
    head.compile(tf.keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    head.fit(features, labels, 64, epochs=60, verbose=0)
    tf.keras.Model(image, head(body.output)).export(str(folder), verbose=False)


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
