"""Small models for conversion tests. Each has a feature that TF-TRT treats in its own way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf


def blocks(x: tf.Tensor, *channels: int) -> tf.Tensor:
    for count in channels:
        x = tf.keras.layers.Conv2D(count, 3, padding="same", strides=2)(x)
        x = tf.keras.layers.BatchNormalization()(x)
        x = tf.keras.layers.ReLU()(x)
    return x


def classifier(side: int, channels: int, classes: int) -> tf.keras.Model:
    """Makes a network of three convolutions and a softmax."""
    tf.keras.utils.set_random_seed(0)
    image = tf.keras.Input((side, side, channels), name="image")
    x = tf.keras.layers.GlobalAveragePooling2D()(blocks(image, 16, 32, 64))
    return tf.keras.Model(image, tf.keras.layers.Dense(classes, activation="softmax")(x))


def save_cnn(folder: Path) -> Path:
    """Saves a `classifier` of 16x16 images. Its signature takes "image" and gives "scores"."""
    model = classifier(16, 3, 5)

    class Cnn(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        @tf.function(input_signature=[tf.TensorSpec([None, 16, 16, 3], tf.float32, "image")])
        def serve(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"scores": self.model(image)}

    return _save(Cnn(), folder, "serve")


def save_with_gap(folder: Path) -> Path:
    """Saves convolutions before and after a Cumsum. TF-TRT has no converter for this op, so there
    are two engines."""
    tf.keras.utils.set_random_seed(0)
    before_in = tf.keras.Input((16, 16, 3))
    before = tf.keras.Model(before_in, blocks(before_in, 8, 16))
    after_in = tf.keras.Input((4, 4, 16))
    after_out = tf.keras.layers.Dense(5)(tf.keras.layers.Flatten()(blocks(after_in, 16, 8)))
    after = tf.keras.Model(after_in, after_out)

    class WithGap(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.after = before, after

        @tf.function(input_signature=[tf.TensorSpec([None, 16, 16, 3], tf.float32, "image")])
        def serve(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
            # The sums run over four rows. A quarter of them is about as large as the terms.
            return {"scores": self.after(tf.math.cumsum(self.before(image), axis=1) * 0.25)}

    return _save(WithGap(), folder, "serve")


def save_two_inputs(folder: Path) -> Path:
    """Saves a network that joins two images of different sizes. Its output has two names."""
    tf.keras.utils.set_random_seed(0)
    left_in, right_in = tf.keras.Input((16, 16, 3)), tf.keras.Input((8, 8, 3))
    joined = tf.keras.layers.Concatenate()([blocks(left_in, 8, 16), blocks(right_in, 16)])
    model = tf.keras.Model([left_in, right_in], blocks(joined, 8))

    class TwoInputs(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        @tf.function(
            input_signature=[
                tf.TensorSpec([None, 16, 16, 3], tf.float32, "left"),
                tf.TensorSpec([None, 8, 8, 3], tf.float32, "right"),
            ]
        )
        def serve(self, left: tf.Tensor, right: tf.Tensor) -> dict[str, tf.Tensor]:
            features = self.model([left, right])
            return {"features": features, "mean": tf.reduce_mean(features, [1, 2, 3])}

    return _save(TwoInputs(), folder, "serve")


def save_two_signatures(folder: Path) -> Path:
    """Saves two signatures that can be converted, and "words", which looks names up in the table of
    an asset."""
    model = classifier(16, 3, 5)
    vocabulary = folder.with_suffix(".txt")
    vocabulary.write_text("cat\ndog\n")

    class TwoSignatures(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.table = tf.lookup.StaticHashTable(
                tf.lookup.TextFileInitializer(
                    str(vocabulary),
                    tf.string,
                    tf.lookup.TextFileIndex.WHOLE_LINE,
                    tf.int64,
                    tf.lookup.TextFileIndex.LINE_NUMBER,
                ),
                default_value=-1,
            )

        @tf.function(input_signature=[tf.TensorSpec([None, 16, 16, 3], tf.float32, "image")])
        def scores(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"scores": self.model(image)}

        @tf.function(input_signature=[tf.TensorSpec([None, 16, 16, 3], tf.float32, "picture")])
        def features(self, picture: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"logits": tf.math.log(self.model(picture * 0.5) + 1.0) * 3.0}

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "names")])
        def words(self, names: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"ids": self.table.lookup(names)}

    return _save(TwoSignatures(), folder, "scores", "features", "words")


def save_loud(folder: Path) -> Path:
    """Saves four convolutions of images [n, 28, 28, 64], which are so wide that half precision is
    faster. "loud" gives values of about 3e5, more than half precision can hold. "quiet" scales
    them down again."""
    random = np.random.default_rng(0)
    scales = {"first": 0.04, "loud": 1e4, "quiet": 1e-4, "last": 0.02}
    kernels = {
        name: random.normal(size=(3, 3, 64 if name == "first" else 256, 256), scale=scale)
        for name, scale in scales.items()
    }
    weights = random.normal(size=(256, 5), scale=0.06)

    class Loud(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 28, 28, 64], tf.float32, "image")])
        def serve(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
            h = image
            for name, kernel in kernels.items():
                h = tf.nn.conv2d(h, kernel.astype(np.float32), 1, "SAME", name=name)
                if name in ("first", "last"):
                    h = tf.nn.relu(h)
            pooled = tf.reduce_mean(h, [1, 2])
            return {"scores": tf.matmul(pooled, weights.astype(np.float32))}

    return _save(Loud(), folder, "serve")


def quantized(op: str, x: tf.Tensor, low: float, high: float) -> tf.Tensor:
    """Puts a quantize node of type `op` behind `x`. Its range is constant."""
    if op == "FakeQuantWithMinMaxArgs":
        return tf.quantization.fake_quant_with_min_max_args(x, low, high)
    if op == "FakeQuantWithMinMaxVars":
        return tf.quantization.fake_quant_with_min_max_vars(x, low, high)
    given = {"input": x, "input_min": low, "input_max": high, "range_given": True}
    if op == "QuantizeAndDequantizeV3":
        return tf.raw_ops.QuantizeAndDequantizeV3(num_bits=8, **given)
    return tf.raw_ops.QuantizeAndDequantizeV2(**given)


def save_quantized(
    folder: Path, op: str = "FakeQuantWithMinMaxArgs", without: tuple[str, ...] = ()
) -> Path:
    """Saves a network as training for INT8 leaves it. Quantize nodes stand behind "image" and
    behind each Relu ("one", "two", "three"), but not behind those in `without`. If `op` is
    QuantizeAndDequantizeV2, they stand behind each kernel too. Images of [n, 32, 32, 128] are so
    wide that INT8 is faster."""
    random = np.random.default_rng(0)
    kernels = [
        random.normal(size=(3, 3, inside, 256), scale=(2 / (9 * inside)) ** 0.5).astype(np.float32)
        for inside in (128, 256, 256)
    ]

    class Quantized(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 32, 32, 128], tf.float32, "image")])
        def serve(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
            h = image if "image" in without else quantized(op, image, -4.0, 4.0)
            for kernel, name in zip(kernels, ("one", "two", "three")):
                weights = tf.constant(kernel)
                if op == "QuantizeAndDequantizeV2":
                    largest = float(np.abs(kernel).max())
                    weights = quantized(op, weights, -largest, largest)
                h = tf.nn.relu(tf.nn.conv2d(h, weights, 1, "SAME"), name=name)
                h = h if name in without else quantized(op, h, 0.0, 8.0)
            return {"features": tf.identity(h)}

    return _save(Quantized(), folder, "serve")


def write_keras_file(path: Path) -> Path:
    """Lets Keras save a `classifier` of 16x16 images."""
    classifier(16, 3, 5).save(path)
    return path


def _session_kernels() -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [
        random.normal(size=(3, 3, inside, outside), scale=0.3).astype(np.float32)
        for inside, outside in ((3, 8), (8, 16), (16, 8))
    ]


def write_meta_graph(path: Path) -> Path:
    """Saves a session of TensorFlow 1 with variables. It has the placeholder "x" and the output
    "scores"."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        h = v1.placeholder(tf.float32, [None, 16, 16, 3], name="x")
        for depth, kernel in enumerate(_session_kernels()):
            variable = v1.get_variable(f"kernel{depth}", initializer=kernel, use_resource=False)
            h = tf.nn.relu(tf.nn.conv2d(h, variable, 2, "SAME"))
        tf.nn.softmax(tf.reduce_mean(h, [1, 2]), name="scores")
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(path.with_suffix("")))
    return path


def write_frozen_graph(path: Path) -> Path:
    """Writes a graph of TensorFlow 1 with the placeholder "x" and the outputs "scores" and
    "half"."""
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 16, 16, 3], name="x")
        h = x
        for depth, kernel in enumerate(_session_kernels()):
            h = tf.nn.relu(tf.nn.conv2d(h, kernel, 2, "SAME", name=f"conv{depth}"))
        pooled = tf.reduce_mean(h, [1, 2])
        tf.identity(tf.nn.softmax(pooled), name="scores")
        tf.multiply(pooled, 0.5, name="half")
        path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


def _save(module: tf.Module, folder: Path, *names: str) -> Path:
    signatures = {name: getattr(module, name) for name in names}
    if len(names) == 1:
        signatures = {"serving_default": signatures[names[0]]}
    tf.saved_model.save(module, str(folder), signatures=signatures)
    return folder
