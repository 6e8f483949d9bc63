"""Measures a loop over the frames of a 1080p clip that looks at each one and keeps none.

Each library is written as its own documentation shows it: `for frame in container.decode(stream)`,
`for frame in decoder`, `capture.read()`. The frames are NumPy arrays of RGB. The yardstick, `ffmpeg
-f null`, decodes and makes no RGB.
"""

from __future__ import annotations

from benchmarks.harness import clips
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case


def main() -> None:
    bench = Benchmark("decode_each", "Frame by frame through a 1080p clip, nothing kept")
    every = range(clips.FULL_FRAMES)
    for codec in clips.CODECS:
        if not bench.wants(codec):
            continue
        arguments = {"path": str(bench.clip(clips.gop_clip(codec, "gop 50")))}
        case = Case(codec, "decode_each", arguments, len(every), every, stream=True)
        bench.target(bench.run(case), "the fastest peer's", 1.0)
    bench.finish()


if __name__ == "__main__":
    main()
