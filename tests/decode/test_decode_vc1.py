"""VC-1 on the CPU, of streams that vc1_stream.py draws: every frame, in any order."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
import vc1_bitplanes
import vc1_stream

import tf_nvcodec as nvc

FRAMES, WIDTH, HEIGHT = 30, 200, 150
KINDS = (
    *("i", "ip_mixed_vst", "ipb_loop_overlap", "ipb_hpel_ic_slices", "ip_skip_extmv_fastuv"),
    *("ipb_mixed_overlap_planes", "i_overlap_dquant", "ip_mixed_vst_dquant_display"),
    "ipb_loop_mixed_extmv_slices_planes_dquant",
)
MODES = vc1_bitplanes.MODES


def ffmpeg(*arguments: str | Path) -> bytes:
    words = ["ffmpeg", "-nostdin", "-v", "fatal", *map(str, arguments)]
    return subprocess.run(words, check=True, capture_output=True).stdout


@pytest.mark.parametrize("container", ["mkv", "ts", "wmv"])
@pytest.mark.parametrize("kind", KINDS)
def test_any_frames_are_ffmpegs(tmp_path: Path, kind: str, container: str) -> None:
    stream, clip = tmp_path / "stream.vc1", tmp_path / f"clip.{container}"
    stream.write_bytes(vc1_stream.stream(KINDS.index(kind), WIDTH, HEIGHT, FRAMES, kind=kind))
    ffmpeg("-f", "vc1", "-i", stream, "-c", "copy", clip)
    raw = ffmpeg("-flags", "bitexact", "-i", clip, "-vsync", "passthrough", "-f", "rawvideo", "-")
    want = np.frombuffer(raw, np.uint8).reshape(FRAMES, -1)
    assert np.std(want) > 10  # no blank pictures
    contents = clip.read_bytes()
    assert nvc.probe(contents).codec.numpy() == b"vc1"
    frames, pts = nvc.decode_video(contents, pixel_format="native")
    np.testing.assert_array_equal(frames, want)
    assert np.all(np.diff(pts) > 0)
    draw = random.Random(0)
    indices = [draw.randrange(FRAMES) for _ in range(12)]
    some = nvc.decode_frames_at(contents, indices=indices, pixel_format="native")
    np.testing.assert_array_equal(some.frames, want[indices])
    np.testing.assert_array_equal(some.pts, pts.numpy()[indices])


@pytest.mark.parametrize("size", [(200, 150), (96, 144), (112, 80), (64, 48)])
@pytest.mark.parametrize("kind", ["i_overlap_planes", "ip_mixed_planes", "ipb_slices_planes"])
def test_coded_bitplanes_are_as_raw_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, size: tuple[int, int]
) -> None:
    """The generator's own: the mode changes nothing else in a stream."""
    path = tmp_path / "stream.vc1"

    def shown(mode: str) -> bytes:
        monkeypatch.setattr(vc1_bitplanes, "MODES", (mode,))
        path.write_bytes(vc1_stream.stream(3, *size, 12, kind=kind))
        return ffmpeg("-flags", "bitexact", "-i", path, "-f", "framemd5", "-")

    want = shown("raw")
    assert len(want.splitlines()) > 12
    for mode in MODES:
        assert shown(mode) == want, mode
