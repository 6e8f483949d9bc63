"""The guide's decoding scripts print the same on a GPU as on the CPU."""

from __future__ import annotations

from pathlib import Path

import guide_scripts as guide
import numpy as np
import pytest
from gpu_clips import folder

import tf_nvcodec.compat as nvc

pytestmark = pytest.mark.gpu

run = guide.run_here


def frames_on_the_cpu(path: Path) -> list[np.ndarray]:
    demuxer = nvc.CreateDemuxer(path)
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), backend="cpu", usedevicememory=False)
    return [np.asarray(frame) for packet in demuxer for frame in decoder.Decode(packet)]


def test_packets_of_a_file() -> None:
    path = folder() / "h264.avi"
    frames = frames_on_the_cpu(path)
    height, width = frames[0].shape
    said = run(guide.PACKETS, path)
    assert said == [f"True {width} {height * 2 // 3}", f"{len(frames)} True"]


def test_low_latency() -> None:
    """The script counts the packets that do not give their frame at once. That may be the first
    one, because NVDEC's parser may hold a frame back."""
    assert run(guide.LOW_LATENCY, folder() / "h264_no_b.mp4") in (["0"], ["1"])


@pytest.mark.parametrize("name", ["h264.mp4", "hevc.mp4", "h264.avi"])
def test_frames_to_a_file(name: str, tmp_path: Path) -> None:
    path, out = folder() / name, tmp_path / "out.yuv"
    frames = frames_on_the_cpu(path)
    height, width = frames[0].shape
    assert run(guide.TO_A_FILE, path, out) == [f"{width} {height * 2 // 3} NV12"]
    assert out.read_bytes() == b"".join(frame.tobytes() for frame in frames)


def test_a_video_in_memory() -> None:
    path = folder() / "h264.mkv"
    assert run(guide.FROM_MEMORY, path) == [str(len(frames_on_the_cpu(path)))]


def test_one_decoder_for_two_streams() -> None:
    paths = [folder() / name for name in ("h264.mp4", "h264_tall.mp4")]
    shapes = [frame.shape for path in paths for frame in frames_on_the_cpu(path)]
    assert run(guide.TWO_STREAMS, *paths) == [f"{len(shapes)} {shapes[0]} {shapes[-1]}"]


def test_into_tensorflow() -> None:
    path = folder() / "h264.mp4"
    frames = frames_on_the_cpu(path)
    total = sum(int(frame.sum(dtype=np.int64)) for frame in frames)
    assert run(guide.INTO_TENSORFLOW, path) == [f"{frames[0].shape} {total}"]


def test_any_frame_and_decoding_ahead() -> None:
    path = folder() / "h264.mp4"
    count = len(frames_on_the_cpu(path))
    assert run(guide.ANY_FRAME, path)[0].startswith(f"{count} h264 ")
    assert run(guide.AHEAD, path) == [str(count)]
