"""Measures the full decode of the 1080p clips to RGB: H.264, HEVC, AV1.

Two ways differ in cost. "stream" makes every picture as RGB and frees it (this package: a call for
each 100 frames). "array" leaves the whole clip, 4.1 GB, in one array. The yardstick,
`ffmpeg -f null`, decodes and makes no RGB.
"""

from __future__ import annotations

from benchmarks import clips
from benchmarks.case import Case
from benchmarks.harness import Benchmark


def main() -> None:
    bench = Benchmark("decode_full", "Full decode of a 1080p clip to RGB")
    for codec in ("h264", "hevc", "av1"):
        path = bench.clip(f"{codec}_1080p")
        arguments = {"path": str(path)}
        stream = Case(f"{codec} stream", "decode_stream", arguments, frames=clips.FULL_FRAMES)
        done = bench.run(stream)
        bench.target(done, "at least as fast as the fastest peer", 1.0)
        bench.target(done, "at least 0.95 of ffmpeg -f null", 0.95, against="ffmpeg CLI")
        every = range(clips.FULL_FRAMES)
        array = Case(
            f"{codec} array", "decode_full", arguments, frames=clips.FULL_FRAMES, indices=every
        )
        bench.target(bench.run(array), "at least as fast as the fastest peer", 1.0)
    bench.finish()


if __name__ == "__main__":
    main()
