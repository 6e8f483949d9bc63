"""Computes in plain Python which clips a VideoDataset must give, from a decode of the whole
files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tf_nvcodec as nvc

# Times that are closer together than this are equal.
TOLERANCE = 1e-6


@dataclasses.dataclass(frozen=True)
class Whole:
    """A file that is decoded as a whole."""

    name: str
    frames: npt.NDArray[Any]
    pts: npt.NDArray[np.float64]
    end: float  # The time in seconds at which the last frame ends.

    @classmethod
    def read(cls, path: Path, **options: Any) -> Whole:
        data = path.read_bytes()
        decoded = nvc.decode_video(data, **options)
        pts = decoded.pts.numpy()
        end = pts[0] + float(nvc.probe(data).duration)
        return cls(str(path), decoded.frames.numpy(), pts, end)

    def part(self, start: float, end: float | None) -> Whole:
        """Returns the frames that appear from `start` on and before `end`, as a video of theirs."""
        times = np.maximum.accumulate(self.pts)
        end = self.end if end is None else end
        inside = (times >= start - TOLERANCE) & (times < end - TOLERANCE)
        later = times[times >= end - TOLERANCE]
        until = min(end, float(later[0]) if len(later) else self.end)
        return Whole(self.name, self.frames[inside], self.pts[inside], until)

    def on_screen(self, seconds: float, tolerance: float = TOLERANCE) -> int:
        times = np.maximum.accumulate(self.pts)
        return max(i for i, time in enumerate(times) if i == 0 or time <= seconds + tolerance)

    def timeline(self, period: float | None, origin: float | None = None) -> list[int]:
        """Returns the frame number at each position from `origin` to the end. The default of
        `origin` is the first frame."""
        if period is None:
            return list(range(len(self.pts)))
        begin = self.pts[0] if origin is None else origin
        shown, k = [], 0
        while k == 0 or begin + k * period < self.end - TOLERANCE:
            shown.append(self.on_screen(begin + k * period))
            k += 1
        return shown


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The frame numbers of a clip. None is a black frame. All frames after the first `own` ones are
    padding."""

    clip: int
    numbers: list[int | None]
    own: int


def _cut(
    clip: int, timeline: list[int], whole: list[int], start: int, length: int, stride: int, pad: str
) -> Wanted | None:
    numbers: list[int | None] = []
    size = len(timeline)
    positions = [start + i * stride for i in range(length)]
    for at in positions:
        if at < size:
            numbers.append(timeline[at])
        elif pad == "drop":
            return None
        else:
            beyond = {"zero": None, "repeat": timeline[-1], "wrap": whole[(at - size) % len(whole)]}
            numbers.append(beyond[pad])
    return Wanted(clip, numbers, sum(at < size for at in positions))


def wanted_clips(
    video: Whole,
    clip_length: int,
    stride: int | float = 1,
    clip_step: int | None = None,
    fps: float | None = None,
    clips_per_video: int = 1,
    sampling: str | None = None,
    clip_at: list[float] | None = None,
    pad: str = "repeat",
) -> list[Wanted]:
    """Returns the clips of one video in order. For sampling "random", these are all clips that may
    be drawn."""
    period = None if fps is None else 1 / fps
    if isinstance(stride, float):
        period, stride = stride, 1
    whole = video.timeline(period)
    span = (clip_length - 1) * stride + 1
    last = max(len(whole) - span, 0)
    if clip_at is not None:
        clips = []
        for i, seconds in enumerate(clip_at):
            first = video.on_screen(seconds, 0)
            timeline = whole if period is None else video.timeline(period, seconds)
            start = first if period is None else 0
            clips.append(_cut(i, timeline, whole, start, clip_length, stride, pad))
        return [clip for clip in clips if clip is not None]
    if sampling == "random":
        starts = list(range(last + 1))
    elif sampling == "center" or (sampling == "uniform" and clips_per_video == 1):
        starts = [last // 2]
    elif sampling == "uniform":
        starts = [last * i // (clips_per_video - 1) for i in range(clips_per_video)]
    elif sampling == "start":
        starts = [0]
    else:
        step = clip_length * stride if clip_step is None else clip_step
        starts = list(range(0, len(whole) - span + 1, step)) or [0]
    cut = [_cut(i, whole, whole, s, clip_length, stride, pad) for i, s in enumerate(starts)]
    return [clip for clip in cut if clip is not None]


def check_clip(element: dict[str, Any], video: Whole, want: Wanted) -> None:
    """Asserts that an element of as_numpy_iterator is this clip of this video, bit for bit."""
    what = f"{video.name}, clip {want.clip}"
    got = element["frames"]
    assert got.dtype == video.frames.dtype, what
    assert got.shape == (len(want.numbers), *video.frames.shape[1:]), what
    for i, number in enumerate(want.numbers):
        frame = np.zeros_like(got[i]) if number is None else video.frames[number]
        assert got[i].tobytes() == frame.tobytes(), (
            f"{what}: frame {i} is not {number}, but {frame_numbers(element, video)}"
        )
    pts = [0.0 if number is None else video.pts[number] for number in want.numbers]
    assert element["pts"].dtype == np.float64
    assert element["pts"].tolist() == pts, what
    assert element["mask"].tolist() == [i < want.own for i in range(len(pts))], what
    assert element["clip_index"] == want.clip, what
    assert element["filename"] == video.name.encode(), what


def frame_numbers(element: dict[str, Any], video: Whole) -> list[int | None]:
    """Finds the frames of a clip in the video. Returns their numbers, or None for frames that are
    not in it."""
    numbers = {frame.tobytes(): i for i, frame in enumerate(video.frames)}
    return [numbers.get(frame.tobytes()) for frame in element["frames"]]
