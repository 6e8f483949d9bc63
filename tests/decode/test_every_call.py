"""Every call gives the same frames, for clips whose times or packets mislead."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from clip_table import CLIPS
from every_call import EVERY_CALL
from golden_clips import Clips

import tf_nvcodec as nvc

NAMES = [
    "h264_of_avi.mp4",
    "h264_as_decoded.ts",
    "hevc_as_decoded.mkv",
    "mpeg4_of_avi.mp4",
    "mpeg2_of_avi.mov",
    "h264.mxf",
    "h264_no_first_pts.ts",
    "pal8.avi",
    "pal8.mov",
    "smc.mov",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_call(clips: Clips, tmp_path: Path, name: str) -> None:
    path = Path(shutil.copy(clips.path(name), tmp_path))
    want, _ = nvc.decode_video(path.read_bytes())  # test_decode_exact.py compares it with FFmpeg
    for call, frames_of in EVERY_CALL.items():
        np.testing.assert_array_equal(frames_of(path, len(want)), want, call)


def test_times_lie_before_the_first_that_is_known(clips: Clips) -> None:
    _, pts = nvc.decode_video(clips.data("h264_no_first_pts.ts"), stop=3, size=(8, 8))
    _, whole = nvc.decode_video(clips.data("h264.ts"), stop=3, size=(8, 8))
    np.testing.assert_allclose(pts, whole, atol=1e-9)


def test_palettes_are_in_force_in_every_run(clips: Clips) -> None:
    for name in (name for name in CLIPS if "palette" in CLIPS[name].tags):
        data = clips.data(name)
        first, second = (nvc.decode_frames_at(data, [-1]).frames.numpy() for _ in range(2))
        np.testing.assert_array_equal(first, second)
        assert first.std() > 10, f"{name} is black without its palette"
