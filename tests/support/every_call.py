"""Decodes a file by every call but decode_video, which the exactness tests compare with FFmpeg."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tf_nvcodec as nvc
from tf_nvcodec import compat
from tf_nvcodec.cli import main

Array = npt.NDArray[Any]


def _frames_at(path: Path, count: int) -> Array:
    return nvc.decode_frames_at(path.read_bytes(), list(range(count))).frames.numpy()


def _one_by_one(path: Path, count: int) -> Array:
    """From the last frame to the first, so that decoding starts in the middle of the file."""
    data = path.read_bytes()
    order = range(count - 1, -1, -1)
    frames = [nvc.decode_frames_at(data, [i]).frames.numpy()[0] for i in order]
    return np.stack(frames[::-1])


def _iter_video(path: Path, count: int) -> Array:
    parts = [part.frames.numpy() for part in nvc.iter_video(path, 7, stop=count)]
    return np.concatenate(parts)


def _dataset(path: Path, count: int) -> Array:
    clips = nvc.VideoDataset(str(path), count, sampling="start", clips_per_video=1)
    (clip,) = clips.as_numpy_iterator()
    return clip["frames"]


def _decode_clips(path: Path, count: int) -> Array:
    batch = nvc.decode_clips([path.read_bytes()], count, sampling="start")
    if batch.status[0] != b"":
        raise RuntimeError(batch.status[0].numpy().decode())
    return batch.frames.numpy()[0, 0]


def _simple_decoder(path: Path, count: int) -> Array:
    rgb = compat.OutputColorType.RGB
    decoder = compat.SimpleDecoder(
        path, use_device_memory=False, backend="cpu", output_color_type=rgb
    )
    return np.stack([np.asarray(decoder[i]) for i in range(count)])


def _command_line(path: Path, count: int) -> Array:
    out = path.with_name("decoded.npy")
    if main(["decode", str(path), str(out), "--stop", str(count), "--force"]) != 0:
        raise RuntimeError("tf-nvcodec decode failed")
    return np.load(out)


# Each returns the first `count` frames as RGB [T, H, W, 3].
EVERY_CALL: dict[str, Callable[[Path, int], Array]] = {
    "decode_frames_at": _frames_at,
    "one by one": _one_by_one,
    "iter_video": _iter_video,
    "VideoDataset": _dataset,
    "decode_clips": _decode_clips,
    "SimpleDecoder": _simple_decoder,
    "tf-nvcodec decode": _command_line,
}
