"""Runs the programming guide's decoding scripts on the CPU. The wanted numbers are FFmpeg's."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from golden_clips import Clips
from guide_scripts import (
    AHEAD,
    ANY_FRAME,
    ERRORS,
    FROM_MEMORY,
    INTO_TENSORFLOW,
    LOW_LATENCY,
    PACKETS,
    TO_A_FILE,
    TWO_STREAMS,
    run_here,
)
from surface_checks import raw_bytes

import tf_nvcodec.compat as nvc


def test_enumerations_by_the_extension_modules_name() -> None:
    assert nvc._PyNvVideoCodec.cudaVideoCodec.HEVC is nvc.cudaVideoCodec.HEVC
    assert nvc._PyNvVideoCodec.Pixel_Format is nvc.Pixel_Format


def test_enumerations_are_printed_by_name() -> None:
    """As the extension module prints them, in every Python."""
    codec, flag = nvc.cudaVideoCodec.H264, nvc.VideoPacketFlag.TIMESTAMP
    assert f"{codec} {codec!s} {codec:d}" == "cudaVideoCodec.H264 cudaVideoCodec.H264 4"
    assert str(nvc.cudaVideoChromaFormat["420"]) == "cudaVideoChromaFormat.420"
    assert f"{flag} {flag:d}" == "VideoPacketFlag.TIMESTAMP 2"
    assert codec == 4


def test_packets_of_a_file(clips: Clips, tmp_path: Path) -> None:
    assert run_here(PACKETS, clips.path("h264.avi")) == ["True 160 96", "48 True"]


@pytest.mark.parametrize("name", ["h264.mp4", "hevc_yuv420p10le.mp4", "hevc_yuv444p12le.mkv"])
def test_frames_to_a_file(clips: Clips, tmp_path: Path, name: str) -> None:
    said = run_here(TO_A_FILE, clips.path(name), tmp_path / "out.yuv")
    demuxer = nvc.CreateDemuxer(clips.path(name))
    assert said[0].startswith(f"{demuxer.Width()} {demuxer.Height()} ")
    frames = list(nvc.SimpleDecoder(clips.path(name), use_device_memory=False))
    golden = clips.frames(name)
    md5 = [hashlib.md5(raw_bytes(frame, golden.pixel_format)).hexdigest() for frame in frames]
    assert md5 == golden.md5
    assert (tmp_path / "out.yuv").read_bytes() == b"".join(bytes(frame) for frame in frames)


def test_a_video_in_memory(clips: Clips, tmp_path: Path) -> None:
    assert run_here(FROM_MEMORY, clips.path("h264.mkv")) == ["48"]


def test_one_decoder_for_two_streams(clips: Clips, tmp_path: Path) -> None:
    said = run_here(TWO_STREAMS, clips.path("h264.mp4"), clips.path("h264_tall.mp4"))
    assert said == ["78 (144, 160) (240, 48)"]


def test_low_latency(clips: Clips, tmp_path: Path) -> None:
    assert run_here(LOW_LATENCY, clips.path("h264_no_b.mp4")) == ["0"]


def test_into_tensorflow(clips: Clips, tmp_path: Path) -> None:
    total = sum(sum(frame) for frame in clips.raw("h264.mp4"))
    assert run_here(INTO_TENSORFLOW, clips.path("h264.mp4")) == [f"(144, 160) {total}"]


def test_any_frame(clips: Clips, tmp_path: Path) -> None:
    said = run_here(ANY_FRAME, clips.path("h264.mp4"))
    assert said == ["48 h264 6 (96, 160, 3)", "25 10 RGB"]


@pytest.mark.parametrize("name", ["broken_h264.ts", "broken_vp9.webm"])
def test_errors_by_their_kind(clips: Clips, name: str) -> None:
    (kind,) = run_here(ERRORS, clips.path(name))
    assert kind == "Decoding error"


def test_decoding_ahead(clips: Clips, tmp_path: Path) -> None:
    assert run_here(AHEAD, clips.path("h264_long_gop.mp4")) == ["150"]
