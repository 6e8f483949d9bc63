"""The ops have no gradients: a tape that watches their inputs gives None, not a LookupError."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
import tensorflow as tf

import tf_nvcodec as nvc
from tf_nvcodec.python import loader

OPS = Path(__file__).resolve().parents[2] / "tf_nvcodec" / "ops"


def gradient_of_decoding(data: bytes) -> tuple[tf.Tensor | None, tf.Tensor | None]:
    times = tf.constant([0.0, 0.2], tf.float64)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(times)
        decoded = nvc.decode_frames_at(data, timestamps=times, dtype="float32")
        brightness = tf.reduce_sum(decoded.frames)
        sent = tf.reduce_sum(decoded.pts)
    return tape.gradient(brightness, times), tape.gradient(sent, times)


def test_watched_timestamps(clips) -> None:
    data = clips.data("h264.mp4")
    assert gradient_of_decoding(data) == (None, None)

    @tf.function
    def in_a_graph() -> tf.Tensor:
        assert gradient_of_decoding(data) == (None, None)
        return tf.constant(True)

    assert in_a_graph()


def test_watched_frames_of_an_encode() -> None:
    frames = tf.Variable(tf.fill([2, 64, 64, 3], 0.5))
    with tf.GradientTape() as tape:
        size = tf.strings.length(nvc.encode_video(frames))
        length = tf.cast(size, tf.float32)
    assert tape.gradient(length, frames) is None


def test_every_op_is_declared() -> None:
    registered = [
        name
        for source in OPS.glob("*.cc")
        for name in re.findall(r'REGISTER_OP\("(\w+)"\)', source.read_text())
    ]
    assert len(registered) > 10
    for name in registered:
        with pytest.raises(KeyError, match="Registering two gradient"):
            tf.no_gradient(name)


def test_importing_again() -> None:
    assert importlib.reload(loader).ops.video_decode is not None
