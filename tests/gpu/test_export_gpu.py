"""An exported video model on a GPU decodes with NVDEC, and its answers are the CPU's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gpu_checks import GPU
from gpu_clips import data

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

GARBAGE = b"this is no video"


class Network(tf.Module):
    """A small convolution on images."""

    def __init__(self) -> None:
        super().__init__()
        self.filters = tf.Variable(tf.random.stateless_normal([5, 5, 3, 8], [1, 2]) / 10)

    @tf.function(input_signature=[tf.TensorSpec([None, 64, 64, 3])])
    def __call__(self, frames: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(frames, self.filters, 2, "SAME")), [1, 2])


def answers(folder: Path, contents: list[bytes]) -> dict[str, np.ndarray]:
    model = tf.saved_model.load(str(folder))
    outputs = model.signatures["serving_default"](contents=tf.constant(contents))
    return {name: output.numpy() for name, output in outputs.items()}


@pytest.mark.parametrize("aggregate", ["none", "mean"])
def test_the_answers_are_the_cpus(tmp_path: Path, aggregate: str) -> None:
    contents = [data("h264.mp4"), GARBAGE, data("hevc.mp4"), data("vp9.webm")] * 2
    how: dict[str, Any] = {"clips_per_video": 9, "aggregate": aggregate}
    network = Network()
    with tf.device(GPU):
        nvc.export_video_model(network, tmp_path / "gpu", check=contents[:4], **how)
    nvc.export_video_model(network, tmp_path / "cpu", backend="cpu", **how)
    before = nvc.decoder_pool()
    got = answers(tmp_path / "gpu", contents)
    after = nvc.decoder_pool()
    assert after.created + after.reused > before.created + before.reused
    assert after.in_use == 0
    want = answers(tmp_path / "cpu", contents)
    assert [bool(status) for status in got["status"]] == [False, True, False, False] * 2
    np.testing.assert_array_equal(got["pts"], want["pts"])
    np.testing.assert_allclose(got["output_0"], want["output_0"], rtol=0.02, atol=0.002)
