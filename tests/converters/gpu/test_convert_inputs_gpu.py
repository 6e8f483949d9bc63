"""Converts models that are no SavedModel on a GPU, and compares them with the graph itself."""

from __future__ import annotations

from pathlib import Path

import gpu_models
import numpy as np
import pytest
import tensorflow as tf
from gpu_conversions import run

from converters import ConversionSpec, convert
from converters.spec.thresholds import default_thresholds

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

SHAPE = (4, 16, 16, 3)


def images() -> np.ndarray:
    return np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)


def spec_of(name: str, precision: str, **options: object) -> ConversionSpec:
    return ConversionSpec(
        precision,
        input_shapes={name: SHAPE},
        signatures=["serving_default"],
        # The models are not trained, so their best classes nearly tie.
        thresholds=default_thresholds(precision, generated=True),
        **options,
    )


@pytest.mark.parametrize("precision", ["FP32", "FP16"])
def test_a_keras_file(tmp_path: Path, precision: str) -> None:
    source = gpu_models.write_keras_file(tmp_path / "model.keras")
    report = convert(source, tmp_path / "out", spec_of("image", precision), verify_data=[images()])
    assert report.fresh.passed and report.verification.passed
    (signature,) = (s for s in report.signatures if s.name == "serving_default")
    assert (signature.converter, len(signature.engines)) == ("TrtGraphConverterV2", 1)
    (ours,) = run(tmp_path / "out", image=images()).values()
    with tf.device("CPU:0"):
        wanted = tf.keras.models.load_model(source)(images())
    np.testing.assert_allclose(ours, wanted, atol=0.02)


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_a_meta_graph_and_its_checkpoint(tmp_path: Path, mode: str) -> None:
    source = gpu_models.write_meta_graph(tmp_path / "model.ckpt.meta")
    spec = spec_of("x", "FP32", mode=mode, outputs=["scores"])
    report = convert(source, tmp_path / "out", spec, verify_data=[images()])
    assert report.fresh.passed and report.verification.passed
    (signature,) = report.signatures
    assert signature.converter == "TrtGraphConverter" + ("V2" if mode == "dynamic" else "")
    assert len(signature.engines) == 1
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(str(source)).restore(session, str(source.with_suffix("")))
        wanted = session.run("scores:0", {"x:0": images()})
    ours = run(tmp_path / "out", x=images())
    np.testing.assert_allclose(ours["scores"], wanted, atol=0.01)


def test_a_graph_that_ends_in_two_outputs(tmp_path: Path) -> None:
    """Nothing names the outputs, and the data to build with has the largest batch."""
    rng = np.random.default_rng(1)
    kernels = [rng.normal(size=(3, 3, *ends)).astype(np.float32) / 5 for ends in ((3, 8), (8, 6))]
    # Far apart, so that rounding does not change the order.
    places = np.array([20, 50, 0, 40, 10, 30], np.float32)
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = y = v1.placeholder(tf.float32, [None, *SHAPE[1:]], name="x")
        for kernel in kernels:
            y = tf.nn.relu(tf.nn.conv2d(y, kernel, 2, "SAME"))
        tf.math.top_k(tf.nn.bias_add(tf.reduce_mean(y, [1, 2]), places), 3, name="top")
        source = tmp_path / "frozen.pb"
        source.write_bytes(session.graph_def.SerializeToString())
        wanted = session.run({"top": "top:0", "top:1": "top:1"}, {x: images()})
    spec = ConversionSpec("FP32")
    report = convert(source, tmp_path / "out", spec, build_data=[images()[:2], images()])
    assert (report.spec.mode, report.spec.max_batch_size) == ("static", SHAPE[0])
    assert report.fresh.passed and report.verification.passed and not report.verification.generated
    assert [run.shapes for run in report.fresh.runs] == [{"x": SHAPE}, {"x": (2, *SHAPE[1:])}]
    ours = run(tmp_path / "out", x=images())
    assert set(ours) == set(wanted)
    np.testing.assert_allclose(ours["top"], wanted["top"], atol=0.01)
    np.testing.assert_array_equal(ours["top:1"], wanted["top:1"])
