"""The ffmpeg program as a yardstick: `-f null` makes no RGB, and encoding reads raw frames."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peers.base import Peer, read_bytes


def _run(arguments: list[Any]) -> str:
    command = ["ffmpeg", "-nostdin", "-v", "error", "-y"] + [str(each) for each in arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class FfmpegCli(Peer):
    name = "ffmpeg CLI"
    environment = ""
    baseline = True

    def load(self) -> None:
        _run(["-version"])

    def version(self) -> str:
        shown = subprocess.run(["ffmpeg", "-version"], check=True, capture_output=True, text=True)
        return shown.stdout.split()[2]

    def decode_pass(self, path: str, *, count: int) -> int:
        return self.decode_each(path)

    def decode_each(self, path: str) -> int:
        progress = _run(["-progress", "pipe:1", "-i", path, "-map", "0:v:0", "-f", "null", "-"])
        counts = [line for line in progress.splitlines() if line.startswith("frame=")]
        return int(counts[-1].partition("=")[2])

    def encode_x264(
        self,
        path: str,
        *,
        pixel_format: str,
        width: int,
        height: int,
        fps: int,
        preset: str,
        crf: int,
    ) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "out.mp4"
            _run(
                ["-f", "rawvideo", "-pix_fmt", pixel_format, "-s", f"{width}x{height}"]
                + ["-r", fps, "-i", path, "-c:v", "libx264", "-preset", preset, "-crf", crf]
                + ["-pix_fmt", "yuv420p", target]
            )
            return read_bytes(str(target))
