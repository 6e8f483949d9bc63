"""Asks FFmpeg's own command line about a clip: its frames, their bytes and their times.

It asks once and keeps the answers in <clip>.json beside the clip.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

# These options give every frame as the decoder makes it. Nothing is rotated, and no frame is
# dropped or repeated to keep a constant rate. FFmpeg uses one thread, so that its concealment of
# damage does not depend on timing.
_AS_DECODED = ["-map", "0:v:0", "-fps_mode", "passthrough"]
# With this flag, frames are those of the standards on every CPU (docs/decode.md).
_EXACT = ["-flags", "bitexact"]
_INPUT = ["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", *_EXACT]
_INPUT += ["-noautorotate", "-copyts", "-i"]


@dataclasses.dataclass(frozen=True)
class ClipFrames:
    """The result of a sequential decode of the whole first video stream.

    `pts` has the time of each frame in seconds, or None if FFmpeg has no best-effort timestamp.
    `md5` has the hash of each frame as FFmpeg's rawvideo packs it. `stream` is what ffprobe prints
    about the stream.
    """

    width: int
    height: int
    pixel_format: str
    pts: list[float | None]
    md5: list[str]
    stream: dict[str, Any]
    frame: dict[str, Any]  # what ffprobe prints about the first frame

    def __len__(self) -> int:
        return len(self.md5)


def _run(command: list[str]) -> bytes:
    return subprocess.run(command, check=True, capture_output=True).stdout


def _probe(path: Path, entries: str, *more: str) -> dict[str, Any]:
    command = ["ffprobe", "-v", "quiet", "-threads", "1", "-of", "json", "-select_streams", "v:0"]
    return json.loads(_run([*command, *more, "-show_entries", entries, str(path)]))


def _ask(path: Path) -> ClipFrames:
    entries = "stream:stream_side_data:frame=best_effort_timestamp,width,height,pix_fmt"
    found = _probe(path, f"{entries},color_space,color_range,chroma_location", "-show_frames")
    stream, frames = found["streams"][0], found["frames"]
    time_base = Fraction(stream["time_base"])
    stamps = [frame.get("best_effort_timestamp") for frame in frames]
    text = _run([*_INPUT, str(path), *_AS_DECODED, "-f", "framemd5", "-"]).decode()
    rows = [line.split(",") for line in text.splitlines() if not line.startswith("#")]
    # From 7.0 on ffmpeg crops exactly, and ffprobe as its libraries do unless told otherwise.
    size = re.search(r"^#dimensions 0: (\d+)x(\d+)$", text, re.MULTILINE)
    if size is None:
        raise ValueError(f"{path.name}: ffmpeg does not name the size of its frames")
    if len(rows) != len(frames):
        raise ValueError(f"{path.name}: ffmpeg decodes {len(rows)} frames, ffprobe {len(frames)}")
    return ClipFrames(
        width=int(size[1]),
        height=int(size[2]),
        pixel_format=frames[0]["pix_fmt"],
        pts=[None if stamp is None else float(stamp * time_base) for stamp in stamps],
        md5=[row[5].strip() for row in rows],
        stream=stream,
        frame=frames[0],
    )


def clip_frames(path: Path) -> ClipFrames:
    """Returns the frames of a clip, from <clip>.json if this file exists."""
    kept = path.with_name(path.name + ".json")
    if kept.is_file():
        return ClipFrames(**json.loads(kept.read_text()))
    frames = _ask(path)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    unfinished.write_text(json.dumps(dataclasses.asdict(frames)))
    unfinished.replace(kept)
    return frames


def raw_frames(path: Path, count: int | None = None) -> list[bytes]:
    """Returns the bytes of the first `count` frames, packed as rawvideo in the stream's own
    format."""
    limit = [] if count is None else ["-frames:v", str(count)]
    data = _run([*_INPUT, str(path), *_AS_DECODED, *limit, "-f", "rawvideo", "-"])
    total = len(clip_frames(path)) if count is None else count
    size = len(data) // total
    if size * total != len(data):
        raise ValueError(f"{path.name}: {len(data)} bytes are not {total} equal frames")
    return [data[i * size : (i + 1) * size] for i in range(total)]
