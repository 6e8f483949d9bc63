"""Frames asked for in any order are those of a sequential decode."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tensorflow as tf
from clip_table import SOUND
from frame_checks import check_frames, check_pts
from golden_clips import Clips

import tf_nvcodec as nvc

MOST_FRAMES_ONE_BY_ONE = 48


@pytest.mark.parametrize("name", SOUND)
def test_random_indices(clips: Clips, name: str) -> None:
    data, golden = tf.constant(clips.data(name)), clips.frames(name)
    random_numbers = random.Random(name)
    for count in (1, 4, 12):
        # With duplicates, and negative ones that count from the end.
        asked = [random_numbers.randrange(-len(golden), len(golden)) for _ in range(count)]
        asked.append(asked[0])
        chosen = [i % len(golden) for i in asked]
        frames, pts = nvc.decode_frames_at(data, asked, pixel_format="native")
        check_frames(frames.numpy(), [golden.md5[i] for i in chosen], f"{name} at {asked}")
        check_pts(pts.numpy(), golden, chosen, f"{name} at {asked}")


@pytest.mark.parametrize("name", SOUND)
def test_frames_one_by_one(clips: Clips, name: str) -> None:
    data, golden = tf.constant(clips.data(name)), clips.frames(name)
    if len(golden) > MOST_FRAMES_ONE_BY_ONE:
        asked = random.Random(name).sample(range(len(golden)), MOST_FRAMES_ONE_BY_ONE // 3)
    else:
        asked = list(range(len(golden)))
    for i in asked:
        frames, _ = nvc.decode_frames_at(data, [i], pixel_format="native")
        check_frames(frames.numpy(), [golden.md5[i]], f"{name} at [{i}]")


@pytest.mark.parametrize("name", ["h264.mp4", "hevc_open_gop.mkv", "vp9_altref.webm", "h264.ts"])
def test_backwards_and_shuffled(clips: Clips, name: str) -> None:
    data, golden = clips.data(name), clips.frames(name)
    everything = list(range(len(golden)))
    shuffled = everything * 2
    random.Random(7).shuffle(shuffled)
    for asked in (everything[::-1], shuffled):
        frames, pts = nvc.decode_frames_at(data, asked, pixel_format="native")
        check_frames(frames.numpy(), [golden.md5[i] for i in asked], name)
        check_pts(pts.numpy(), golden, asked, name)


@pytest.mark.parametrize("index", [48, -49, 1 << 40, -(1 << 40)])
def test_out_of_range_raises(clips: Clips, index: int) -> None:
    with pytest.raises((tf.errors.OutOfRangeError, tf.errors.InvalidArgumentError)) as caught:
        nvc.decode_frames_at(clips.data("h264.mp4"), [0, index, 1])
    assert str(index) in str(caught.value)
    assert "48" in str(caught.value)


def test_no_indices(clips: Clips) -> None:
    frames, pts = nvc.decode_frames_at(clips.data("h264.mp4"), np.zeros([0], np.int64))
    assert frames.shape == (0, 96, 160, 3)
    assert pts.shape == (0,)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integer_types(clips: Clips, dtype: type) -> None:
    golden = clips.frames("h264.mp4")
    asked = tf.constant([3, 1], dtype)
    frames, _ = nvc.decode_frames_at(clips.data("h264.mp4"), asked, pixel_format="native")
    check_frames(frames.numpy(), [golden.md5[3], golden.md5[1]], str(dtype))


def test_exactly_one_of_indices_and_timestamps(clips: Clips) -> None:
    data = clips.data("h264.mp4")
    for arguments in ({}, {"indices": [0], "timestamps": [0.0]}):
        with pytest.raises((ValueError, TypeError), match=r"indices|timestamps"):
            nvc.decode_frames_at(data, **arguments)


@pytest.mark.parametrize("indices", [[0.7], [1.0], [True], ["1"]])
def test_indices_are_integers(clips: Clips, indices: list[object]) -> None:
    """A fraction is a mistake (seconds, perhaps), not frame 0."""
    with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
        nvc.decode_frames_at(clips.data("h264.mp4"), indices)


def test_ranges_are_integers(clips: Clips) -> None:
    for arguments in ((1.7,), (0, 2.5), (0, 5, 1.5)):
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
            nvc.decode_video(clips.data("h264.mp4"), *arguments)
