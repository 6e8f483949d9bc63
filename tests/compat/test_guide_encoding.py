"""Runs the programming guide's encoding scripts. FFmpeg's own tools read what they write."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import guide_encoding_scripts as guide
import guide_framework_scripts
import numpy as np
import pytest
from compat_streams import HEIGHT, WIDTH, Stream, nv12_frames, write_nv12
from guide_scripts import run_here

import tf_nvcodec.compat as nvc

COUNT = 48
SIZE = (WIDTH, HEIGHT)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Writes a raw file: frames of NV12, one after the other."""
    return write_nv12(tmp_path / "input.yuv", COUNT)


@pytest.fixture
def mp4(raw: Path, tmp_path: Path) -> Path:
    path = tmp_path / "input.mp4"
    run_here(guide.TO_A_CONTAINER, *SIZE, raw, path, "h264")
    return path


def decoded(path: Path, codec: str) -> np.ndarray:
    planes = np.frombuffer(Stream(path.read_bytes(), codec).file.planes("nv12"), np.uint8)
    return planes.reshape(-1, HEIGHT * 3 // 2, WIDTH)


def nv12_of(path: Path) -> bytes:
    ask = ["ffmpeg", "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "nv12", "-"]
    return subprocess.run(ask, capture_output=True, check=True).stdout


def ffprobe(path: Path, *ask: str) -> dict:
    command = ["ffprobe", "-v", "error", "-of", "json", *ask, str(path)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_a_raw_file_to_an_elementary_stream(codec: str, raw: Path, tmp_path: Path) -> None:
    path = tmp_path / f"output.{codec}"
    assert run_here(guide.RAW_TO_STREAM, *SIZE, raw, path, codec) == [str(COUNT)]
    frames = decoded(path, codec)
    assert len(frames) == COUNT
    assert np.abs(frames.astype(int) - np.stack(nv12_frames(COUNT))).mean() < 6


def test_arguments_of_the_guides_tables() -> None:
    params = {"gpuid": 0, "width": WIDTH, "height": HEIGHT, "format": "NV12"}
    params.update({"usecpuinputbuffer": True, "gop": [2, 2, 2], "max_res": [3840, 2160]})
    with pytest.warns(nvc.IgnoredParameterWarning, match="max_res has no effect: on the CPU"):
        encoder = nvc.CreateEncoder(**params)
    data = b"".join(encoder.Encode(frame) for frame in nv12_frames(5)) + encoder.EndEncode()
    assert Stream(data, "h264").key_frames == [0, 2, 4]
    with pytest.raises(ValueError, match="gop must be a whole number .* a list that repeats it"):
        nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, gop=[2, 3, 2])
    with pytest.raises(ValueError, match="gpu_id is given twice"):
        nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, gpuid=0, gpu_id=1)


def test_tensors_as_frames(raw: Path, tmp_path: Path) -> None:
    path = tmp_path / "output.h264"
    run_here(guide.TENSORS, *SIZE, raw, path)
    np.testing.assert_array_equal(decoded(path, "h264"), np.stack(nv12_frames(COUNT)))


def test_interleaved_rgb_as_frames(tmp_path: Path) -> None:
    path = tmp_path / "output.hevc"
    run_here(guide.GRADIENT, *SIZE, path)
    luma = decoded(path, "hevc")[0, :HEIGHT].astype(np.float64)
    assert np.abs(luma - guide.luma_of_gradient(*SIZE)).max() < 4


@pytest.mark.filterwarnings("ignore::tf_nvcodec.compat.IgnoredParameterWarning")
@pytest.mark.parametrize("name", list(guide.CONFIGS))
def test_parameters_of_a_json_file(name: str, raw: Path, tmp_path: Path) -> None:
    path, config = tmp_path / "output", tmp_path / "config.json"
    config.write_text(guide.CONFIGS[name])
    (largest,) = run_here(guide.CONFIGURED, *SIZE, raw, path, config)
    params = json.loads(guide.CONFIGS[name])
    stream = Stream(path.read_bytes(), params.get("codec", "h264"))
    assert stream.key_frames == list(range(0, COUNT, int(params["gop"])))
    if name == "cbr":
        # The largest frame fits into the buffer.
        assert int(largest) <= 1.05 * params["vbvbufsize"] / 8


def test_the_bitrate_halves_and_returns(tmp_path: Path) -> None:
    count, bitrate = 180, 800_000
    raw = write_nv12(tmp_path / "input.yuv", count)
    sizes = run_here(guide.RECONFIGURED, *SIZE, raw, bitrate)[0].split()
    rates = [int(size) * 8 * 30 / (count // 3) for size in sizes]
    assert rates == pytest.approx([bitrate, bitrate / 2, bitrate], rel=0.25)


def test_encode_and_mux(raw: Path, tmp_path: Path) -> None:
    path = tmp_path / "output.mp4"
    assert run_here(guide.TO_A_CONTAINER, *SIZE, raw, path, "hevc") == [str(COUNT)]
    found = ffprobe(path, "-show_frames", "-show_streams")
    assert found["streams"][0]["duration"] == "1.600000"
    times = [float(frame["pts_time"]) for frame in found["frames"]]
    assert times == pytest.approx([i / 30 for i in range(COUNT)], abs=1e-4)


def test_decode_and_encode_again(mp4: Path, tmp_path: Path) -> None:
    path = tmp_path / "output.hevc"
    run_here(guide.AGAIN, mp4, path)
    again = decoded(path, "hevc")
    assert len(again) == COUNT
    assert again.tobytes() == nv12_of(mp4)


def test_frames_as_tensors_of_pytorch_and_back(mp4: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    path = tmp_path / "output.h264"
    run_here(guide_framework_scripts.TORCH, mp4, path)
    assert decoded(path, "h264").tobytes() == nv12_of(mp4)


def test_segments_from_a_list(mp4: Path, tmp_path: Path) -> None:
    segments = tmp_path / "segments.txt"
    segments.write_text("0.3 0.8\n1 1.5")
    names = run_here(guide.SEGMENTS, mp4, tmp_path / "part.mp4", segments)
    assert [Path(name).name for name in names] == ["part_0.3_0.8.mp4", "part_1_1.5.mp4"]
    for name in names:
        assert len(ffprobe(Path(name), "-show_frames")["frames"]) == 15
