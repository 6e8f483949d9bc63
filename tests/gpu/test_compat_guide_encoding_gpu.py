"""Runs the guide's encoding scripts on a machine with a GPU. The scripts may put frames in its
memory.

If the GPU has no NVENC, FFmpeg encodes. The tests read the results with this project's decoders,
because a GPU machine need not have FFmpeg's tools.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import guide_encoding_scripts as guide
import numpy as np
import pytest
import tensorflow as tf
from compat_streams import HEIGHT, WIDTH, nv12_frames, write_nv12
from cuda_arrays import CudaArray, Stream
from gpu_checks import GPU, codecs
from guide_scripts import run_here

import tf_nvcodec
import tf_nvcodec.compat as nvc

pytestmark = pytest.mark.gpu

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


def decoded(path: Path | str, backend: str = "cpu") -> np.ndarray:
    """Returns the frames of a file, [T, H * 3 / 2, W]."""
    decoder = nvc.SimpleDecoder(str(path), use_device_memory=False, backend=backend)
    return np.stack([np.asarray(frame) for frame in decoder])


def key_frames(path: Path) -> list[int]:
    decoder = nvc.SimpleDecoder(path, use_device_memory=False, backend="cpu")
    return decoder.get_scanned_stream_metadata().key_frame_indices


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_a_raw_file_to_an_elementary_stream(codec: str, raw: Path, tmp_path: Path) -> None:
    path = tmp_path / f"output.{'obu' if codec == 'av1' else codec}"
    assert run_here(guide.RAW_TO_STREAM, *SIZE, raw, path, codec) == [str(COUNT)]
    frames = decoded(path)
    assert len(frames) == COUNT
    assert np.abs(frames.astype(int) - np.stack(nv12_frames(COUNT))).mean() < 6
    if codec in codecs():
        np.testing.assert_array_equal(decoded(path, "nvdec"), frames)


def test_tensors_as_frames(raw: Path, tmp_path: Path) -> None:
    path = tmp_path / "output.h264"
    assert run_here(guide.TENSORS, *SIZE, raw, path) == ["GPU:0"]
    np.testing.assert_array_equal(decoded(path), np.stack(nv12_frames(COUNT)))


class AppCAI:
    """Shows a plane by __cuda_array_interface__, as the guide's samples do."""

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], address: int) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": shape,
            "strides": strides,
            "data": (address, False),
            "typestr": "|u1",
            "version": 3,
        }


class AppFrame:
    """Gives the planes of NV12 in one block of GPU memory, as the guide's samples do."""

    def __init__(self, memory: CudaArray) -> None:
        self.memory = memory
        chroma = memory.address + WIDTH * HEIGHT
        self.planes = [
            AppCAI((HEIGHT, WIDTH, 1), (WIDTH, 1, 1), memory.address),
            AppCAI((HEIGHT // 2, WIDTH // 2, 2), (WIDTH, 2, 1), chroma),
        ]

    def cuda(self) -> list[AppCAI]:
        return self.planes


def test_planes_of_ones_own() -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", False, tuning_info="lossless")
    memory, stream = CudaArray((HEIGHT * 3 // 2, WIDTH), "uint8", None), Stream()
    data = b""
    frames = nv12_frames(6)
    for frame in frames:
        with tf.device(GPU):
            tensor = tf.constant(frame)
        np.testing.assert_array_equal(tensor.numpy(), frame)  # This waits for the frame.
        source = tf_nvcodec.DeviceFrames(tensor).__cuda_array_interface__["data"][0]
        stream.copy(memory.address, source, memory.size)
        stream.synchronize()
        data += encoder.Encode(AppFrame(memory))
    data += encoder.EndEncode()
    got = nvc.SimpleDecoder(data, use_device_memory=False, backend="cpu")
    np.testing.assert_array_equal(np.stack([np.asarray(frame) for frame in got]), np.stack(frames))


def test_interleaved_rgb_as_frames(tmp_path: Path) -> None:
    path = tmp_path / "output.hevc"
    assert run_here(guide.GRADIENT, *SIZE, path) == ["GPU:0"]
    luma = decoded(path)[0, :HEIGHT].astype(np.float64)
    assert np.abs(luma - guide.luma_of_gradient(*SIZE)).max() < 4


@pytest.mark.filterwarnings("ignore::tf_nvcodec.compat.IgnoredParameterWarning")
@pytest.mark.parametrize("name", list(guide.CONFIGS))
def test_parameters_of_a_json_file(name: str, raw: Path, tmp_path: Path) -> None:
    params = json.loads(guide.CONFIGS[name])
    path, config = tmp_path / f"output.{params.get('codec', 'h264')}", tmp_path / "config.json"
    config.write_text(guide.CONFIGS[name])
    (largest,) = run_here(guide.CONFIGURED, *SIZE, raw, path, config)
    assert key_frames(path) == list(range(0, COUNT, int(params["gop"])))
    assert len(decoded(path)) == COUNT
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
    demuxer = nvc.CreateDemuxer(path)
    tick = demuxer.GetTimebaseNum() / demuxer.GetTimebaseDen()
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), backend="nvdec")
    times = [frame.timestamp * tick for packet in demuxer for frame in decoder.Decode(packet)]
    assert times == pytest.approx([i / 30 for i in range(COUNT)], abs=1e-4)


def test_decode_and_encode_again(mp4: Path, tmp_path: Path) -> None:
    """NVDEC's frames stay on the GPU until the encoder has read them."""
    path = tmp_path / "output.hevc"
    assert run_here(guide.AGAIN, mp4, path) == ["2 0"]
    np.testing.assert_array_equal(decoded(path), decoded(mp4))


def test_segments_from_a_list(mp4: Path, tmp_path: Path) -> None:
    segments = tmp_path / "segments.txt"
    segments.write_text("0.3 0.8\n1 1.5")
    names = run_here(guide.SEGMENTS, mp4, tmp_path / "part.mp4", segments)
    assert [Path(name).name for name in names] == ["part_0.3_0.8.mp4", "part_1_1.5.mp4"]
    assert [len(decoded(name)) for name in names] == [15, 15]
