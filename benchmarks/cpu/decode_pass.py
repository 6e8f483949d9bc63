"""Measures reading a 1080p clip from front to back, as RGB arrays of 16 or 64 frames.

The clips have 28 s of H.264, HEVC or AV1 with a key frame at every 50 frames, and some other GOPs.
The yardstick, `ffmpeg -f null`, decodes and makes no RGB.
"""

from __future__ import annotations

from benchmarks import peers
from benchmarks.harness import clips
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.case import Case

DATASET = f"{peers.OURS} VideoDataset"
FORMS = {peers.OURS: "iter_video", DATASET: "VideoDataset"}
READS = (
    *((codec, "gop 50", 16) for codec in clips.CODECS),
    ("h264", "gop 50", 64),
    ("hevc", "gop 250", 16),
    ("h264", "open gop", 16),
    ("h264", "intra", 16),
)


def main() -> None:
    bench = Benchmark("decode_pass", "A 1080p clip from front to back")
    indices = range(clips.FULL_FRAMES)
    for codec, gop, count in READS:
        name = f"{codec} {gop}, {count} frames a read"
        if not bench.wants(name):
            continue
        arguments = {"path": str(bench.clip(clips.gop_clip(codec, gop))), "count": count}
        case = Case(name, "decode_pass", arguments, len(indices), indices, stream=True)
        done = bench.run(case)
        for form, what in FORMS.items():
            bench.target(done, f"{what}: the fastest peer's", 1.0, form=form)
            text = f"{what}: at least 0.95 of ffmpeg -f null"
            bench.target(done, text, 0.95, against="ffmpeg CLI", form=form)
    bench.finish()


if __name__ == "__main__":
    main()
