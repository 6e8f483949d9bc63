"""A small model, and converting it where TF-TRT is replaced by a copy (copied_tftrt.py)."""

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
