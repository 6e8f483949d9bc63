"""Networks of keras.applications, with random weights: converted, proved and compared."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from combinations import APPLICATIONS, chosen

from converters import ConversionSpec, ShapeRange, convert
from converters.compare import Thresholds
from converters.flat_graph import flatten_signature
from converters.trt_graph import ENGINE_OP, engine_nodes, load_graph

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(1200)]

# Small ones: TensorRT has fewer kernels to try.
SIZES = {"ResNet50": 64, "MobileNetV2": 64, "VGG16": 64, "InceptionV3": 96}
BATCH = 8
# Untrained networks make much of the least rounding: half precision on a CPU gives 0.99 too. INT8
# gave ResNet50 0.88 on an H200; how much a network loses by it only a trained one can tell.
COSINE = {"FP32": 0.98, "FP16": 0.98, "INT8": 0.8}


def images(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def save(folder: Path, network: str, shape: tuple[int, ...]) -> None:
    """With the statistics of `images` in its normalizations and without softmax: new networks give
    the same output for all images."""
    tf.keras.utils.set_random_seed(0)
    make = getattr(tf.keras.applications, network)
    with tf.device("CPU:0"):
        model = make(weights=None, input_shape=shape[1:], classifier_activation=None)
        for layer in model.layers:
            if isinstance(layer, tf.keras.layers.BatchNormalization):
                layer.momentum = 0.0
        model(images(shape), training=True)
        model.export(str(folder), verbose=False)


@pytest.mark.parametrize(("network", "precision", "mode"), chosen(APPLICATIONS))
def test_an_application(tmp_path: Path, network: str, precision: str, mode: str) -> None:
    shape = (BATCH, SIZES[network], SIZES[network], 3)
    save(tmp_path / "model", network, shape)
    (name,) = load_graph(tmp_path / "model").signatures["serving_default"].inputs
    spec = ConversionSpec(
        precision,
        mode="static" if mode == "static" else "dynamic",
        input_shapes={name: shape},
        signatures=["serving_default"],
        thresholds=Thresholds(cosine=COSINE[precision]),
    )
    options = {}
    if mode == "explicit":
        ranges = {name: ShapeRange((1, *shape[1:]), shape)}
        spec = dataclasses.replace(spec, input_shapes=None, shape_ranges=ranges)
    if precision == "INT8":
        options["calibration_data"] = [images(shape, seed) for seed in range(4)]
        spec = dataclasses.replace(spec, require_int8=False)  # other kernels may be faster
    report = convert(tmp_path / "model", tmp_path / "out", spec, child=False, **options)
    assert report.fresh.passed and report.verification.passed
    assert all(run.engines and not run.built and not run.native for run in report.fresh.runs)
    converted = load_graph(tmp_path / "out")
    engines = engine_nodes(converted.graph_def)
    assert engines and all(engine.precision == precision for engine in engines)
    # What computes is in engines; with implicit batch TF-TRT leaves VGG16's flattening between two.
    outside = {node.op for node in flatten_signature(converted, "serving_default").nodes.values()}
    assert ENGINE_OP in outside
    assert not {"Conv2D", "DepthwiseConv2dNative", "MatMul"} & outside
