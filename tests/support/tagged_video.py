"""Videos with tags of colour, made by FFmpeg's program, and what ffprobe says of a video."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

COLORS = ("color_primaries", "color_transfer", "color_space", "color_range")


def stream_of(path: Path) -> dict[str, Any]:
    """Returns what ffprobe shows of the video stream."""
    ask = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-select_streams", "v"]
    done = subprocess.run([*ask, str(path)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["streams"][0]


def colors_of(path: Path) -> tuple[str, ...]:
    """Returns ffprobe's values of COLORS; "unknown" without a tag."""
    stream = stream_of(path)
    return tuple(stream.get(name, "unknown") for name in COLORS)


def make_tagged(path: Path, colors: tuple[str, ...], *options: str) -> Path:
    """Makes a video of 160x96 with the tags COLORS; `options` choose its codec and format."""
    primaries, transfer, matrix, color_range = colors
    ask = ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi"]
    ask += ["-i", "testsrc2=size=160x96:rate=24:duration=0.3", "-color_primaries", primaries]
    ask += ["-color_trc", transfer, "-colorspace", matrix, "-color_range", color_range]
    subprocess.run([*ask, *options, str(path)], check=True)
    return path
