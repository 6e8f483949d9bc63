"""Measures what VideoDataset costs besides decoding, and what decoding two clips at once gains."""

from __future__ import annotations

import statistics

from benchmarks import peers
from benchmarks.cpu.dataset_clips import CLIPS, COUNT, SIZE, arguments_for
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case

MOST_OVERHEAD, LEAST_SCALING = 0.05, 1.8


def main() -> None:
    bench = Benchmark("dataset_overhead", f"{CLIPS} random clips at {SIZE}x{SIZE}, by one decode")
    bench.names = [peers.OURS]
    path = str(bench.clip("h264_1080p"))
    rates = {}
    for name, operation, parallel in (
        ("decode_video in a loop", "dataset_loop", 1),
        ("VideoDataset, 1 decode", "dataset_clips", 1),
        ("VideoDataset, 2 decodes", "dataset_clips", 2),
    ):
        arguments = arguments_for(path, parallel=parallel)
        if operation == "dataset_clips":
            arguments["batch"] = 8
        rates[name] = bench.run(Case(name, operation, arguments, frames=CLIPS * COUNT))

    worker = bench.worker(peers.OURS)
    shares = []
    for _ in range(bench.options.rounds):
        answer = worker.call("dataset_share", arguments_for(path, parallel=1))
        shares.append(answer["frames"] / 1e6)
    share = statistics.median(shares)
    bench.record(
        f"at most {MOST_OVERHEAD:.0%} of the time not spent on reading clips, one at a time",
        overhead=round(1 - share, 4),
        met=1 - share <= MOST_OVERHEAD,
    )
    one, two = rates["VideoDataset, 1 decode"], rates["VideoDataset, 2 decodes"]
    if one and two:
        scaling = one.row(peers.OURS).median / two.row(peers.OURS).median
        bench.record(
            f"at least {LEAST_SCALING}x from 1 to 2 parallel decodes",
            scaling=round(scaling, 3),
            met=scaling >= LEAST_SCALING,
        )
    bench.finish()


if __name__ == "__main__":
    main()
