"""Measures the time to the first batch of 8 shuffled clips from 1,000 small new files.

Every round is a fresh process without an index on disk, timed from the imports on.
"""

from __future__ import annotations

import random

from benchmarks.cpu.dataset_clips import BATCH, COUNT, SIZE
from benchmarks.harness import clips
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case, Row
from benchmarks.harness.process import offers

FILES, FRAMES = 1000, 132


def main() -> None:
    bench = Benchmark("dataset_first_batch", f"the first batch of {BATCH} clips from {FILES} files")
    path = str(bench.clip("h264_small"))
    draw = random.Random(3)
    chosen = [(str(p), draw.randrange(FRAMES - COUNT)) for p in clips.copies("h264_small", FILES)]
    draw.shuffle(chosen)
    arguments = {"path": path, "clips": chosen, "fps": 25.0, "count": COUNT, "height": SIZE}
    arguments.update(width=SIZE, parallel=2, batch=BATCH, batches=1)
    case = Case("1,000 files", "dataset_clips", arguments)
    case.rows = [Row(peer=name) for name in bench.names if offers(name, "dataset_clips")]
    for _ in range(bench.options.rounds):
        for row in case.rows:
            worker = bench.restart(row.peer)
            if worker.absent:
                row.note = f"absent ({worker.absent.splitlines()[0]})"
                continue
            answer = worker.call("dataset_clips", arguments)
            if "seconds" not in answer:
                row.note = f"fails ({answer.get('error', answer.get('not_offered'))})"
                continue
            row.seconds.append(answer["seconds"])
            row.cpu_seconds.append(answer["cpu_seconds"])
            row.value = case.value(row.median)
    bench.show(case)
    bench.target(case, "the fastest peer's", 1.0)
    bench.finish()


if __name__ == "__main__":
    main()
