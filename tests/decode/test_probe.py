"""Tests the rates, types and limits of probe. test_decode_exact.py compares it with ffprobe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from golden_clips import Clips

import tf_nvcodec as nvc


def probe(data: bytes) -> dict[str, Any]:
    values = nvc.probe(data)._asdict()
    assert all(value.shape == () for value in values.values())
    plain = {name: value.numpy() for name, value in values.items()}
    return {k: v.decode() if isinstance(v, bytes) else v for k, v in plain.items()}


@pytest.mark.parametrize(
    ("name", "fps"),
    [
        ("h264.mp4", 25),
        ("h264.h264", 25),
        ("h264.mkv", 25),
        ("h264.ts", 25),
        ("mpeg2.ts", 25),
        ("av1.ivf", 25),
        ("bbb.mp4", 25),
        ("h264_ntsc.mp4", 30000 / 1001),
        ("h264_slow.mp4", 1 / 3),
    ],
)
def test_exact_rates(clips: Clips, name: str, fps: float) -> None:
    assert probe(clips.data(name))["fps"] == pytest.approx(fps, rel=1e-6)


def test_display(clips: Clips) -> None:
    info = probe(clips.data("h264_sar.mkv"))
    assert info["sample_aspect_ratio"] == pytest.approx(4 / 3)
    info = probe(clips.data("h264_rotate_90.mp4"))
    assert (info["width"], info["height"], info["rotation"]) == (160, 96, 90)
    assert not info["mirrored"]
    # Code that reads a VideoInfo by position relies on the order of its first fields.
    assert nvc.VideoInfo._fields[8] == "rotation"
    assert nvc.VideoInfo._fields[-1] == "mirrored"


def test_types() -> None:
    """In a graph, the types come from the op's registration. No video is read."""
    spec = tf.TensorSpec([], tf.string)
    outputs = tf.function(nvc.probe).get_concrete_function(spec).structured_outputs
    types = {name: value.dtype for name, value in outputs._asdict().items()}
    assert types == {
        "width": tf.int32,
        "height": tf.int32,
        "num_frames": tf.int64,
        "fps": tf.float64,
        "duration": tf.float64,
        "codec": tf.string,
        "pixel_format": tf.string,
        "bit_depth": tf.int32,
        "rotation": tf.int32,
        "color_space": tf.string,
        "color_range": tf.string,
        "has_audio": tf.bool,
        "sample_aspect_ratio": tf.float64,
        "color_primaries": tf.string,
        "color_transfer": tf.string,
        "mirrored": tf.bool,
    }
    assert all(value.shape == () for value in outputs)


def test_limits(clips: Clips) -> None:
    data = clips.data("h264.mp4")
    assert int(nvc.probe(data, max_frames=48, max_pixels=160 * 96).num_frames) == 48
    with pytest.raises(tf.errors.ResourceExhaustedError, match="48 frames"):
        nvc.probe(data, max_frames=47)
    refused = (tf.errors.ResourceExhaustedError, tf.errors.DataLossError)
    with pytest.raises(refused, match="max_pixels"):
        nvc.probe(data, max_pixels=160 * 96 - 1)


def test_in_a_pipeline(clips: Clips) -> None:
    names = ["h264.mp4", "hevc.mkv", "vp9.webm", "mpeg2.ts"] * 8
    paths = [str(clips.path(name)) for name in names]
    counts = (
        tf.data.Dataset.from_tensor_slices(paths)
        .map(lambda path: nvc.probe(tf.io.read_file(path)).num_frames, tf.data.AUTOTUNE)
        .batch(len(paths))
        .get_single_element()
    )
    assert counts.numpy().tolist() == [len(clips.frames(name)) for name in names]


@pytest.mark.parametrize(
    ("count", "fps"), [(2, 30.0), (2, 60.0), (8, 24.0), (8, 30.0), (8, 29.97), (3, 12.5)]
)
def test_rates_of_short_clips(count: int, fps: float) -> None:
    """Matroska rounds times to milliseconds. probe still finds the exact rate of a short clip."""
    frames = np.zeros((count, 32, 32, 3), np.uint8)
    exact = {29.97: 30000 / 1001}.get(fps, fps)
    assert float(nvc.probe(nvc.encode_video(frames, fps, container="mkv")).fps) == pytest.approx(
        exact, rel=1e-6
    )


def test_the_rate_of_two_frames_that_are_far_apart() -> None:
    frames = np.zeros((2, 32, 32, 3), np.uint8)
    data = nvc.encode_video(frames, container="mkv", pts=[0, 0.04])
    assert float(nvc.probe(data).fps) == pytest.approx(25)
