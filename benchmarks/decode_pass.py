"""Measures reading a 1080p clip from front to back, as RGB arrays of 1, 16, 64 or 100 frames.

The clips have 55 s of H.264, HEVC or AV1 with a key frame at every 12, 50 or 250 frames, with open
GOPs, and with key frames only. A library is measured in each way that it has, for example
torchcodec by ranges and as an iterator. The target is the fastest way of any library. The
yardstick, `ffmpeg -f null`, decodes and makes no RGB.

Most cases begin at the first frame, others at frame 7. "windows" are ranges of 16 frames at every
4th frame, for which the peers seek.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import clips, peers
from benchmarks.case import Case
from benchmarks.harness import Benchmark
from benchmarks.peers.base import windows

DATASET = f"{peers.OURS} VideoDataset"
FORMS = {peers.OURS: "iter_video", DATASET: "VideoDataset"}
UNALIGNED = 7
WINDOW, STEP = 16, 4
# The reads that every clip gets, and those of which a few clips tell enough.
ON_ALL, ON_SOME = (16, 64), (1, 100)


def passes() -> Iterator[tuple[str, str, int, int]]:
    """Yields codec, GOP, first frame and frames of a read of each case."""
    for gop in clips.GOPS:
        for codec in clips.CODECS:
            for count in ON_ALL:
                yield codec, gop, 0, count
            if gop == "gop 50":
                for count in ON_SOME:
                    yield codec, gop, 0, count
            if gop in ("gop 50", "open gop"):
                yield codec, gop, UNALIGNED, 16


def main() -> None:
    bench = Benchmark("decode_pass", "A 1080p clip from front to back", rounds=3, hopeless=1.3)
    for codec, gop, start, count in passes():
        name = f"{codec} {gop}" + (f" from {start}" if start else "")
        name += f", {count} frame{'s' if count > 1 else ''} a read"
        if not bench.wants(name):
            continue
        indices = range(start, clips.PASS_FRAMES)
        arguments = {"path": str(bench.clip(clips.pass_clip(codec, gop)))}
        arguments.update(start=start, count=count)
        case = Case(name, "decode_pass", arguments, len(indices), indices, stream=True)
        done = bench.run(case)
        if count not in ON_ALL:
            continue
        for form, what in FORMS.items():
            bench.target(done, f"{what}: the fastest peer's", 1.0, form=form)
            if not start:
                text = f"{what}: at least 0.95 of ffmpeg -f null"
                bench.target(done, text, 0.95, against="ffmpeg CLI", form=form)
    for codec, gop in (("h264", "gop 50"), ("hevc", "gop 250")):
        name = f"{codec} {gop}, windows of {WINDOW} by {STEP}"
        if not bench.wants(name):
            continue
        starts = windows(clips.FULL_FRAMES, WINDOW, STEP)
        indices = [index for start in starts for index in range(start, start + WINDOW)]
        arguments = {"path": str(bench.clip(clips.gop_clip(codec, gop)))}
        arguments.update(count=WINDOW, step=STEP)
        case = Case(name, "decode_windows", arguments, len(indices), indices, stream=True)
        bench.target(bench.run(case), "at least 3x the fastest peer", 3.0, form=DATASET)
    bench.finish()


if __name__ == "__main__":
    main()
