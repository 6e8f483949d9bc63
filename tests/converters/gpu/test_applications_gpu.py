"""Networks of keras.applications with random weights are converted, proved and compared."""

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

# Small ones: TensorRT has fewer kernels to try.
SIZES = {"ResNet50": 64, "MobileNetV2": 64, "VGG16": 64, "InceptionV3": 96}
BATCH = 8
# Of outputs less their mean over the images, which tells one image's from another's: answers in
# another order gave -0.1 to 0.2. Untrained networks make much of rounding; simulated on a CPU, FP32
# and FP16 gave 0.996 and more, INT8 0.53 (MobileNetV2) to 0.98 (VGG16). How much a network loses by
# INT8 only a trained one can tell.
CENTRED_COSINE = {"FP32": 0.95, "FP16": 0.95, "INT8": 0.35}
COSINE = {"FP32": 0.98, "FP16": 0.98, "INT8": 0.7}


def images(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Coarse patterns and a little noise: to a deep network, all noise is the same."""
    random = np.random.default_rng(seed)
    cells = random.normal(size=(shape[0], 4, 4, shape[3])).astype(np.float32)
    pattern = tf.image.resize(cells, shape[1:3], "bicubic").numpy()
    return np.clip(0.5 * pattern + random.normal(0, 0.1, shape), -1, 1).astype(np.float32)


def answers(folder: Path, batches: list[np.ndarray]) -> np.ndarray:
    model = tf.saved_model.load(str(folder))  # engines live as long as this
    function = model.signatures["serving_default"]
    (name,) = function.structured_input_signature[1]
    found = [next(iter(function(**{name: batch}).values())).numpy() for batch in batches]
    return np.concatenate(found).astype(np.float64)


def centred_cosine(got: np.ndarray, want: np.ndarray) -> float:
    got, want = ((found - want.mean(axis=0)).ravel() for found in (got, want))
    return float(got @ want / np.sqrt((got @ got) * (want @ want)))


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
    spec = dataclasses.replace(
        spec_of(precision, mode, {name: shape}),
        signatures=["serving_default"],
        thresholds=Thresholds(cosine=COSINE[precision]),
    )
    batches = [images(shape, seed) for seed in (100, 101)]
    options = {"verify_data": batches}
    if precision == "INT8":
        options["calibration_data"] = [images(shape, seed) for seed in range(4)]
        spec = dataclasses.replace(spec, require_int8=False)  # other kernels may be faster
    # Only a child's log tells which layers read INT8.
    child = precision == "INT8"
    report = convert(tmp_path / "model", tmp_path / "out", spec, child=child, **options)
    assert report.fresh.passed and report.verification.passed
    assert all(run.engines and not run.built and not run.native for run in report.fresh.runs)
    converted = load_graph(tmp_path / "out")
    engines = engine_nodes(converted.graph_def)
    assert engines and all(engine.precision == precision for engine in engines)
    # What computes is in engines; with implicit batch TF-TRT leaves VGG16's flattening between two.
    outside = {node.op for node in flatten_signature(converted, "serving_default").nodes.values()}
    assert ENGINE_OP in outside
    assert not {"Conv2D", "DepthwiseConv2dNative", "MatMul"} & outside
    got, want = (answers(tmp_path / which, batches) for which in ("out", "model"))
    close = centred_cosine(got, want)
    share = f", INT8 in {report.calibration['int8_share']} of its layers" if child else ""
    print(f"{network} {precision} {mode}: {close:.4f}{share}")
    assert close > CENTRED_COSINE[precision]
