"""Helpers of the encoding tests: moving pictures, and what FFmpeg's own tools say about a file."""

from __future__ import annotations

import dataclasses
import functools
import json
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tf_nvcodec as nvc

CONTAINERS = {
    "h264": ("mp4", "mov", "mkv", "avi", "ts", "raw"),
    "hevc": ("mp4", "mov", "mkv", "ts", "raw"),
    "av1": ("mp4", "mkv", "webm", "raw", "ivf", "obu"),
    "vp9": ("mp4", "mkv", "webm", "raw", "ivf"),
    "mjpeg": ("mp4", "mov", "mkv", "avi", "raw"),
    "ffv1": ("mov", "mkv", "avi"),
}
PAIRS = [(codec, container) for codec in CONTAINERS for container in CONTAINERS[codec]]
# Whether OpenH264 stands in for x264.
OPENH264 = "libx264" not in nvc.build_info()["ffmpeg"]["encoders"].split(",")
# The fastest presets. OpenH264 has none.
FAST = {"h264": "ultrafast", "hevc": "ultrafast", "av1": "12", "vp9": "8"}
if OPENH264:
    del FAST["h264"]
# FFmpeg can't recognise these containers by their bytes, so it needs the demuxer's name.
_DEMUXERS = {
    ("h264", "raw"): "h264",
    ("hevc", "raw"): "hevc",
    ("mjpeg", "raw"): "mjpeg",
    ("av1", "raw"): "obu",
    ("av1", "obu"): "obu",
}


@functools.lru_cache(maxsize=8)
def moving(count: int, height: int, width: int, seed: int = 0) -> npt.NDArray[np.uint8]:
    """Makes frames [T, H, W, 3] of smooth colours and some texture. Both move."""
    rng = np.random.default_rng(seed)
    texture = rng.normal(0, 12, (height, width, 1))
    y, x = np.mgrid[:height, :width].astype(np.float64)
    frames = np.empty((count, height, width, 3), np.uint8)
    for t in range(count):
        waves = [
            np.sin((x * a + y * b + t * c) / 40) for a, b, c in ((3, 1, 9), (1, 2, 5), (-2, 3, 7))
        ]
        picture = 128 + 90 * np.stack(waves, -1) + np.roll(texture, (t, 2 * t), (0, 1))
        frames[t] = picture.clip(0, 255)
    return frames


def psnr(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    error = np.mean((a.astype(np.float64) - b.astype(np.float64)) ** 2)
    return float("inf") if error == 0 else 10 * np.log10(255**2 / error)


@dataclasses.dataclass(frozen=True)
class Encoded:
    """An encoded file. ffprobe and ffmpeg say what is in it."""

    data: bytes
    codec: str
    container: str

    def _input(self, path: Path) -> list[str]:
        demuxer = _DEMUXERS.get((self.codec, self.container))
        return [*(["-f", demuxer] if demuxer else []), "-i", str(path)]

    def _run(self, tool: str, before: list[str], after: list[str]) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "video"
            path.write_bytes(self.data)
            command = [tool, "-v", "error", *before, *self._input(path), *after]
            done = subprocess.run(command, capture_output=True, check=True)
        assert not done.stderr, done.stderr.decode()
        return done.stdout

    def probe(self, *show: str) -> dict[str, Any]:
        return json.loads(self._run("ffprobe", ["-of", "json", *show], []))

    @functools.cached_property
    def stream(self) -> dict[str, Any]:
        streams = self.probe("-show_streams", "-count_packets")["streams"]
        assert len(streams) == 1
        return streams[0]

    @functools.cached_property
    def frames(self) -> list[dict[str, Any]]:
        return self.probe("-show_frames")["frames"]

    @property
    def pts(self) -> list[float]:
        return [float(frame["pts_time"]) for frame in self.frames]

    @property
    def rate(self) -> Fraction:
        return Fraction(self.stream["avg_frame_rate"])

    @property
    def key_frames(self) -> list[int]:
        return [i for i, frame in enumerate(self.frames) if frame["key_frame"]]

    def planes(self, pixel_format: str | None = None) -> bytes:
        """Returns all frames as rawvideo. The default format is that of the stream."""
        chosen = ["-pix_fmt", pixel_format] if pixel_format else []
        return self._run(
            "ffmpeg", ["-nostdin"], ["-fps_mode", "passthrough", *chosen, "-f", "rawvideo", "-"]
        )
