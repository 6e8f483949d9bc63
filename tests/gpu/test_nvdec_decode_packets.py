"""Compressed clips on NVDEC, and datasets that are decoded on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gpu_checks import GPU, check_equal
from gpu_clips import data

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

NAMES = ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "vp9.webm"]
CHOICE: dict[str, Any] = {"clip_length": 6, "clips_per_video": 3, "stride": 2, "pad": "wrap"}


def packed(name: str, decode: bool = False, **options: Any) -> nvc.VideoDataset:
    return nvc.VideoDataset(contents=[data(name)] * 2, decode=decode, **CHOICE, **options)


@pytest.mark.parametrize("device", [GPU, "/CPU:0"])
@pytest.mark.parametrize("name", NAMES)
def test_frames_are_the_cpus(name: str, device: str) -> None:
    clips = [clip["packets"] for clip in packed(name).as_numpy_iterator()]
    with tf.device(device):
        got = nvc.decode_packets(clips, pixel_format="native", backend="nvdec")
    assert device.strip("/") in got.frames.device
    assert "CPU" in got.pts.device
    with tf.device("/CPU:0"):
        want = nvc.decode_packets(clips, pixel_format="native", backend="cpu")
    check_equal(got.frames.numpy(), want.frames.numpy(), "the frames")
    np.testing.assert_array_equal(got.pts, want.pts)
    np.testing.assert_array_equal(got.mask, want.mask)
