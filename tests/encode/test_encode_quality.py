"""Tests rate control, key frames and lossless encoding. The results are read back from the file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from all_pairs import all_pairs
from encoded import FAST, Encoded, moving, psnr

import tf_nvcodec as nvc

LOSSY = ("h264", "hevc", "av1", "vp9", "mjpeg")


def encode(frames: Any, codec: str = "h264", container: str = "mkv", **options: Any) -> Encoded:
    options.setdefault("preset", FAST.get(codec))
    return Encoded(
        nvc.encode_video(frames, 30, codec, container, **options).numpy(), codec, container
    )


@pytest.mark.parametrize(
    ("codec", "best", "worst"),
    [("h264", 10, 40), ("hevc", 10, 40), ("av1", 10, 60), ("vp9", 5, 60), ("mjpeg", 1, 31)],
)
def test_crf(codec: str, best: int, worst: int) -> None:
    frames = moving(12, 96, 128)
    sizes, qualities = [], []
    for crf in (best, worst):
        video = encode(frames, codec, crf=crf)
        sizes.append(len(video.data))
        qualities.append(psnr(nvc.decode_video(video.data).frames.numpy(), frames))
    assert sizes[0] > 2 * sizes[1]
    assert qualities[0] > qualities[1] + 3
    assert qualities[0] > 33


@pytest.mark.parametrize("codec", LOSSY)
def test_bitrate(codec: str) -> None:
    asked = 1_000_000 if codec == "mjpeg" else 200_000
    video = encode(moving(300, 144, 176), codec, bitrate=asked)
    assert len(video.data) * 8 / 10 == pytest.approx(asked, rel=0.15)


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1", "vp9"])
@pytest.mark.parametrize("gop", [1, 8, 12])
def test_gop(codec: str, gop: int) -> None:
    video = encode(moving(40, 96, 128), codec, gop=gop)
    assert video.key_frames == list(range(0, 40, gop))


def test_ffv1_frames_stand_alone_unless_asked_otherwise() -> None:
    assert encode(moving(6, 64, 64), "ffv1").key_frames == list(range(6))
    assert encode(moving(6, 64, 64), "ffv1", gop=3).key_frames == [0, 3]


@pytest.mark.parametrize("codec", ["h264", "hevc"])
@pytest.mark.parametrize("bf", [0, 1, 3])
def test_bf(codec: str, bf: int) -> None:
    options = {"x265-params": "b-adapt=0"} if codec == "hevc" else {"b_strategy": 0}
    video = encode(moving(30, 96, 128), codec, bf=bf, options=options)
    types = "".join(frame["pict_type"] for frame in video.frames)
    longest = max(len(run) for run in types.replace("I", "P").split("P"))
    assert longest == bf


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1", "vp9"])
def test_preset_trades_size(codec: str) -> None:
    slow = {"h264": "medium", "hevc": "medium", "av1": 5, "vp9": 2}[codec]
    frames = moving(16, 96, 128)
    assert encode(frames, codec, preset=slow).data != encode(frames, codec).data


def test_a_preset_of_svt_av1_that_would_hang_is_refused() -> None:
    frames = moving(4, 64, 64)
    encode(frames, "av1", preset=5)
    for preset in (6, 7):
        with pytest.raises(tf.errors.FailedPreconditionError, match=f"preset {preset} .*at most 5"):
            encode(frames, "av1", preset=preset)
        with pytest.raises(tf.errors.FailedPreconditionError, match=f"preset {preset} .*at most 5"):
            encode(frames, "av1", options={"svtav1-params": f"scd=0:preset={preset}"})
    encode(frames, "av1", preset=8)


@pytest.mark.parametrize(
    ("container", "input_format", "dtype"),
    all_pairs(["mkv", "mov", "avi"], ["rgb", "bgr", "gray"], [np.uint8, np.uint16]),
)
def test_ffv1_is_lossless(container: str, input_format: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    channels = 1 if input_format == "gray" else 3
    frames = rng.integers(0, np.iinfo(dtype).max + 1, (3, 37, 53, channels), dtype)
    video = encode(frames, "ffv1", container, input_format=input_format)
    decoded = nvc.decode_video(video.data, pixel_format=input_format, dtype=dtype).frames
    np.testing.assert_array_equal(decoded, frames)
    # The ffmpeg program decodes the same frames.
    raw = {
        ("rgb", np.uint8): "rgb24",
        ("bgr", np.uint8): "bgr24",
        ("gray", np.uint8): "gray",
        ("gray", np.uint16): "gray16le",
    }.get((input_format, dtype))
    if raw:
        assert video.planes(raw) == frames.tobytes()


@pytest.mark.parametrize(
    ("codec", "options"),
    [
        ("h264", {"crf": 0}),
        ("hevc", {"options": {"x265-params": "lossless=1"}}),
        ("vp9", {"options": {"lossless": 1}}),
        ("ffv1", {}),
    ],
)
@pytest.mark.parametrize("input_format", ["yuv420p", "yuv444p", "nv12", "p010"])
def test_packed_frames_come_back_bit_for_bit(
    codec: str, options: dict[str, Any], input_format: str
) -> None:
    height, width = 50, 66
    chroma = {"yuv444p": 2.0}.get(input_format, 0.5)
    rng = np.random.default_rng(0)
    samples = (4, int(height * width * (1 + chroma)))
    if input_format == "p010":
        frames = (rng.integers(0, 1024, samples, np.uint16) << 6).view(np.uint8)
    else:
        frames = rng.integers(0, 256, samples, np.uint8)
    video = encode(frames, codec, input_format=input_format, size=(height, width), **options)
    decoded = nvc.decode_video(video.data, pixel_format=input_format).frames
    np.testing.assert_array_equal(decoded, frames)


@pytest.mark.parametrize("codec", ["h264", "hevc", "vp9"])
@pytest.mark.parametrize("input_format", ["rgb", "bgr"])
def test_rgb_streams_are_lossless_too(codec: str, input_format: str) -> None:
    options = {
        "h264": {"crf": 0},
        "hevc": {"options": {"x265-params": "lossless=1"}},
        "vp9": {"options": {"lossless": 1}},
    }[codec]
    frames = np.random.default_rng(0).integers(0, 256, (3, 33, 65, 3), np.uint8)
    video = encode(frames, codec, input_format=input_format, pixel_format="gbrp", **options)
    assert video.stream["pix_fmt"] == "gbrp"
    decoded = nvc.decode_video(video.data, pixel_format=input_format).frames
    np.testing.assert_array_equal(decoded, frames)


def test_h264_is_lossless_at_ten_bits() -> None:
    frames = np.random.default_rng(0).integers(0, 1024, (3, 64 * 64 * 3 // 2), np.uint16) << 6
    video = encode(frames.view(np.uint8), crf=0, input_format="p010", size=(64, 64))
    assert video.stream["pix_fmt"] == "yuv420p10le"
    decoded = nvc.decode_video(video.data, pixel_format="p010").frames
    np.testing.assert_array_equal(decoded, frames.view(np.uint8))


def test_codec_options_change_the_stream() -> None:
    frames = moving(8, 64, 64)
    plain = encode(frames)
    tuned = encode(frames, options={"x264-params": "ref=3:deblock=-1,-1", "tune": "film"})
    assert b"ref=3" in tuned.data
    assert b"ref=3" not in plain.data
    assert b"deblock=1:-1:-1" in tuned.data
