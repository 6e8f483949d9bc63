"""The guide's decoding scripts on the CPU, each in a process of its own, in an empty folder; the
numbers are FFmpeg's."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from golden_clips import Clips
from guide_scripts import (
    AHEAD,
    ANY_FRAME,
    FROM_MEMORY,
    IMPORT,
    INTO_TENSORFLOW,
    LOW_LATENCY,
    PACKETS,
    TO_A_FILE,
    TWO_STREAMS,
)
from surface_checks import raw_bytes

import tf_nvcodec.compat as nvc


def run(script: str, folder: Path, *arguments: object) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", IMPORT + script, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_packets_of_a_file(clips: Clips, tmp_path: Path) -> None:
    assert run(PACKETS, tmp_path, clips.path("h264.avi")) == ["True 160 96", "48 True"]


@pytest.mark.parametrize("name", ["h264.mp4", "hevc_yuv420p10le.mp4", "hevc_yuv444p12le.mkv"])
def test_frames_to_a_file(clips: Clips, tmp_path: Path, name: str) -> None:
    said = run(TO_A_FILE, tmp_path, clips.path(name), tmp_path / "out.yuv")
    demuxer = nvc.CreateDemuxer(clips.path(name))
    assert said[0].startswith(f"{demuxer.Width()} {demuxer.Height()} ")
    frames = list(nvc.SimpleDecoder(clips.path(name), use_device_memory=False))
    golden = clips.frames(name)
    md5 = [hashlib.md5(raw_bytes(frame, golden.pixel_format)).hexdigest() for frame in frames]
    assert md5 == golden.md5
    assert (tmp_path / "out.yuv").read_bytes() == b"".join(bytes(frame) for frame in frames)


def test_a_video_in_memory(clips: Clips, tmp_path: Path) -> None:
    assert run(FROM_MEMORY, tmp_path, clips.path("h264.mkv")) == ["48"]


def test_one_decoder_for_two_streams(clips: Clips, tmp_path: Path) -> None:
    said = run(TWO_STREAMS, tmp_path, clips.path("h264.mp4"), clips.path("h264_tall.mp4"))
    assert said == ["78 (144, 160) (240, 48)"]


def test_low_latency(clips: Clips, tmp_path: Path) -> None:
    assert run(LOW_LATENCY, tmp_path, clips.path("h264_no_b.mp4")) == ["0"]


def test_into_tensorflow(clips: Clips, tmp_path: Path) -> None:
    total = sum(sum(frame) for frame in clips.raw("h264.mp4"))
    assert run(INTO_TENSORFLOW, tmp_path, clips.path("h264.mp4")) == [f"(144, 160) {total}"]


def test_any_frame(clips: Clips, tmp_path: Path) -> None:
    said = run(ANY_FRAME, tmp_path, clips.path("h264.mp4"))
    assert said == ["48 h264 6 (96, 160, 3)", "25 10 RGB"]


def test_decoding_ahead(clips: Clips, tmp_path: Path) -> None:
    assert run(AHEAD, tmp_path, clips.path("h264_long_gop.mp4")) == ["150"]
