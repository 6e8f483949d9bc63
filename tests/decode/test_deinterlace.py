"""Compares deinterlace="bob" with its rule, which the tests apply to FFmpeg's frames in float64."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from golden_clips import Clips
from reference import Array, Frame, differences, split_planes

import tf_nvcodec as nvc

INTERLACED = ["h264_mbaff.mp4", "h264_mbaff_bff.ts", "mpeg2_interlaced.ts", "mpeg4_interlaced.mp4"]
PROGRESSIVE = ["h264.mp4", "hevc.mp4"]


def marks(path: Path) -> list[int]:
    """Returns for each frame the first row that bob keeps, 0 or 1, or -1 for a progressive
    frame."""
    command = ["ffprobe", "-v", "quiet", "-threads", "1", "-of", "json", "-select_streams", "v:0"]
    entries = ["-show_frames", "-show_entries", "frame=interlaced_frame,top_field_first"]
    done = subprocess.run([*command, *entries, str(path)], check=True, capture_output=True)
    frames = json.loads(done.stdout)["frames"]
    return [
        -1 if not frame["interlaced_frame"] else 0 if frame["top_field_first"] else 1
        for frame in frames
    ]


def bob(plane: Array, first: int) -> Array:
    """Applies the rule. From `first` on, every second row stays. Each of the others becomes the
    mean of the rows beside it, rounded half up."""
    if first < 0 or len(plane) == 1:
        return plane
    shown = plane.copy()
    for y in range(1 - first, len(plane), 2):
        beside = [plane[i] for i in (y - 1, y + 1) if 0 <= i < len(plane)]
        shown[y] = np.floor(np.mean(beside, axis=0) + 0.5)
    return shown


def expected(clips: Clips, name: str) -> list[bytes]:
    golden = clips.frames(name)
    wide = golden.pixel_format.endswith("le")
    frames = []
    for data, first in zip(clips.raw(name), marks(clips.path(name))):
        planes = split_planes(data, golden.pixel_format, golden.width, golden.height)
        shown = [bob(plane, first).astype("<u2" if wide else "u1") for plane in planes]
        frames.append(b"".join(plane.tobytes() for plane in shown))
    return frames


def decode(data: bytes, **options: Any) -> tf.Tensor:
    return nvc.decode_video(data, deinterlace="bob", **options).frames


@pytest.mark.parametrize("name", [*INTERLACED, *PROGRESSIVE, "h264_fake_interlaced.mp4"])
def test_the_rule(clips: Clips, name: str) -> None:
    want = expected(clips, name)
    got = decode(clips.data(name), pixel_format="native").numpy()
    assert len(got) == len(want)
    wrong = [i for i in range(len(want)) if got[i].tobytes() != want[i]]
    assert not wrong, f"frames {wrong[:10]} of {len(want)}"


@pytest.mark.parametrize("name", INTERLACED)
def test_it_changes_interlaced_frames_only(clips: Clips, name: str) -> None:
    data = clips.data(name)
    woven = nvc.decode_video(data, pixel_format="native")
    shown = nvc.decode_video(data, pixel_format="native", deinterlace="bob")
    np.testing.assert_array_equal(shown.pts, woven.pts)
    changed = (shown.frames.numpy() != woven.frames.numpy()).any(1)
    np.testing.assert_array_equal(changed, [mark >= 0 for mark in marks(clips.path(name))])
    assert changed.any()


@pytest.mark.parametrize("name", ["h264_mbaff.mp4", "mpeg2_interlaced.ts"])
def test_rgb_is_within_one_of_the_reference(clips: Clips, name: str) -> None:
    golden = clips.frames(name)
    got = decode(clips.data(name), stop=4).numpy()
    for ours, data in zip(got, expected(clips, name)[:4]):
        frame = Frame(data, golden.pixel_format, golden.width, golden.height)
        assert differences(ours, frame.rgb() * 255).max() <= 1


def test_frames_at_and_datasets_do_the_same(clips: Clips) -> None:
    name = "h264_mbaff.mp4"
    data = clips.data(name)
    whole = decode(data, size=(32, 48)).numpy()
    at = nvc.decode_frames_at(data, [7, 2, 7], size=(32, 48), deinterlace="bob").frames
    np.testing.assert_array_equal(at, whole[[7, 2, 7]])
    dataset = nvc.VideoDataset(
        [str(clips.path(name))], clip_length=4, size=(32, 48), deinterlace="bob"
    )
    for i, clip in enumerate(dataset.take(2)):
        np.testing.assert_array_equal(clip["frames"], whole[4 * i : 4 * i + 4])


def test_the_default_is_none(clips: Clips) -> None:
    data = clips.data("h264_mbaff.mp4")
    np.testing.assert_array_equal(
        nvc.decode_video(data).frames, nvc.decode_video(data, deinterlace="none").frames
    )


def test_other_names_are_refused(clips: Clips) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="bob"):
        nvc.decode_video(clips.data("h264.mp4"), deinterlace="yadif")


def test_nvdec_does_not_deinterlace(clips: Clips) -> None:
    error = 'deinterlace works on the CPU only; backend="auto" or "cpu"'
    with pytest.raises(tf.errors.InvalidArgumentError, match=error):
        nvc.decode_video(clips.data("h264.mp4"), deinterlace="bob", backend="nvdec")
