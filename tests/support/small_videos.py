"""Makes many small videos for the tests of whole datasets. Their frames tell which video they are
from."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from encoded import FAST

import tf_nvcodec as nvc

FRAMES = 20
SIZE = 64
_LEVELS = 16


@functools.lru_cache(maxsize=256)
def small_video(number: int, faststart: bool = True) -> bytes:
    """Encodes 20 frames of 64x64, at 10 a second and in GOPs of 10. Their grey levels hold `number`
    and the number of the frame, which `read_frame` reads."""
    frames = np.empty((FRAMES, SIZE, SIZE, 3), np.uint8)
    frames[:, : SIZE // 2, : SIZE // 2] = 8 + 16 * (number // _LEVELS)
    frames[:, SIZE // 2 :, : SIZE // 2] = 8 + 16 * (number % _LEVELS)
    frames[:, :, SIZE // 2 :] = (10 + 12 * np.arange(FRAMES, dtype=np.uint8))[:, None, None, None]
    encoded = nvc.encode_video(
        frames, 10, crf=10, gop=10, preset=FAST.get("h264"), faststart=faststart
    )
    return bytes(encoded.numpy())


def read_frame(frame: np.ndarray) -> tuple[int, int]:
    """Reads the number of the video and the number of the frame from a frame [H, W, 3] of uint8."""
    height, width = frame.shape[0] // 4, frame.shape[1] // 4
    upper, lower = frame[height, width, 0], frame[3 * height, width, 0]
    own = round((float(frame[height, 3 * width, 0]) - 10) / 12)
    return int(upper) // 16 * _LEVELS + int(lower) // 16, own


def write_small_videos(folder: Path, count: int) -> list[str]:
    """Writes the videos 0, 1, ... to the files 000.mp4, 001.mp4, ... and returns the paths."""
    paths = []
    for number in range(count):
        path = folder / f"{number:03d}.mp4"
        path.write_bytes(small_video(number))
        paths.append(str(path))
    return paths
