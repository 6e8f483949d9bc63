"""Random remuxes of small clips have the frames and times of FFmpeg's sequential decode.

A remux takes a codec with B-frames or without, its container, pts that are those of decoding or
not, a way through AVI, which keeps no pts, and first packets that are missing.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from clip_frames import ClipFrames, clip_frames
from ffmpeg_program import ffmpeg
from frame_checks import digests

import tf_nvcodec as nvc

FRAMES = 36
_X264 = "-c:v libx264 -preset fast -x264-params keyint=12:min-keyint=12:scenecut=0:b-adapt=0"
_X265 = "-c:v libx265 -preset ultrafast -x265-params"
_X265 += " log-level=error:frame-threads=1:keyint=12:min-keyint=12"
SOURCES = {
    "h264": f"{_X264}:bframes=0",
    "h264 with B-frames": f"{_X264}:bframes=3",
    "h264 with an open GOP": f"{_X264}:bframes=2:open-gop=1",
    "hevc": f"{_X265}:bframes=0",
    "hevc with B-frames": f"{_X265}:bframes=3:open-gop=0",
    "hevc with an open GOP": f"{_X265}:bframes=4:open-gop=1",
    "mpeg4": "-c:v mpeg4 -g 12",
    "mpeg4 with B-frames": "-c:v mpeg4 -g 12 -bf 2",
    "mpeg2": "-c:v mpeg2video -g 12",
    "mpeg2 with B-frames": "-c:v mpeg2video -g 12 -bf 2",
}
CONTAINERS = ["mp4", "mov", "mkv", "ts", "avi", "mxf"]


@dataclasses.dataclass(frozen=True)
class Remux:
    source: str
    container: str
    as_decoded: bool  # pts are the times of decoding
    through_avi: bool
    missing: int  # packets at the beginning
    offset: float  # of all times, in seconds

    def make(self, sources: dict[str, Path], folder: Path, number: int) -> Path | None:
        """Returns the file, or None if FFmpeg can't write such a one."""
        filters = ["setts=pts=DTS"] * self.as_decoded
        filters += [f"noise=drop=lt(n\\,{self.missing})"] * bool(self.missing)
        options = ["-bsf:v", ",".join(filters)] if filters else []
        options += ["-output_ts_offset", str(self.offset)]
        before = sources[self.source]
        made = folder / f"{number}.{self.container}"
        try:
            if self.through_avi:
                before, whole = folder / f"{number}.before.avi", before
                ffmpeg("-i", whole, "-c", "copy", before)
            ffmpeg("-i", before, "-c", "copy", *options, made)
            return made if len(clip_frames(made)) else None
        except (subprocess.CalledProcessError, ValueError):
            return None


def draw(rng: random.Random) -> Iterator[Remux]:
    while True:
        source = rng.choice(list(SOURCES))
        yield Remux(
            source=source,
            container=rng.choice(CONTAINERS),
            as_decoded=rng.random() < 0.5,
            through_avi=rng.random() < 0.3,
            # Of MPEG-4 and MPEG-2, FFmpeg also shows the gray picture that it takes for a missing
            # one before B-frames.
            missing=0 if "mpeg" in source else rng.choice([0, 0, 0, 1, 2, 5, 13]),
            offset=rng.choice([0, 0, 0.5, 1.0004]),
        )


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sources")
    made = {}
    for number, (name, options) in enumerate(SOURCES.items()):
        made[name] = folder / f"{number}.{'ts' if 'mpeg2' in name else 'mp4'}"
        pictures = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25", "-frames:v", str(FRAMES)]
        ffmpeg(*pictures, "-pix_fmt", "yuv420p", *options.split(), made[name])
    return made


def check(data: bytes, golden: ClipFrames, rng: random.Random) -> None:
    """Frames that are called good equal FFmpeg's; the others depend on what is missing."""
    frames, pts, valid = nvc.decode_video(
        data, pixel_format="native", on_error="repeat", return_valid=True
    )
    assert len(frames) == len(golden)
    got, good = digests(frames.numpy()), np.flatnonzero(valid)
    assert [got[i] for i in good] == [golden.md5[i] for i in good]
    known = [i for i, time in enumerate(golden.pts) if time is not None]
    wanted = [golden.pts[i] for i in known]
    np.testing.assert_allclose(pts.numpy()[known], wanted, rtol=0, atol=1e-9)
    one = int(rng.choice(list(good)))
    alone, _ = nvc.decode_frames_at(data, [one], pixel_format="native")
    assert digests(alone.numpy()) == [golden.md5[one]], one


def check_remuxes(sources: dict[str, Path], folder: Path, seed: int, count: int) -> None:
    rng = random.Random(seed)
    checked = 0
    for number, remux in enumerate(itertools.islice(draw(rng), count * 4)):
        path = remux.make(sources, folder, number)
        if path is None:
            continue
        data, golden = path.read_bytes(), clip_frames(path)
        try:
            check(data, golden, rng)
            if not remux.missing:
                nvc.decode_video(data)  # nothing is damaged
        except (AssertionError, tf.errors.OpError) as error:
            raise AssertionError(f"seed {seed}, remux {number}: {remux}: {error}") from error
        checked += 1
        if checked == count:
            return
    pytest.fail(f"FFmpeg could write only {checked} of these files")


def test_some(sources: dict[str, Path], tmp_path: Path) -> None:
    check_remuxes(sources, tmp_path, seed=1, count=8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_five_hundred(sources: dict[str, Path], tmp_path: Path, seed: int) -> None:
    check_remuxes(sources, tmp_path, seed=100 + seed, count=50)
