"""OpenH264 in the place of x264, in builds whose FFmpeg has no x264."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from encoded import moving
from golden_clips import Clips

import tf_nvcodec as nvc

_ENCODERS = nvc.build_info()["ffmpeg"]["encoders"].split(",")
pytestmark = pytest.mark.skipif(
    "libx264" in _ENCODERS or "libopenh264" not in _ENCODERS, reason="this build has x264"
)


@pytest.fixture
def frames(clips: Clips) -> Any:
    return nvc.decode_video(clips.data("bbb.mp4"), 0, 48, size=(180, 320)).frames


def psnr(frames: Any, encoded: Any) -> float:
    decoded = nvc.decode_video(encoded).frames
    assert decoded.shape == frames.shape
    return float(tf.reduce_mean(tf.image.psnr(frames, decoded, 255)))


def test_crf_is_the_quantizer(frames: Any) -> None:
    sizes, quality = [], []
    for crf in (15, None, 23, 35):
        encoded = nvc.encode_video(frames, 24.0, **({} if crf is None else {"crf": crf}))
        assert nvc.probe(encoded).codec.numpy() == b"h264"
        sizes.append(len(encoded.numpy()))
        quality.append(psnr(frames, encoded))
    assert sizes[0] > 1.5 * sizes[1] == 1.5 * sizes[2] > 2 * sizes[3]
    assert quality[0] > quality[1] + 2 > quality[3] + 4
    assert quality[1] > 31.5


def test_bitrate_and_gop(frames: Any) -> None:
    small, large = (
        len(nvc.encode_video(frames, 24.0, bitrate=rate).numpy()) for rate in (100_000, 800_000)
    )
    assert 1.5 * small < large < 1.5 * 800_000 / 8 * 2
    encoded = nvc.encode_video(frames, 24.0, gop=12)
    assert psnr(frames, encoded) > 31.5
    backwards = nvc.decode_frames_at(encoded, list(range(47, -1, -1))).frames
    np.testing.assert_array_equal(backwards[::-1], nvc.decode_video(encoded).frames)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"preset": "fast"}, "preset: this build encodes H.264 with OpenH264 .* it has no presets"),
        ({"bf": 2}, "bf: .* no B-frames"),
        ({"crf": 0}, "crf: .* no lossless mode"),
        ({"options": {"tune": "film"}}, r'codec h264 \(libopenh264\) has no option "tune"'),
        ({"pixel_format": "yuv444p"}, "yuv420p"),
    ],
)
def test_what_it_lacks(frames: Any, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=says):
        nvc.encode_video(frames, 24.0, **arguments)


def test_hevc_is_an_error_that_names_the_way_round(frames: Any) -> None:
    if "libx265" in _ENCODERS:
        pytest.skip("this build has x265")
    with pytest.raises(tf.errors.UnimplementedError, match="without the encoder libx265"):
        nvc.encode_video(frames, 24.0, codec="hevc")


def test_equal_frames_give_equal_bytes_on_two_threads_or_more() -> None:
    frames = moving(24, 360, 640)
    first, *others = [nvc.encode_video(frames, 30, num_threads=n).numpy() for n in (2, 3, 4, 2, 4)]
    assert all(other == first for other in others)


def test_pictures_of_one_row_of_blocks() -> None:
    wide = moving(3, 16, 1280)
    assert psnr(wide, nvc.encode_video(wide, 30)) > 27
