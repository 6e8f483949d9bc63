"""Measures encoding 132 frames of 720p film with libx264, preset medium, CRF 23, into MP4.

The frames are in memory (the ffmpeg program reads them from a cached file), once as yuv420p, once
as RGB, which every peer converts to BT.601. PSNR compares the frames with the MP4 as ffmpeg decodes
it, in YUV for yuv420p, in RGB for RGB. "Same PSNR and size" means within 0.1 dB and 1 % of the
yardstick's.
"""

from __future__ import annotations

import math
import subprocess
from pathlib import Path
from typing import Callable

from benchmarks import peers
from benchmarks.harness import clips
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case, Row

WIDTH, HEIGHT, FPS, PRESET, CRF = 1280, 720, 25, "medium", 23
_FRAMES = 132
_PSNR_SLACK_DB, _SIZE_SLACK = 0.1, 0.01


def _decode(file: Path, pixel_format: str) -> bytes:
    flags = "scale=flags=accurate_rnd+full_chroma_int+full_chroma_inp"
    command = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(file), "-vf", flags]
    command += ["-pix_fmt", pixel_format, "-f", "rawvideo", "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def psnr(file: Path, source: Path, pixel_format: str) -> float:
    """Returns the PSNR in dB over all samples of all frames."""
    import numpy as np

    want = np.memmap(str(source), np.uint8, mode="r")
    got = np.frombuffer(_decode(file, pixel_format), np.uint8)
    if len(want) != len(got):
        raise RuntimeError(f"{file} decodes to {len(got)} bytes, its source has {len(want)}")
    step, total = 1 << 24, 0.0
    for at in range(0, len(want), step):
        difference = want[at : at + step].astype(np.int16) - got[at : at + step]
        total += float(np.square(difference, dtype=np.int32).sum(dtype=np.int64))
    return 10 * math.log10(255.0**2 * len(want) / max(total, 1.0))


def _reader(source: Path, pixel_format: str) -> Callable[[Row], None]:
    def finish(row: Row) -> None:
        file = clips.CACHE / f"out-{row.peer.replace(' ', '-')}.mp4"
        row.extra["psnr_db"] = round(psnr(file, source, pixel_format), 3)
        file.unlink()

    return finish


def _row(rows: list[Row], peer: str) -> Row | None:
    return next((row for row in rows if row.peer == peer and "psnr_db" in row.extra), None)


def main() -> None:
    bench = Benchmark("encode_x264", "Encode 720p with libx264 medium, CRF 23")
    for pixel_format, clip in (("yuv420p", "raw_720p"), ("rgb24", "raw_720p_rgb")):
        source = bench.clip(clip)
        arguments = {"path": str(source), "pixel_format": pixel_format, "width": WIDTH}
        arguments.update(height=HEIGHT, fps=FPS, preset=PRESET, crf=CRF)
        case = Case(f"from {pixel_format}", "encode_x264", arguments, frames=_FRAMES)
        done = bench.run(case, _reader(source, pixel_format))
        bench.target(done, "at least 0.98 of the ffmpeg program", 0.98, against="ffmpeg CLI")
        ours, theirs = _row(case.rows, peers.OURS), _row(case.rows, "ffmpeg CLI")
        if ours and theirs:
            psnr_gain = ours.extra["psnr_db"] - theirs.extra["psnr_db"]
            size_ratio = ours.extra["bytes"] / theirs.extra["bytes"]
            bench.record(
                f"PSNR {psnr_gain:+.3f} dB and size x{size_ratio:.4f} of the ffmpeg program's",
                case=case.name,
                met=psnr_gain >= -_PSNR_SLACK_DB and size_ratio <= 1 + _SIZE_SLACK,
            )
    bench.finish()


if __name__ == "__main__":
    main()
