"""Measures random 16-frame clips at 224x224 from 1080p H.264 with GOPs of 50, by tf.data.

Batches have 8 clips. This package uses VideoDataset. A peer reads its clips in a numpy_function
under Dataset.map with parallel calls. The first case resizes with tf.image.resize, the second with
the peer's own fastest resize.
"""

from __future__ import annotations

import os
import random

from benchmarks.harness import clips
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case

COUNT, SIZE, BATCH, CLIPS, FPS = 16, 224, 8, 16, 24.0


def random_clips(path: str) -> list[tuple[str, int]]:
    draw = random.Random(7)
    return [(path, draw.randrange(clips.FULL_FRAMES - COUNT)) for _ in range(CLIPS)]


def arguments_for(path: str, parallel: int = 0) -> dict:
    return {
        "path": path,
        "clips": random_clips(path),
        "fps": FPS,
        "count": COUNT,
        "height": SIZE,
        "width": SIZE,
        "parallel": parallel or len(os.sched_getaffinity(0)),
    }


def main() -> None:
    bench = Benchmark("dataset_clips", f"{CLIPS} random clips of {COUNT} frames at {SIZE}x{SIZE}")
    path = str(bench.clip("h264_1080p"))
    for name, own in (("tf.image.resize", False), ("own resize", True)):
        arguments = {**arguments_for(path), "batch": BATCH, "own_resize": own}
        case = Case(name, "dataset_clips", arguments, frames=CLIPS * COUNT)
        bench.target(bench.run(case), "at least 1.5x the fastest peer", 1.5)
    bench.finish()


if __name__ == "__main__":
    main()
