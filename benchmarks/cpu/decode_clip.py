"""Measures 16 frames from t = 5 s of a 1080p clip, from opening the clip to one RGB array.

At 24 frames/s that is frame 120, the 21st of its GOP.
"""

from __future__ import annotations

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case

SECONDS, START, COUNT = 5.0, 120, 16


def main() -> None:
    bench = Benchmark("decode_clip", f"{COUNT} frames from t = {SECONDS:g} s of a 1080p clip")
    for codec in ("h264", "hevc", "av1"):
        path = bench.clip(f"{codec}_1080p")
        arguments = {"path": str(path), "start": START, "count": COUNT}
        case = Case(codec, "decode_clip", arguments, indices=range(START, START + COUNT))
        bench.target(bench.run(case), "at least 1.15x the fastest peer", 1.15)
    bench.finish()


if __name__ == "__main__":
    main()
