"""Frames are bit for bit those of FFmpeg's own sequential decode, in whole or in ranges."""

from __future__ import annotations

import pytest
import tensorflow as tf
from clip_table import CLIPS, SOUND
from frame_checks import check_frames, check_pts
from golden_clips import Clips

import tf_nvcodec as nvc

RANGES = [
    (0, 1, 1),
    (0, 5, 1),
    (3, None, 2),
    (-7, None, 1),
    (-10, -2, 3),
    (1, -1, 1),
    (11, 14, 1),
    (5, 1 << 40, 4),
    (-(1 << 40), 2, 1),
]


@pytest.mark.parametrize("name", SOUND)
def test_whole_clip(clips: Clips, name: str) -> None:
    golden = clips.frames(name)
    frames, pts = nvc.decode_video(clips.data(name), pixel_format="native")
    check_frames(frames.numpy(), golden.md5, name)
    check_pts(pts.numpy(), golden, range(len(golden)), name)


@pytest.mark.parametrize("name", SOUND)
def test_ranges(clips: Clips, name: str) -> None:
    data, golden = tf.constant(clips.data(name)), clips.frames(name)
    for start, stop, stride in RANGES:
        what = f"{name}[{start}:{stop}:{stride}]"
        chosen = range(len(golden))[start:stop:stride]
        if not chosen:
            continue
        frames, pts = nvc.decode_video(data, start, stop, stride, pixel_format="native")
        check_frames(frames.numpy(), [golden.md5[i] for i in chosen], what)
        check_pts(pts.numpy(), golden, chosen, what)


def test_empty_ranges(clips: Clips) -> None:
    """As Python's slices: a range without frames is a batch of none, not an error."""
    data = clips.data("h264.mp4")
    for start, stop in ((5, 5), (20, 10), (48, None), (100, 200), (0, -48), (-3, -5)):
        frames, pts = nvc.decode_video(data, start, stop)
        assert frames.shape == (0, 96, 160, 3), (start, stop)
        assert pts.shape == (0,)
    frames, _ = nvc.decode_video(data, 5, 5, pixel_format="native")
    assert frames.shape == (0, 160 * 96 * 3 // 2)


@pytest.mark.parametrize("stride", [0, -1, -(1 << 40)])
def test_stride_below_one_is_refused(clips: Clips, stride: int) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="stride"):
        nvc.decode_video(clips.data("h264.mp4"), stride=stride)


@pytest.mark.parametrize("name", ["h264.mp4", "av1.mp4", "hevc_open_gop.mkv"])
def test_repeated_calls_agree(clips: Clips, name: str) -> None:
    data, golden = clips.data(name), clips.frames(name)
    for _ in range(5):
        frames, _ = nvc.decode_video(data, pixel_format="native")
        check_frames(frames.numpy(), golden.md5, name)


def test_a_long_clip(clips: Clips) -> None:
    golden = clips.frames("long.mp4")
    data = tf.constant(clips.data("long.mp4"))
    assert len(golden) == CLIPS["long.mp4"].frames
    for start in range(0, len(golden), 500):
        frames, _ = nvc.decode_video(data, start, start + 500, pixel_format="native")
        check_frames(frames.numpy(), golden.md5[start : start + 500], f"long.mp4 from {start}")


def test_frames_of_another_size_need_a_size(clips: Clips) -> None:
    """The stream goes from 160x96 to 64x48 after frame 47."""
    data = clips.data("size_change.h264")
    with pytest.raises(tf.errors.InvalidArgumentError, match="size"):
        nvc.decode_video(data)
    frames, pts = nvc.decode_video(data, size=(48, 64))
    assert frames.shape == (60, 48, 64, 3)
    assert pts.shape == (60,)
    small, _ = nvc.decode_video(clips.data("h264_small.h264"))
    assert (frames[48:].numpy() == small.numpy()).all()
    first, _ = nvc.decode_video(data, stop=48, pixel_format="native")
    check_frames(first.numpy(), clips.frames("h264.h264").md5, "size_change.h264[:48]")
