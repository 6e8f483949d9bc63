"""Specs and runs that the tests which convert on a GPU share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf

from converters import ConversionSpec, ShapeRange


def spec_of(precision: str, mode: str, *sets: dict[str, tuple[int, ...]]) -> ConversionSpec:
    """Returns a spec for these shapes. In mode "explicit" it also takes all smaller batches."""
    if mode == "static":
        return ConversionSpec(precision, mode="static", input_shapes=sets)
    if mode == "implicit":
        return ConversionSpec(precision, mode="dynamic", input_shapes=sets)
    ranges = {
        name: ShapeRange((1, *shape[1:]), shape)
        for shapes in sets
        for name, shape in shapes.items()
    }
    return ConversionSpec(precision, mode="dynamic", shape_ranges=ranges)


def run(folder: Path, signature: str = "serving_default", **inputs: np.ndarray) -> dict:
    model = tf.saved_model.load(str(folder))  # The engines live as long as this object.
    results = model.signatures[signature](
        **{name: tf.constant(value) for name, value in inputs.items()}
    )
    return {name: value.numpy() for name, value in results.items()}
