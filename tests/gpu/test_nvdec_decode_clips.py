"""Clips of a batch of videos on NVDEC."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gpu_checks import GPU, check_equal
from gpu_clips import data

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

NAMES = ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "vp9.webm"]
GARBAGE = b"this is no video"
CHOICES: list[dict[str, Any]] = [
    {"clip_length": 8, "clips_per_video": 3},
    {"clip_length": 1, "clips_per_video": 16},
    {"clip_length": 20, "clips_per_video": 4, "stride": 2, "pad": "zero"},
    {"clip_length": 400, "pad": "zero"},
    {"clip_length": 400, "pad": "wrap"},
]


def decoded_on(device: str, contents: list[bytes], **options: Any) -> nvc.DecodedClips:
    with tf.device(device):
        return nvc.decode_clips(contents, **options)


def check_same(got: nvc.DecodedClips, want: nvc.DecodedClips) -> None:
    check_equal(got.frames.numpy(), want.frames.numpy(), "the frames")
    np.testing.assert_array_equal(got.pts, want.pts)
    np.testing.assert_array_equal(got.mask, want.mask)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("device", [GPU, "/CPU:0"])
@pytest.mark.parametrize("name", NAMES)
def test_clips_are_the_cpus(name: str, device: str, choice: dict[str, Any]) -> None:
    contents = [data(name)] * 5
    options = {**choice, "pixel_format": "native"}
    got = decoded_on(device, contents, backend="nvdec", **options)
    assert device.strip("/") in got.frames.device
    assert "CPU" in got.pts.device
    assert "CPU" in got.mask.device
    assert not any(got.status.numpy())
    check_same(got, decoded_on("/CPU:0", contents, backend="cpu", **options))


@pytest.mark.parametrize("device", [GPU, "/CPU:0"])
def test_a_broken_video_costs_its_row_only(device: str) -> None:
    sound = data("h264.mp4")
    contents = [GARBAGE, sound, b"", data("broken_h264.mp4"), sound[:300], sound] * 4
    options = {"clip_length": 250, "size": (32, 32), "dtype": tf.float16}
    # What the memory held before must not show.
    ones = decoded_on(device, [sound] * len(contents), mean=-1.0, **options)
    del ones
    got = decoded_on(device, contents, **options)
    for row, status in enumerate(got.status.numpy()):
        assert bool(status) == (row % 6 not in (1, 5)), (row, status)
        assert got.mask[row].numpy().any() == (not status)
        assert got.frames[row].numpy().any() == (not status)
    np.testing.assert_array_equal(got.frames[1], got.frames[23])


def test_damaged_frames_are_the_cpus() -> None:
    contents = [data("broken_h264.mp4"), data("broken_hevc.mp4")]
    for content in contents:
        options = {"clip_length": 250, "pixel_format": "native", "on_error": "repeat"}
        got = decoded_on(GPU, [content] * 3, **options)
        check_same(got, decoded_on("/CPU:0", [content] * 3, backend="cpu", **options))
        assert not got.mask.numpy().all()


def test_what_nvdec_cannot_take() -> None:
    contents = [data("h264.mp4"), data("h264_yuv422p10le.mp4")]
    options = {"clip_length": 6, "size": (48, 48)}
    got = decoded_on(GPU, contents, **options)
    assert not any(got.status.numpy())
    refused = decoded_on(GPU, contents, backend="nvdec", **options)
    assert [bool(status) for status in refused.status.numpy()] == [False, True]
    np.testing.assert_array_equal(refused.frames[0], got.frames[0])


def test_many_callers_and_no_session_is_left() -> None:
    contents = [data(name) for name in NAMES] * 5
    options = {"clip_length": 3, "clips_per_video": 4, "size": (64, 64), "backend": "nvdec"}
    want = decoded_on(GPU, contents, **options)
    assert not any(want.status.numpy()), want.status

    def one(_: int) -> None:
        got = decoded_on(GPU, contents, **options)
        assert not any(said := got.status.numpy()), said
        check_same(got, want)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(one, range(24)))
    assert nvc.decoder_pool().in_use == 0


def test_in_a_function_the_batch_stays_on_the_gpu() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def mean(contents: tf.Tensor) -> tf.Tensor:
        decoded = nvc.decode_clips(contents, 4, size=(32, 32), dtype=tf.float32)
        return tf.reduce_mean(decoded.frames, [1, 2, 3, 4, 5])

    with tf.device(GPU):
        means = mean(tf.constant([data("h264.mp4"), GARBAGE, data("h264.mp4")])).numpy()
    assert means[0] == means[2] > 0
    assert means[1] == 0
