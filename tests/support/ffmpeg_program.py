"""Runs FFmpeg's program."""

from __future__ import annotations

import subprocess


def ffmpeg(*arguments: object) -> bytes:
    """Returns what the program writes to its output."""
    command = ["ffmpeg", "-nostdin", "-v", "error", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True).stdout
