"""Compares decoded frames and times with the golden ones. The decode tests share this."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from clip_frames import ClipFrames

# Both sides compute seconds in float64 from the same integers, but in another order.
PTS_TOLERANCE = 1e-9


def digests(frames: npt.NDArray[np.uint8]) -> list[str]:
    """Returns the MD5 of each row of [T, frame_bytes]."""
    return [hashlib.md5(frame.tobytes()).hexdigest() for frame in frames]


def check_frames(frames: npt.NDArray[np.uint8], want: Sequence[str], what: str) -> None:
    """Asserts that the frames have these digests, in this order."""
    assert frames.dtype == np.uint8, what
    got = digests(frames)
    assert len(got) == len(want), f"{what}: {len(got)} frames, FFmpeg gives {len(want)}"
    wrong = [i for i, (a, b) in enumerate(zip(got, want)) if a != b]
    elsewhere = [want.index(got[i]) if got[i] in want else None for i in wrong[:10]]
    assert not wrong, (
        f"{what}: {len(wrong)} of {len(want)} frames differ from FFmpeg's, at {wrong[:10]}; "
        f"what is there instead is frame {elsewhere} (None: no frame of these)"
    )


def check_pts(
    pts: npt.NDArray[np.float64], golden: ClipFrames, chosen: Sequence[int], what: str
) -> None:
    """Asserts that all times are finite, and equal those of ffprobe where it has one."""
    assert pts.dtype == np.float64, what
    assert pts.shape == (len(chosen),), what
    assert np.isfinite(pts).all(), what
    known = [(i, golden.pts[index]) for i, index in enumerate(chosen)]
    for i, want in known:
        if want is not None:
            assert abs(pts[i] - want) <= PTS_TOLERANCE, (
                f"{what}: frame {chosen[i]} is at {pts[i]!r} s, ffprobe says {want!r}"
            )
