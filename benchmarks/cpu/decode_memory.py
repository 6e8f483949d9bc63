"""Measures the peak memory of decoding ranges of a long clip (6630 frames of 960x540).

Each range is decoded in a new process. The figure is the peak resident size above that of the
process with the library loaded and nothing read. The clip's own bytes count for a library that
takes bytes. The memory should depend on the requested frames, not on the length of the clip. "whole
clip" decodes the 663 frames of the 1080p clip into one array of 4.1 GB, which shows whether a
library keeps a second copy.
"""

from __future__ import annotations

from typing import Any

from benchmarks import peers
from benchmarks.harness import clips
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case, Row
from benchmarks.harness.process import offers

_RANGES = 12
_FRAME_MB = 960 * 540 * 3 / 1e6
# Allowed besides the frames themselves: the clip's bytes (23 MB), decoder pictures and threads.
_SLACK_MB = 115.0


def measure(bench: Benchmark, case: Case) -> None:
    """Measures the peak of each peer in a new process."""
    if not bench.wants(case.name):
        return
    print(f"\n{bench.title}: {case.name}", flush=True)
    for name in bench.names:
        if not offers(name, case.operation):
            continue
        worker = bench.restart(name)
        row = Row(peer=name)
        answer: dict[str, Any] = {"error": f"absent ({worker.absent})"}
        if not worker.absent:
            answer = worker.call(case.operation, case.arguments)
        frames = answer.get("frames", case.frames)
        if case.frames and frames != case.frames:
            answer = {"error": f"read {frames} frames, not {case.frames}"}
        if "seconds" in answer:
            row.seconds = [answer["seconds"]]
            row.value = round((answer["peak_kb"] - answer["before_kb"]) / 1e3, 1)
            row.extra = {
                "loaded_mb": round(answer["before_kb"] / 1e3, 1),
                "peak_mb": round(answer["peak_kb"] / 1e3, 1),
            }
            extra = row.extra
            print(
                f"  {name:24}{row.value:10.1f} MB above the {extra['loaded_mb']:.1f} MB of the "
                f"loaded library",
                flush=True,
            )
        else:
            row.note = str(answer.get("error") or answer.get("not_offered"))
            print(f"  {name:24}{'-':>10}  {row.note}")
        case.rows.append(row)
        bench.restart(name)
    bench.cases.append(case)


def main() -> None:
    bench = Benchmark("decode_memory", "Peak memory of decoding")
    path = bench.clip("h264_long")
    total = clips.RECIPES["h264_long"][1]
    cases: list[Case] = []
    for count in (16, 128):
        starts = [at * (total - count) // (_RANGES - 1) for at in range(_RANGES)]
        arguments = {"path": str(path), "starts": starts, "count": count}
        case = Case(f"{_RANGES} ranges of {count}", "decode_ranges", arguments, unit="MB")
        measure(bench, case)
        cases.append(case)
        ours = case.row(peers.OURS)
        if ours and ours.value is not None:
            frames_mb = count * _FRAME_MB
            bench.record(
                f"{ours.value:.0f} MB for {frames_mb:.0f} MB of frames (slack {_SLACK_MB:.0f})",
                case=case.name,
                met=ours.value <= frames_mb + _SLACK_MB,
            )
    full = {"path": str(bench.clip("h264_1080p"))}
    measure(bench, Case("whole clip", "decode_full", full, unit="MB"))
    bench.finish()


if __name__ == "__main__":
    main()
