"""Checks that every peer decoded the right frames, by thumbnails of ffmpeg's own decode.

A fast wrong answer is worth nothing: a peer that returns the neighbouring frame, or BGR for RGB, is
left out of the comparison. The mean distance from ffmpeg's colours is reported beside each rate.
Where an operation yields arrays, a few points of every frame are compared instead: to take them
costs almost nothing, so that it is done while the clock runs.
"""

from __future__ import annotations

import base64
import dataclasses
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROWS, COLUMNS = 18, 32
POINT_ROWS, POINT_COLUMNS = 9, 16
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


def points(frames: Any) -> Any:
    """Returns points of all frames of a yielded array, uint8 [n, POINT_ROWS, POINT_COLUMNS, 3].

    Raises:
      RuntimeError: It is not a NumPy array of RGB frames with its own memory layout.
    """
    import numpy as np

    if not isinstance(frames, np.ndarray) or not frames.flags.c_contiguous:
        raise RuntimeError(f"not a contiguous NumPy array: {type(frames)}")
    if frames.ndim == 3:
        frames = frames[None]
    if frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[-1] != 3:
        raise RuntimeError(f"not uint8 [T, H, W, 3]: {frames.dtype} {frames.shape}")
    _, height, width, _ = frames.shape
    rows = (2 * np.arange(POINT_ROWS) + 1) * height // (2 * POINT_ROWS)
    columns = (2 * np.arange(POINT_COLUMNS) + 1) * width // (2 * POINT_COLUMNS)
    return frames[:, rows[:, None], columns]


def encode(*images: Any) -> str:
    return base64.b64encode(b"".join(each.tobytes() for each in images)).decode()


_references: dict[Path, Any] = {}


def reference(clip: Path) -> Any:
    """Returns ffmpeg's thumbnails of every frame of the clip, int16 [T, ROWS, COLUMNS, 3]."""
    import numpy as np

    if clip not in _references:
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
        _references[clip] = raw.astype(np.int16)
    return _references[clip]


def _size(clip: Path) -> tuple[int, int]:
    """Returns the width and the height of a clip."""
    command = ["ffprobe", "-v", "error", "-select_streams", "v:0", "-of", "csv=p=0"]
    command += ["-show_entries", "stream=width,height", str(clip)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    width, height = shown.strip().split(",")[:2]
    return int(width), int(height)


def reference_points(clip: Path) -> Any:
    """Returns the points of every frame as ffmpeg decodes it, int16 [T, ..., 3]."""
    import numpy as np

    kept = clip.with_suffix(".points.rgb")
    if kept not in _references:
        if not kept.exists():
            command = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(clip), "-map", "0:v:0"]
            command += ["-vf", "scale=flags=accurate_rnd+full_chroma_int", "-pix_fmt", "rgb24"]
            command += ["-f", "rawvideo", "-"]
            (width, height), found = _size(clip), b""
            with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
                assert program.stdout is not None
                while frame := program.stdout.read(width * height * 3):
                    image = np.frombuffer(frame, np.uint8).reshape(height, width, 3)
                    found += points(image).tobytes()
            if program.returncode:
                raise RuntimeError(f"ffmpeg failed with {program.returncode} on {clip}")
            kept.write_bytes(found)
        raw = np.fromfile(str(kept), np.uint8).reshape(-1, POINT_ROWS, POINT_COLUMNS, 3)
        _references[kept] = raw.astype(np.int16)
    return _references[kept]


def judge(clip: Path, indices: Sequence[int], encoded: str) -> Verdict:
    """Checks that the thumbnails are of the frames at `indices`. `sample` is applied here."""
    return _compare(reference(clip), [indices[at] for at in sample(len(indices))], encoded)


def judge_points(clip: Path, indices: Sequence[int], encoded: str) -> Verdict:
    """Checks that the points are of the frames at `indices`."""
    return _compare(reference_points(clip), indices, encoded)


def _compare(truth: Any, asked: Sequence[int], encoded: str) -> Verdict:
    """Checks that the encoded images are those at `asked` of `truth`."""
    import numpy as np

    raw = np.frombuffer(base64.b64decode(encoded), np.uint8).reshape(-1, *truth.shape[1:])
    if len(raw) != len(asked):
        return Verdict(False, float("nan"), f"{len(raw)} images for {len(asked)} frames")
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
