"""Measures the full decode of the 1080p clips, H.264 and HEVC, into one array of 4.1 GB."""

from __future__ import annotations

from benchmarks.harness import clips
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case


def main() -> None:
    bench = Benchmark("decode_full", "Full decode of a 1080p clip into one array")
    for codec in ("h264", "hevc"):
        arguments = {"path": str(bench.clip(f"{codec}_1080p"))}
        every = range(clips.FULL_FRAMES)
        case = Case(codec, "decode_full", arguments, frames=clips.FULL_FRAMES, indices=every)
        bench.target(bench.run(case), "at least as fast as the fastest peer", 1.0)
    bench.finish()


if __name__ == "__main__":
    main()
