"""Tests the shape functions of VideoEncode and of VideoEncodeOnDevice (backend="nvenc"). They let a
graph refuse wrong shapes before it runs."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tf_nvcodec as nvc

GOOD = [
    ((None, 64, 64, 3), {}),
    ((4, 64, 64, 3), {}),
    ((None, None, None, 3), {}),
    ((None, None, None, None), {}),
    (None, {}),
    ((4, 64, 64, 1), {"input_format": "gray"}),
    ((4, 64, 64, 3), {"input_format": "bgr", "size": (64, 64)}),
    ((4, 6144), {"input_format": "nv12", "size": (64, 64)}),
    ((None, 12288), {"input_format": "p010", "size": (64, 64)}),
    ((None, 12288), {"input_format": "yuv444p", "size": (64, 64)}),
    ((None, 27), {"input_format": "yuv420p", "size": (3, 5)}),
    ((None, None), {"input_format": "yuv420p", "size": (64, 64)}),
    (None, {"input_format": "yuv420p", "size": (64, 64)}),
]
BAD = [
    ((64, 64, 3), {}, "rank 4"),
    ((4, 64, 64, 1), {}, "must be 3"),
    ((4, 64, 64, 3), {"input_format": "gray"}, "must be 1"),
    ((0, 64, 64, 3), {}, "at least one frame"),
    ((4, 64, 64, 3), {"size": (64, 63)}, "must be 63"),
    ((4, 64, 64, 3), {"input_format": "nv12", "size": (64, 64)}, "rank 2"),
    ((4, 6144), {"input_format": "nv12"}, "need size=(height, width)"),
    ((4, 6144), {"input_format": "nv12", "size": (64, 0)}, "both positive"),
    ((4, 6144), {"input_format": "nv12", "size": (64, 66)}, "have 6336 bytes each; got 6144"),
    ((4, 6144), {"input_format": "p010", "size": (64, 64)}, "have 12288 bytes each"),
    ((4, 64, 64, 3), {"fps": [30.0, 30.0]}, "rank 0"),
    ((4, 64, 64, 3), {"pts": 1.0}, "rank 1"),
    ((4, 64, 64, 3), {"pts": [0.0, 1.0, 2.0]}, "got 3 times for 4 frames"),
    ((4, 64, 64, 3), {"size": (1, 2, 3)}, "must be 2"),
]


def trace(shape: Any, dtype: tf.DType = tf.uint8, **options: Any) -> tf.TensorShape:
    @tf.function(input_signature=[tf.TensorSpec(shape, dtype)])
    def encode(frames: tf.Tensor) -> tf.Tensor:
        return nvc.encode_video(frames, **options)

    return encode.get_concrete_function().structured_outputs.shape


@pytest.mark.parametrize("backend", ["cpu", "nvenc"])
@pytest.mark.parametrize(("shape", "options"), GOOD)
def test_good(shape: Any, options: dict[str, Any], backend: str) -> None:
    assert trace(shape, backend=backend, **options) == ()


@pytest.mark.parametrize("backend", ["cpu", "nvenc"])
@pytest.mark.parametrize(("shape", "options", "words"), BAD)
def test_bad(shape: Any, options: dict[str, Any], words: str, backend: str) -> None:
    with pytest.raises(ValueError) as error:
        trace(shape, backend=backend, **options)
    assert words in str(error.value)


def test_packed_frames_must_be_bytes() -> None:
    with pytest.raises(ValueError, match="dtype uint8; got float"):
        trace((4, 6144), tf.float32, input_format="nv12", size=(64, 64))


def test_pts_of_unknown_length_pass() -> None:
    @tf.function(input_signature=[tf.TensorSpec((4, 64, 64, 3), tf.uint8), tf.TensorSpec([None])])
    def encode(frames: tf.Tensor, pts: tf.Tensor) -> tf.Tensor:
        return nvc.encode_video(frames, pts=pts)

    assert encode.get_concrete_function().structured_outputs.shape == ()
