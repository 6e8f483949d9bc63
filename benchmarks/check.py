"""Checks that every peer decoded the right frames, by thumbnails of ffmpeg's own decode.

A fast wrong answer is worth nothing: a peer that returns the neighbouring frame, or BGR for RGB, is
left out of the comparison. The mean distance from ffmpeg's colours is reported beside each rate.
"""

from __future__ import annotations

import base64
import dataclasses
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROWS, COLUMNS = 18, 32
MOST = 32  # the most frames that are checked in an answer
_FAR = 24.0  # mean distance in 8-bit steps, larger than a wrong colour matrix causes
_SLACK = 0.5  # in a still scene the frame beside may be nearer by chance


@dataclasses.dataclass
class Verdict:
    ok: bool
    distance: float  # the mean over thumbnails in 8-bit steps
    reason: str = ""


def sample(count: int) -> list[int]:
    """Returns which of `count` frames are checked: at most MOST, evenly spread."""
    if count <= MOST:
        return list(range(count))
    return [index * (count - 1) // (MOST - 1) for index in range(MOST)]


def thumbnails(frames: Any) -> Any:
    """Returns block means of sampled frames, uint8 [n, ROWS, COLUMNS, 3]."""
    import numpy as np

    frames = np.asarray(frames)
    if frames.ndim == 3:
        frames = frames[None]
    if frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[-1] != 3:
        raise RuntimeError(f"not uint8 [T, H, W, 3]: {frames.dtype} {frames.shape}")
    _, height, width, _ = frames.shape
    rows = np.arange(ROWS) * height // ROWS
    columns = np.arange(COLUMNS) * width // COLUMNS
    areas = np.outer(np.diff(np.append(rows, height)), np.diff(np.append(columns, width)))[
        ..., None
    ]
    out = []
    for index in sample(len(frames)):
        sums = np.add.reduceat(frames[index], rows, axis=0, dtype=np.uint32)
        sums = np.add.reduceat(sums, columns, axis=1)
        out.append(np.rint(sums / areas).astype(np.uint8))
    return np.stack(out)


def encode(images: Any) -> str:
    return base64.b64encode(images.tobytes()).decode()


_references: dict[str, Any] = {}


def reference(clip: Path) -> Any:
    """Returns ffmpeg's thumbnails of every frame of the clip, int16 [T, ROWS, COLUMNS, 3]."""
    import numpy as np

    if str(clip) not in _references:
        kept = clip.with_suffix(".thumbnails.rgb")
        if not kept.exists():
            partial = kept.with_suffix(".partial")
            subprocess.run(
                ["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", str(clip), "-map", "0:v:0"]
                + ["-vf", f"scale={COLUMNS}:{ROWS}:flags=area+accurate_rnd+full_chroma_int"]
                + ["-pix_fmt", "rgb24", "-f", "rawvideo", str(partial)],
                check=True,
            )
            partial.rename(kept)
        raw = np.fromfile(str(kept), np.uint8).reshape(-1, ROWS, COLUMNS, 3)
        _references[str(clip)] = raw.astype(np.int16)
    return _references[str(clip)]


def judge(clip: Path, indices: Sequence[int], encoded: str) -> Verdict:
    """Checks that the thumbnails are of the frames at `indices`. `sample` is applied here."""
    import numpy as np

    asked = [indices[at] for at in sample(len(indices))]
    raw = np.frombuffer(base64.b64decode(encoded), np.uint8).reshape(-1, ROWS, COLUMNS, 3)
    if len(raw) != len(asked):
        return Verdict(False, float("nan"), f"{len(raw)} thumbnails for {len(asked)} frames")
    truth = reference(clip)
    distances = []
    for got, index in zip(raw.astype(np.int16), asked):
        near = range(max(0, index - 2), min(len(truth), index + 3))
        by_index = {each: float(np.abs(got - truth[each]).mean()) for each in near}
        distances.append(by_index[index])
        best = min(by_index, key=lambda each: by_index[each])
        if by_index[index] > by_index[best] + _SLACK:
            return Verdict(False, by_index[index], f"frame {index} looks like frame {best}")
    mean = float(np.mean(distances))
    if max(distances) > _FAR:
        return Verdict(False, mean, f"{max(distances):.0f} steps from ffmpeg's colours")
    return Verdict(True, mean)
