"""Measures opening a small clip (320x180, H.264) and decoding its first frame.

This is what indexing a data set of many short videos costs.
"""

from __future__ import annotations

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case


def main() -> None:
    bench = Benchmark("decode_first_frame", "Open plus first frame of a small clip")
    arguments = {"path": str(bench.clip("h264_small"))}
    case = Case("h264 320x180", "first_frame", arguments, indices=[0], repeat=50)
    bench.target(bench.run(case), "faster than the fastest peer", 1.0)
    bench.finish()


if __name__ == "__main__":
    main()
