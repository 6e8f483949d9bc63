"""Measures the peak memory of reading ten minutes of 1080p H.264, 64 frames at a time.

The figure is the peak resident size of a new process above that with the library loaded and nothing
read. It should depend on the frames of a read, 398 MB, and not on the length of the video. There is
one round, because each peer reads 14,400 frames.
"""

from __future__ import annotations

from benchmarks import peers
from benchmarks.cpu.decode_memory import measure
from benchmarks.harness import clips
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case

CLIP, COUNT = "h264_1080p_minutes", 64
PEER = "PyAV"
_MOST_TIMES = 1.2


def main() -> None:
    bench = Benchmark("pass_memory", "Peak memory of reading ten minutes of 1080p", rounds=1)
    bench.names = [name for name in bench.names if name in (peers.OURS, PEER)]
    frames = clips.RECIPES[CLIP][1]
    arguments = {"path": str(bench.clip(CLIP)), "count": COUNT}
    case = Case(f"{COUNT} frames a read", "decode_pass", arguments, frames=frames, unit="MB")
    measure(bench, case)
    ours, theirs = case.row(peers.OURS), case.row(PEER)
    if ours and theirs and ours.value is not None and theirs.value is not None:
        bench.record(
            f"{ours.value:.0f} MB, at most {_MOST_TIMES} of {PEER}'s {theirs.value:.0f} MB",
            case=case.name,
            met=ours.value <= _MOST_TIMES * theirs.value,
        )
    bench.finish()


if __name__ == "__main__":
    main()
