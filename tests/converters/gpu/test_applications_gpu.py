"""Converts networks of keras.applications with random weights, and compares their outputs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from combinations import APPLICATIONS, chosen
from gpu_conversions import spec_of

from converters import convert
from converters.model.flat_graph import flatten_signature
from converters.model.trt_graph import ENGINE_OP, engine_nodes, load_graph
from converters.spec.thresholds import Thresholds

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(1200)]

# The images are small, so TensorRT tries fewer kernels and the tests take less time.
SIZES = {"ResNet50": 64, "MobileNetV2": 64, "VGG16": 64, "InceptionV3": 96}
BATCH = 8
# The lowest cosine between the outputs of the converted and the native model, less the mean over
# the images. Without this mean, the outputs for all images look alike. With it, outputs in a wrong
# order have a cosine of -0.1 to 0.2. The bounds are low because an untrained network amplifies
# rounding: in a simulation on a CPU, FP32 and FP16 reach 0.996 and more, INT8 0.53 (MobileNetV2) to
# 0.98 (VGG16). Only a trained network can show how much INT8 really costs.
CENTRED_COSINE = {"FP32": 0.95, "FP16": 0.95, "INT8": 0.35}
COSINE = {"FP32": 0.98, "FP16": 0.98, "INT8": 0.7}


def images(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Makes images of coarse patterns with a little noise. Images of noise alone would all look the
    same to a deep network."""
    random = np.random.default_rng(seed)
    cells = random.normal(size=(shape[0], 4, 4, shape[3])).astype(np.float32)
    pattern = tf.image.resize(cells, shape[1:3], "bicubic").numpy()
    return np.clip(0.5 * pattern + random.normal(0, 0.1, shape), -1, 1).astype(np.float32)


def answers(folder: Path, batches: list[np.ndarray]) -> np.ndarray:
    model = tf.saved_model.load(str(folder))  # The engines live as long as this object.
    function = model.signatures["serving_default"]
    (name,) = function.structured_input_signature[1]
    found = [next(iter(function(**{name: batch}).values())).numpy() for batch in batches]
    return np.concatenate(found).astype(np.float64)


def centred_cosine(got: np.ndarray, want: np.ndarray) -> float:
    got, want = ((found - want.mean(axis=0)).ravel() for found in (got, want))
    return float(got @ want / np.sqrt((got @ got) * (want @ want)))


def save(folder: Path, network: str, shape: tuple[int, ...]) -> None:
    """Saves a network with random weights. A new network would give the same output for all images.
    So its normalizations get the statistics of `images`, and it has no softmax."""
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
    spec = dataclasses.replace(
        spec_of(precision, mode, {name: shape}),
        signatures=["serving_default"],
        thresholds=Thresholds(cosine=COSINE[precision]),
    )
    batches = [images(shape, seed) for seed in (100, 101)]
    options = {"verify_data": batches}
    if precision == "INT8":
        options["calibration_data"] = [images(shape, seed) for seed in range(4)]
        # TensorRT may find other kernels faster than those of INT8.
        spec = dataclasses.replace(spec, require_int8=False)
    # For INT8, a child converts the model: only its log tells which layers read INT8.
    child = precision == "INT8"
    report = convert(tmp_path / "model", tmp_path / "out", spec, child=child, **options)
    assert report.fresh.passed and report.verification.passed
    assert all(run.engines and not run.built and not run.native for run in report.fresh.runs)
    converted = load_graph(tmp_path / "out")
    engines = engine_nodes(converted.graph_def)
    assert engines and all(engine.precision == precision for engine in engines)
    # All convolutions and products are in engines. Other ops may stay outside: with implicit batch,
    # TF-TRT leaves VGG16's flattening between two engines.
    outside = {node.op for node in flatten_signature(converted, "serving_default").nodes.values()}
    assert ENGINE_OP in outside
    assert not {"Conv2D", "DepthwiseConv2dNative", "MatMul"} & outside
    got, want = (answers(tmp_path / which, batches) for which in ("out", "model"))
    close = centred_cosine(got, want)
    share = f", INT8 in {report.calibration['int8_share']} of its layers" if child else ""
    print(f"{network} {precision} {mode}: {close:.4f}{share}")
    assert close > CENTRED_COSINE[precision]
