"""Small models, and a function that converts them. copied_tftrt.py replaces TF-TRT for this."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from converters import ConversionSpec, convert

SHAPES = {"x": (4, 3)}


class Model(tf.Module):
    def __init__(self, offset: float = 0.0) -> None:
        super().__init__()
        self.w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2) + offset)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.matmul(x, self.w)}

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def twice(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"z": 2 * tf.matmul(x, self.w)}


def save(folder: Path, model: Model | None = None, **signatures: str) -> Path:
    model = model or Model()
    names = signatures or {"serving_default": "serve"}
    functions = {name: getattr(model, of) for name, of in names.items()}
    tf.saved_model.save(model, str(folder), signatures=functions)
    return folder


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def here(source: Path, output: Path, spec: ConversionSpec, **options: Any) -> Any:
    return convert(source, output, spec, child=False, progress=False, **options)


X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(3, 2)).astype(np.float32)


def session_graph(folder: Path) -> tuple[tf.Graph, Path]:
    """Writes a graph of TensorFlow 1 with its checkpoint, and the frozen graph as frozen.pb. It
    computes y = relu(x W) and scope/half = y / 2."""
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable("w", initializer=W, use_resource=False)
        y = tf.nn.relu(tf.matmul(x, w), name="y")
        with v1.name_scope("scope"):
            tf.multiply(y, 0.5, name="half")
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            prefix = v1.train.Saver().save(session, str(folder / "model.ckpt"))
            frozen = v1.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), ["y", "scope/half"]
            )
    (folder / "frozen.pb").write_bytes(frozen.SerializeToString())
    return graph, Path(prefix + ".meta")


def keras_file(path: Path) -> Path:
    """Writes a Keras file with one Dense layer, whose input is "x"."""
    model = tf.keras.Sequential([tf.keras.Input((3,), name="x"), tf.keras.layers.Dense(2)])
    model.save(path)
    return path
