"""Measures 16 frames at 224x224 from a 1080p clip, the usual input of a video model.

A peer resizes inside its decode if it can (torchcodec, decord, PyAV), else with the fastest
bilinear resize available to it (cv2.resize, tf.image.resize).
"""

from __future__ import annotations

from benchmarks.cpu.decode_clip import COUNT, START
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case

SIDE = 224


def main() -> None:
    bench = Benchmark("decode_resized", f"{COUNT} frames at {SIDE}x{SIDE} from a 1080p clip")
    for codec in ("h264", "hevc", "av1"):
        path = bench.clip(f"{codec}_1080p")
        arguments = {"path": str(path), "start": START, "count": COUNT}
        arguments.update(height=SIDE, width=SIDE)
        case = Case(codec, "decode_clip_resized", arguments, indices=range(START, START + COUNT))
        bench.target(bench.run(case), "at least 1.3x the fastest peer", 1.3)
    bench.finish()


if __name__ == "__main__":
    main()
