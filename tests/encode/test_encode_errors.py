"""encode_video refuses wrong arguments. The tests compare the messages, and nothing goes to
stderr."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from encoded import OPENH264, moving
from fork_server import run

import tf_nvcodec as nvc

FRAMES = moving(4, 64, 64)


def refuse(
    words: str, frames: Any = FRAMES, fps: Any = 30, codec: str = "h264", **options: Any
) -> None:
    container = options.pop("container", "mkv")
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        nvc.encode_video(frames, fps, codec, container, **options)
    assert words in str(error.value)
    assert nvc.encode_video(FRAMES, 30).shape == ()  # The next call succeeds.


@pytest.mark.parametrize("fps", [float("nan"), float("inf"), -float("inf"), 0, -25, 1e-9, 1e9])
def test_fps(fps: float) -> None:
    refuse("fps must be a finite number", fps=fps)


@pytest.mark.parametrize(
    ("pts", "words"),
    [
        ([0, 1, 1, 2], "pts[1] is 1 and pts[2] is 1"),
        ([0, 2, 1, 3], "strictly increasing"),
        ([0, 1, float("nan"), 2], "pts[2] is nan"),
        ([0, 1, 2, float("inf")], "pts[3] is inf"),
        ([-1, 0, 1, 2], "subtract pts[0]"),
        ([0, 0.0001, 1, 2], "0.0001 fall into the same step"),
        ([0, 1, 2], "one time a frame"),
        ([0, 1, 2, 3, 4], "one time a frame"),
        ([[0, 1], [2, 3]], "pts"),
    ],
)
def test_pts(pts: Any, words: str) -> None:
    refuse(words, pts=pts)


@pytest.mark.parametrize("container", ["avi", "raw"])
def test_pts_that_the_container_loses(container: str) -> None:
    refuse("stores no time stamps", pts=[0, 0.1, 0.3, 0.4], container=container)


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        (FRAMES[:0], "at least one frame"),
        (FRAMES[0], "[T, H, W, 3]"),
        (FRAMES[..., :1], "[T, H, W, 3]"),
        (FRAMES[..., :2], "[T, H, W, 3]"),
        (FRAMES[:, :63, :63], "can't store 63x63"),
        (FRAMES[:, :0], "positive height and width"),
        (FRAMES.astype(np.float32), "divide by 255"),
        (np.full((1, 16, 16, 3), np.nan, np.float32), "NaN"),
        (np.full((1, 16, 16, 3), np.inf, np.float16), "NaN"),
        (np.zeros((1, 2, 16386, 3), np.uint8), "4096x4096" if OPENH264 else "16384x16384"),
        (np.zeros((1, 2, 70000, 3), np.uint8), "too large"),
    ],
)
def test_frames(frames: Any, words: str) -> None:
    refuse(words, frames=frames)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64, np.int8, bool])
def test_dtypes(dtype: Any) -> None:
    with pytest.raises(TypeError, match="frames must be uint8, uint16, float16 or float32; got"):
        nvc.encode_video(FRAMES.astype(dtype))


@pytest.mark.parametrize(
    ("shape", "size", "words"),
    [
        ((2, 6144), None, "size"),
        ((2, 6144), (64, 65), "bytes each; got 6144"),
        ((2, 6144), (-64, -64), "positive"),
        ((2, 6144), (1 << 30, 1 << 30), "too large"),
        ((2, 64, 96), (64, 64), "[T, frame_bytes]"),
    ],
)
def test_packed_frames(shape: tuple[int, ...], size: Any, words: str) -> None:
    refuse(words, frames=np.zeros(shape, np.uint8), size=size, input_format="yuv420p")


def test_packed_frames_are_bytes() -> None:
    refuse("dtype uint8", np.zeros((2, 6144), np.uint16), input_format="nv12", size=(64, 64))


@pytest.mark.parametrize(
    ("codec", "options", "words"),
    [
        ("h264", {"crf": 60}, "from 0 (best) to 51; got 60"),
        ("h264", {"crf": float("nan")}, "got nan"),
        ("av1", {"crf": 0}, "whole number from 1 (best) to 63"),
        ("ffv1", {"crf": 1}, "takes no crf"),
        ("h264", {"bitrate": 5}, "from 1000"),
        ("h264", {"bitrate": 10**6, "crf": 20}, "exclude each other"),
        ("mjpeg", {"gop": 3}, "gop must be 1"),
        ("h264", {"bf": 17}, "from 0 to 16"),
        ("vp9", {"bf": 1}, "no B-frames"),
        ("h264", {"preset": "quick"}, "ultrafast"),
        ("ffv1", {"preset": "fast"}, "no presets"),
        ("h264", {"num_threads": 1000}, "to 64"),
        ("h264", {"pixel_format": "rgb24"}, "it can store: yuv420p, yuv422p"),
        ("av1", {"pixel_format": "yuv444p"}, "it can store: yuv420p, yuv420p10le"),
        ("mjpeg", {"color_space": "bt709"}, "always stores bt601"),
        ("ffv1", {"color_range": "limited"}, "full range"),
        ("h264", {"fragmented": True}, "needs container mp4"),
        ("av1", {"fps": 300}, "at most 240"),
        ("h264", {"fps": 2000}, "use container mp4"),
        ("h264", {"options": {"tuna": 1}}, 'has no option "tuna"'),
        ("h264", {"options": {"x264-params": "tuna=1"}}, "tuna"),
        ("hevc", {"options": {"x265-params": "tuna=1"}}, "tuna"),
        ("av1", {"options": {"svtav1-params": "tuna=1"}}, "tuna"),
        ("h264", {"options": {"tune": "tuna"}}, "film, animation"),
        ("h264", {"options": {"threads": 2}}, "argument num_threads"),
    ],
)
def test_options(codec: str, options: dict[str, Any], words: str) -> None:
    refuse(words, codec=codec, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"codec": "h265"},
        {"container": "flv"},
        {"input_format": "native"},
        {"color_space": "bt470"},
        {"color_range": "tv"},
        {"backend": "gpu"},
        {"num_threads": -1},
    ],
)
def test_names(options: dict[str, Any]) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        nvc.encode_video(FRAMES, **options)


@pytest.mark.parametrize(
    ("option", "least"),
    [
        ({"gop": 0}, 1),
        ({"bitrate": 0}, 1),
        ({"bitrate": -8}, 1),
        ({"crf": -1}, 0),
        ({"crf": -0.5}, 0),
        ({"crf": -3}, 0),
        ({"bf": -1}, 0),
        ({"bf": -2}, 0),
    ],
    ids=str,
)
def test_numbers_that_mean_a_default_to_the_op(option: dict[str, float], least: int) -> None:
    (name, value), *_ = option.items()
    words = f"{name} must be at least {least}, or None for the default; got {value}$"
    with pytest.raises(ValueError, match=words):
        nvc.encode_video(FRAMES, **option)


PACKED = np.zeros((2, 6144), np.uint8)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"options": "tune=film"}, "options must be a dictionary, such as .* got 'tune=film'"),
        ({"options": ["tune"]}, r"options must be a dictionary, .* got \['tune'\]"),
        ({"fps": None}, "fps must be a number, got None: leave it out for the default"),
        ({"fps": [30, "a"]}, r"fps must be numbers, got \[30, 'a'\]"),
        ({"pts": [0, None]}, r"pts must be numbers, got \[0, None\]"),
        ({"crf": "low"}, "crf must be a number, or None for the default; got 'low'"),
        ({"gop": "long"}, "gop must be a number, or None for the default; got 'long'"),
        # TensorFlow would cut these numbers to 32 bits, so Python must check them.
        ({"frames": PACKED, "size": (2**31, 1)}, r"size must be .* got \(2147483648, 1\)"),
        ({"frames": PACKED, "size": np.array([2**31, 1])}, r"size must be .*\[2147483648, +1\]"),
        ({"frames": PACKED, "size": (1, -(2**40))}, r"size must be .* got \(1, -1099511627776\)"),
    ],
    ids=str,
)
def test_kinds(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        nvc.encode_video(**{"frames": FRAMES, **arguments})


_QUIET = """
import numpy as np, tensorflow as tf, tf_nvcodec as nvc
frames = np.zeros((4, 64, 64, 3), np.uint8)
for codec in ("h264", "hevc", "av1", "vp9", "mjpeg", "ffv1"):
    nvc.encode_video(frames, 30, codec, "mkv")
    for bad in ({"options": {"x264-params": "tuna=1"}}, {"options": {"tune": "tuna"}},
                {"options": {"x265-params": "tuna=1"}}, {"options": {"svtav1-params": "tuna=1"}}):
        try:
            nvc.encode_video(frames, 30, codec, "mkv", **bad)
        except tf.errors.InvalidArgumentError:
            pass
"""


def test_encoders_write_nothing_to_stderr() -> None:
    done = run("-c", _QUIET)
    assert done.returncode == 0, done.stderr
    names = ("x264", "x265", "Svt", "vpx", "mjpeg", "ffv1", "matroska", "encoder")
    assert not [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(names)]
    assert "[" not in done.stdout
