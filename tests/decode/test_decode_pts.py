"""Tests the times of frames, and which frames are on screen at given times."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf
from clip_table import CLIPS, SOUND
from frame_checks import check_frames
from golden_clips import Clips

import tf_nvcodec as nvc

# These streams have no timestamps. Their frames follow each other at the stream's rate.
RAW = sorted(name for name in SOUND if name.endswith((".h264", ".hevc")))


def _times(clips: Clips, name: str) -> list[float]:
    return nvc.decode_video(clips.data(name), pixel_format="native").pts.numpy().tolist()


@pytest.mark.parametrize("name", RAW)
def test_raw_streams_count_at_their_rate(clips: Clips, name: str) -> None:
    golden = clips.frames(name)
    assert set(golden.pts) == {None}
    np.testing.assert_allclose(_times(clips, name), np.arange(len(golden)) / 25, atol=1e-9)


def test_joined_streams_keep_their_own_times(clips: Clips) -> None:
    """The times jump back where the second stream begins. A time that is in both streams means the
    frame of the first one."""
    golden, data = clips.frames("h264_joined.ts"), clips.data("h264_joined.ts")
    times = _times(clips, "h264_joined.ts")
    np.testing.assert_allclose(times, golden.pts, atol=1e-9)
    [last] = np.flatnonzero(np.diff(times) < 0)
    at = nvc.decode_frames_at(data, timestamps=times[:last], pixel_format="native")
    check_frames(at.frames.numpy(), golden.md5[:last], "h264_joined.ts")
    span = times[last] - times[0]
    assert span < float(nvc.probe(data).duration) < span + 0.1


def test_missing_times_are_filled_in_order(clips: Clips) -> None:
    unknown = [name for name in SOUND if None in clips.frames(name).pts]
    assert {"h264.avi", "mpeg2.avi", "h264.h264"} <= set(unknown)
    for name in unknown:
        times = np.array(_times(clips, name))
        assert (np.diff(times) > 0).all(), f"{name}: {times}"


@pytest.mark.parametrize(
    "name",
    [
        "h264.mp4",
        "h264.h264",
        "h264_vfr.mp4",
        "h264_vfr.mkv",
        "vp9_vfr.webm",
        "h264_start_delay.ts",
        "h264_edit_list.mp4",
        "h264_wrap.ts",
        "h264_ntsc.mp4",
        "h264_slow.mp4",
    ],
)
def test_frame_on_screen_at_a_time(clips: Clips, name: str) -> None:
    data, golden = tf.constant(clips.data(name)), clips.frames(name)
    times = _times(clips, name)
    asked, chosen = [], []
    for i in range(0, len(times) - 1, 3):
        gap = times[i + 1] - times[i]
        asked += [times[i], times[i] + gap / 2, math.nextafter(times[i + 1], -math.inf)]
        chosen += [i, i, i]
    asked.append(times[-1])
    chosen.append(len(times) - 1)
    frames, pts = nvc.decode_frames_at(data, timestamps=asked, pixel_format="native")
    check_frames(frames.numpy(), [golden.md5[i] for i in chosen], f"{name} at times")
    np.testing.assert_array_equal(pts.numpy(), [times[i] for i in chosen])


def test_the_last_frame_lasts(clips: Clips) -> None:
    """The clip has 25 frames a second. Its last frame is on screen from 1.88 s until 1.92 s."""
    data = clips.data("h264.mp4")
    _, pts = nvc.decode_frames_at(data, timestamps=[1.9199])
    np.testing.assert_allclose(pts.numpy(), [1.88])


@pytest.mark.parametrize("seconds", [-0.001, -1e9, 1.9201, 1e9, math.inf, -math.inf, math.nan])
def test_times_off_screen_raise(clips: Clips, seconds: float) -> None:
    with pytest.raises((tf.errors.OutOfRangeError, tf.errors.InvalidArgumentError)) as caught:
        nvc.decode_frames_at(clips.data("h264.mp4"), timestamps=[0.5, seconds])
    assert "timestamp" in str(caught.value)


def test_times_keep_their_precision(clips: Clips) -> None:
    """Times in Python's floats or in float64 tensors keep their precision. Whole seconds may be
    integers."""
    data, times = clips.data("h264_long_gop.mp4"), [0.04, 0.56, 3.32]
    for asked in (times, np.array(times), tf.constant(times, tf.float64), tuple(times)):
        _, pts = nvc.decode_frames_at(data, timestamps=asked)
        np.testing.assert_allclose(pts.numpy(), times, atol=1e-9)
    _, pts = nvc.decode_frames_at(data, timestamps=[1, 2])
    np.testing.assert_allclose(pts.numpy(), [1, 2], atol=1e-9)


@pytest.mark.parametrize("fps", [23.976, 25, 29.97, 30, 50, 59.94])
def test_the_time_of_frame_i_is_i_over_fps(fps: float) -> None:
    """In float32, half of these times are a little before the frame."""
    black = np.zeros((700, 16, 16, 3), np.uint8)
    data = tf.constant(nvc.encode_video(black, fps=fps, codec="mjpeg", container="mp4"))
    pts = nvc.decode_video(data, size=(2, 2)).pts.numpy()
    numbers = np.arange(len(pts))
    times = [
        numbers / fps,
        (numbers / fps).astype(np.float32),
        numbers.astype(np.float32) / np.float32(fps),
        [np.float32(i / fps) for i in range(len(pts))],
        tf.range(len(pts), dtype=tf.float32) / fps,
    ]
    for asked in times:
        at = nvc.decode_frames_at(data, timestamps=asked, size=(2, 2)).pts
        np.testing.assert_array_equal(at, pts)
    # What float32 can tell apart stays apart. float64 is exact.
    before = np.nextafter(pts[1:].astype(np.float32), np.float32(0))
    before = before[before + np.spacing(before) / 2.0 < pts[1:]]
    assert len(before) > 200
    for early in (before, np.nextafter(pts[1:], 0)):
        at = nvc.decode_frames_at(data, timestamps=early, size=(2, 2)).pts
        assert np.all(at < early)


@pytest.mark.parametrize("first", [0, 0.7, 1.9])
def test_float32_times_at_the_ends(first: float) -> None:
    """The first pts and the end may both be a little after the float32 next to them."""
    for count in range(1, 12):
        black, pts = np.zeros((count, 16, 16, 3), np.uint8), first + np.arange(count) / 30
        video = nvc.encode_video(black, pts=pts, fps=30, codec="mjpeg", container="mp4")
        start, end = nvc.decode_video(video).pts[0], float(nvc.probe(video).duration)
        beyond = np.float32(start + end)
        beyond = beyond if beyond >= start + end else np.nextafter(beyond, np.float32(9))
        last = np.nextafter(beyond, np.float32(0))
        at = nvc.decode_frames_at(video, timestamps=np.float32([start, last]))
        np.testing.assert_allclose(at.pts, [pts[0], pts[-1]], atol=1e-6)
        for outside in (np.float32(start) - np.float32(1e-6), beyond):
            with pytest.raises(tf.errors.InvalidArgumentError, match="outside the video"):
                nvc.decode_frames_at(video, timestamps=np.float32([outside]))


def test_delayed_start_is_part_of_the_time(clips: Clips) -> None:
    assert clips.frames("h264_start_delay.mp4").pts[0] == 1.5
    with pytest.raises((tf.errors.OutOfRangeError, tf.errors.InvalidArgumentError)):
        nvc.decode_frames_at(clips.data("h264_start_delay.mp4"), timestamps=[1.0])


def test_the_corpus_has_what_it_promises(clips: Clips) -> None:
    """The clips really have the timing that their names promise. Otherwise the tests on them would
    prove nothing."""
    start = {name: clips.frames(name).pts[0] for name in SOUND}
    assert start["h264_start_delay.mkv"] == 3.25
    assert start["h264_wrap.ts"] < 0
    assert start["h264.ts"] > 1
    for name in ("h264_edit_list.mp4", "h264_two_edits.mp4", "bbb_edit_list.mp4"):
        golden = clips.frames(name)
        assert len(golden) < int(golden.stream["nb_frames"]), name
    assert len(clips.frames("h264.avi")) < int(clips.frames("h264.avi").stream["nb_frames"])
    assert len(clips.frames("h264_cut_start.ts")) < CLIPS["h264_long_lead.ts"].frames
    gaps = np.diff(np.array(clips.frames("h264_vfr.mp4").pts, np.float64))
    assert gaps.max() > 3 * gaps.min()
