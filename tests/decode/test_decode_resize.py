"""Compares resizing inside the decode, with crop and orientation, with the float64 reference."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from all_pairs import all_pairs
from golden_clips import ORIENTED, Clips
from reference import View, differences

import tf_nvcodec as nvc

METHODS = ["nearest", "bilinear", "bicubic", "area", "lanczos3"]
WIDENED = ["bilinear", "bicubic", "lanczos3"]
# The sizes are larger, smaller, larger in one axis and smaller in the other, a single pixel, and in
# a ratio of primes.
SIZES = [(128, 192), (32, 48), (20, 150), (1, 1), (61, 37)]


def check(frames: tf.Tensor, clips: Clips, name: str, view: View, **shown: object) -> None:
    got = frames.numpy()
    for ours, frame in zip(got, clips.reference(name, len(got), **shown)):
        difference = differences(ours, frame.rgb(view) * 255)
        assert difference.max() <= 1, f"{name} {view}: off by {difference.max()}"
        assert (difference > 0).mean() <= 0.05, f"{name} {view}: {(difference > 0).mean():.4f}"


@pytest.mark.parametrize(
    ("name", "size", "method"),
    all_pairs(["colour_odd.mkv", "colour_422.mkv", "colour_444_12.mkv"], SIZES, METHODS),
)
def test_resized(clips: Clips, name: str, size: tuple[int, int], method: str) -> None:
    frames, _ = nvc.decode_video(clips.data(name), size=size, resize_method=method)
    assert frames.shape == (2, *size, 3)
    check(frames, clips, name, View(size, method), space="bt709")


@pytest.mark.parametrize("method", METHODS)
def test_real_picture(clips: Clips, method: str) -> None:
    data = clips.data("bbb.mp4")
    frames, _ = nvc.decode_frames_at(data, [0, 1], size=(224, 224), resize_method=method)
    check(frames, clips, "bbb.mp4", View((224, 224), method), space="bt709")


def test_the_same_size_changes_nothing(clips: Clips) -> None:
    data = clips.data("colour_odd.mkv")
    plain, _ = nvc.decode_video(data)
    for method in METHODS:
        frames, _ = nvc.decode_video(data, size=(65, 97), resize_method=method)
        np.testing.assert_array_equal(frames.numpy(), plain.numpy())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [(45, 80), (180, 320), (33, 57)])
def test_it_is_tensorflows_resize(clips: Clips, size: tuple[int, int], method: str) -> None:
    """Our decoder resizes before it converts to gray, TensorFlow afterwards. In the legal range,
    this conversion is linear, so the order does not matter."""
    data = clips.data("colour_smooth.mkv")
    gray = {"pixel_format": "gray", "dtype": tf.float32}
    ours, _ = nvc.decode_video(data, size=size, resize_method=method, **gray)
    full, _ = nvc.decode_video(data, **gray)
    theirs = tf.image.resize(full, size, method=method)
    # TensorFlow takes bicubic weights from a table of 1024 steps.
    tolerance = 4e-3 if method == "bicubic" else 1e-5
    np.testing.assert_allclose(ours.numpy(), np.clip(theirs, 0, 1), atol=tolerance)


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", WIDENED)
@pytest.mark.parametrize("size", [(45, 80), (180, 320), (13, 57)])
def test_antialias_is_tensorflows(
    clips: Clips, size: tuple[int, int], method: str, antialias: bool
) -> None:
    data = clips.data("colour_smooth.mkv")
    gray = {"pixel_format": "gray", "dtype": tf.float32}
    ours, _ = nvc.decode_video(data, size=size, resize_method=method, antialias=antialias, **gray)
    full, _ = nvc.decode_video(data, **gray)
    theirs = tf.image.resize(full, size, method=method, antialias=antialias)
    tolerance = 4e-3 if method == "bicubic" and not antialias else 1e-5
    np.testing.assert_allclose(ours.numpy(), np.clip(theirs, 0, 1), atol=tolerance)


@pytest.mark.parametrize("name", ["colour_odd.mkv", "h264_rotate_90.mp4", "h264.mp4"])
def test_an_integer_is_the_shorter_side(clips: Clips, name: str) -> None:
    data = clips.data(name)
    height, width = nvc.decode_frames_at(data, [0]).frames.shape[1:3]
    for side in (17, 200):
        size = tuple(length * side // min(height, width) for length in (height, width))
        assert min(size) == side
        want = nvc.decode_frames_at(data, [0, 1], size=size)
        got = nvc.decode_frames_at(data, [0, 1], size=side)
        np.testing.assert_array_equal(got.frames, want.frames)
    chunk = next(iter(nvc.iter_video(str(clips.path(name)), 2, size=17, index_cache=False)))
    assert min(chunk.frames.shape[1:3]) == 17
    with pytest.raises(ValueError, match="size must be at least 1"):
        nvc.decode_video(data, size=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="an integer size"):
        nvc.decode_video(data, size=16, pixel_format="nv12")


CROPS = [(0, 0, 32, 48), (10, 20, 40, 60), (7, 13, 31, 43), (63, 95, 1, 1), (0, 1, 64, 95)]


@pytest.mark.parametrize("crop", CROPS)
@pytest.mark.parametrize("name", ["colour_odd.mkv", "colour_422.mkv"])
def test_crop(clips: Clips, name: str, crop: tuple[int, int, int, int]) -> None:
    frames, _ = nvc.decode_video(clips.data(name), crop=crop)
    assert frames.shape == (2, *crop[2:], 3)
    check(frames, clips, name, View(crop=crop), space="bt709")
    whole, _ = nvc.decode_video(clips.data(name))
    top, left, height, width = crop
    cut = whole.numpy()[:, top : top + height, left : left + width]
    np.testing.assert_array_equal(frames.numpy(), cut)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("crop", CROPS[:3])
def test_crop_then_resize(clips: Clips, crop: tuple[int, int, int, int], method: str) -> None:
    name = "colour_odd.mkv"
    frames, _ = nvc.decode_video(clips.data(name), crop=crop, size=(24, 50), resize_method=method)
    check(frames, clips, name, View((24, 50), method, crop), space="bt709")


@pytest.mark.parametrize(
    ("crop", "word"),
    [
        ((0, 0, 66, 10), "crop"),
        ((0, 0, 10, 98), "crop"),
        ((60, 0, 10, 10), "crop"),
        ((-1, 0, 10, 10), "crop"),
        ((0, 0, 0, 10), "crop"),
        ((1 << 30, 0, 1 << 30, 10), "crop"),
    ],
)
def test_crops_outside_the_frame_are_refused(
    clips: Clips, crop: tuple[int, int, int, int], word: str
) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=word):
        nvc.decode_video(clips.data("colour_odd.mkv"), crop=crop)


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (-1, 5), (1 << 20, 5), (1 << 30, 1 << 30)])
def test_impossible_sizes_are_refused(clips: Clips, size: tuple[int, int]) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="size"):
        nvc.decode_video(clips.data("colour_odd.mkv"), size=size)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ORIENTED)
def test_orientation_crop_and_resize(clips: Clips, name: str, method: str) -> None:
    crop, size = (3, 5, 56, 51), (35, 102)
    frames, _ = nvc.decode_video(
        clips.data(name), stop=2, crop=crop, size=size, resize_method=method
    )
    check(frames, clips, name, View(size, method, crop), **ORIENTED[name])


@pytest.mark.parametrize("name", ORIENTED)
def test_orientation_alone(clips: Clips, name: str) -> None:
    frames, _ = nvc.decode_video(clips.data(name), stop=2)
    check(frames, clips, name, View(), **ORIENTED[name])
    stored, _ = nvc.decode_video(clips.data(name), stop=2, apply_rotation=False)
    check(stored, clips, name, View())
