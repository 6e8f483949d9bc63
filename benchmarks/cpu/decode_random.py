"""Measures 32 random frames of a 1080p clip in random order, from opening it to one RGB array."""

from __future__ import annotations

import random

from benchmarks.harness import clips
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case

COUNT = 32
SEED = 2


def main() -> None:
    bench = Benchmark("decode_random", f"{COUNT} random frames of a 1080p clip")
    indices = random.Random(SEED).sample(range(clips.FULL_FRAMES), COUNT)
    for codec in ("h264", "hevc", "av1"):
        path = bench.clip(f"{codec}_1080p")
        arguments = {"path": str(path), "indices": indices}
        case = Case(codec, "decode_frames", arguments, indices=indices)
        bench.target(bench.run(case), "at least 1.3x the fastest peer", 1.3)
    bench.finish()


if __name__ == "__main__":
    main()
