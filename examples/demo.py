"""Decodes a clip in tf.data, encodes the frames as H.264 in MP4, decodes that and compares both.

    python examples/demo.py [--input VIDEO] [--out FOLDER]

`make demo` runs it on tests/golden/media/bigbuckbunny_720p.mp4.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from tqdm import tqdm

import tf_nvcodec as nvc
from tf_nvcodec.cli.contact_sheet import clock, contact_sheet

ROOT = Path(__file__).resolve().parent.parent
CLIP = ROOT / "tests" / "golden" / "media" / "bigbuckbunny_720p.mp4"
# A range that begins inside a group of pictures is decoded from the group's start, so short ranges
# cost more.
FRAMES_A_RANGE = 250


def frame_batches(path: str, batch_size: int) -> tf.data.Dataset:
    """Returns batches (frames [B, H, W, 3], pts [B]) of a whole video, decoded range by range."""

    def ranges(contents: tf.Tensor) -> tf.data.Dataset:
        starts = tf.data.Dataset.range(0, nvc.probe(contents).num_frames, FRAMES_A_RANGE)
        return starts.map(lambda start: (contents, start))

    def decode(contents: tf.Tensor, start: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        video = nvc.decode_video(contents, start=start, stop=start + FRAMES_A_RANGE)
        return video.frames, video.pts

    return (
        tf.data.Dataset.from_tensor_slices([path])
        .map(tf.io.read_file)
        .flat_map(ranges)
        .map(decode, num_parallel_calls=tf.data.AUTOTUNE)
        .rebatch(batch_size)
        .prefetch(1)
    )


def decode(path: str, label: str, quiet: bool) -> tuple[Any, Any, float]:
    """Returns all frames [T, H, W, 3] and pts [T] of `path`, and the frames decoded per second."""
    total = int(nvc.probe(tf.io.read_file(path)).num_frames)
    frames, pts = [], []
    began = time.perf_counter()
    with tqdm(total=total, desc=label, unit="frame", disable=quiet or None) as bar:
        for batch, times in frame_batches(path, batch_size=16):
            frames.append(batch.numpy())
            pts.append(times.numpy())
            bar.update(len(times))
    seconds = time.perf_counter() - began
    return np.concatenate(frames), np.concatenate(pts), total / seconds


def psnr(first: Any, second: Any) -> float:
    """Returns the peak signal-to-noise ratio in dB over all uint8 samples.

    It goes frame by frame to save memory.
    """
    squares = [np.mean((a.astype(np.float32) - b) ** 2) for a, b in zip(first, second)]
    error = float(np.mean(squares))
    return float("inf") if error == 0 else 10 * float(np.log10(255.0**2 / error))


def write_contact_sheet(path: Path, frames: Any, pts: Any, title: str) -> None:
    """Writes a PNG of sixteen frames spread over the video, each 320 pixels wide."""
    wanted = np.linspace(0, len(frames) - 1, 16).astype(int)
    height = round(320 * frames.shape[1] / frames.shape[2])
    small = tf.image.resize(frames[wanted], (height, 320), method="area")
    small = tf.cast(tf.round(small), tf.uint8).numpy()
    captions = [f"{clock(pts[index])}  #{index}" for index in wanted]
    contact_sheet(small, captions, title, columns=4).save(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", default=str(CLIP))
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "demo")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args()
    if not tf.io.gfile.exists(args.input):
        print(f"demo: {args.input}: no such file", file=sys.stderr)
        return 1
    args.out.mkdir(parents=True, exist_ok=True)

    info = nvc.probe(tf.io.read_file(args.input))
    codec = info.codec.numpy().decode()
    print(
        f"input    {args.input}\n"
        f"         {int(info.num_frames)} frames, {int(info.width)}x{int(info.height)}, {codec},"
        f" {float(info.fps):.6g} fps"
    )
    frames, pts, rate = decode(args.input, "decode", args.quiet)
    print(f"decode   {len(frames)} frames {frames.shape[1:]} {frames.dtype}, {rate:.1f} frames/s")

    began = time.perf_counter()
    with tqdm(total=len(frames), desc="encode", unit="frame", disable=args.quiet or None) as bar:
        encoded = nvc.encode_video(frames, pts=pts - pts[0], codec="h264", container="mp4")
        bar.update(len(frames))
    rate = len(frames) / (time.perf_counter() - began)
    mp4 = args.out / "reencoded.mp4"
    tf.io.write_file(str(mp4), encoded)
    size = mp4.stat().st_size
    print(f"encode   {len(frames)} frames, H.264 in MP4, {size} bytes, {rate:.1f} frames/s")

    again, times, rate = decode(str(mp4), "decode again", args.quiet)
    print(f"decode   {len(again)} frames of the new file, {rate:.1f} frames/s")
    if len(again) != len(frames):
        print(f"demo: encoded {len(frames)} frames, but {len(again)} came back", file=sys.stderr)
        return 1
    print(f"PSNR     {psnr(frames, again):.2f} dB against the first decode")

    sheet = args.out / "contact_sheet.png"
    write_contact_sheet(sheet, again, times, f"{mp4.name}   re-encoded by tf_nvcodec")
    print(f"written  {mp4}\n         {sheet}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
