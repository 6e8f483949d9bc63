"""Encoding as PyNvVideoCodec's guide and samples do it, in one go each; only the import differs.

Their frames are on a GPU where theirs are; here they are in host memory, on any machine.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from compat_streams import HEIGHT, WIDTH, Stream, nv12_frames

import tf_nvcodec.compat as nvc

COUNT = 48


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frames of NV12 one after the other, as the samples read them."""
    path = tmp_path_factory.mktemp("raw") / "input.yuv"
    path.write_bytes(b"".join(frame.tobytes() for frame in nv12_frames(COUNT)))
    return path


def decoded(data: bytes, codec: str) -> np.ndarray:
    planes = np.frombuffer(Stream(data, codec).file.planes("nv12"), np.uint8)
    return planes.reshape(-1, HEIGHT * 3 // 2, WIDTH)


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_a_raw_file_to_an_elementary_stream(codec: str, raw: Path, tmp_path: Path) -> None:
    frame_size = WIDTH * HEIGHT * 3 // 2
    path = tmp_path / f"output.{codec}"
    with open(raw, "rb") as source, open(path, "wb") as target:
        config = {"preset": "P4", "codec": codec, "gop": 30}
        encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, **config)
        for _ in range(COUNT):
            chunk = np.fromfile(source, np.uint8, count=frame_size)
            target.write(bytearray(encoder.Encode(chunk)))
        target.write(bytearray(encoder.EndEncode()))
    frames = decoded(path.read_bytes(), codec)
    assert len(frames) == COUNT
    assert np.abs(frames.astype(int) - np.stack(nv12_frames(COUNT))).mean() < 6


def test_tensors_as_frames(raw: Path) -> None:
    """[H * 3 / 2, W], of TensorFlow and by DLPack."""
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", False, tuning_info="lossless")
    data = b""
    for i, frame in enumerate(nv12_frames(4)):
        tensor = tf.constant(frame)
        data += encoder.Encode(tensor if i % 2 else np.from_dlpack(frame))
    data += encoder.EndEncode()
    np.testing.assert_array_equal(decoded(data, "h264"), np.stack(nv12_frames(4)))


def test_interleaved_rgb_as_frames() -> None:
    """A gradient drawn as ABGR; the matrix is the one asked for."""
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "ABGR", False, codec="hevc", colorspace="bt709")
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    picture = np.stack([x / WIDTH, y / HEIGHT, 1 - x / WIDTH, np.ones_like(x)], -1) * 255
    data = encoder.Encode(picture.round().astype(np.uint8)) + encoder.EndEncode()
    luma = decoded(data, "hevc")[0, :HEIGHT].astype(np.float64)
    red, green, blue = (picture[..., i] / 255 for i in range(3))
    want = 16 + 219 * (0.2126 * red + 0.7152 * green + 0.0722 * blue)
    assert np.abs(luma - want).max() < 4


@pytest.mark.filterwarnings("ignore::tf_nvcodec.compat.IgnoredParameterWarning")
@pytest.mark.parametrize(
    "text",
    [
        '{"codec": "hevc", "gpu_id": 0, "preset": "P4", "tuning_info": "high_quality",'
        ' "rc": "vbr", "gop": 30, "fps": 30, "bitrate": 1000000, "maxbitrate": 1000000,'
        ' "vbvbufsize": 1000000}',
        '{"codec": "h264", "preset": "P3", "tuning_info": "low_latency", "rc": "cbr", "fps": 30,'
        ' "gop": 30, "bf": 0, "multipass": "fullres", "bitrate": 3000000, "maxbitrate": 3000000,'
        ' "vbvbufsize": 100000}',
        '{"codec": "h264", "preset": "P1", "tuning_info": "ultra_low_latency", "rc": "constqp",'
        ' "constqp": "28,31,25", "gop": "15", "repeatspspps": "1", "slice": {"mode": 3, "data": 2},'
        ' "timinginfo": {"num_unit_in_ticks": 1, "timescale": 60}}',
    ],
)
def test_parameters_of_a_json_file(text: str, raw: Path) -> None:
    config = json.loads(text)
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, **config)
    packets = [encoder.Encode(frame) for frame in nv12_frames(COUNT)]
    data = b"".join([*packets, encoder.EndEncode()])
    stream = Stream(data, config["codec"])
    gop = int(config["gop"])
    assert stream.key_frames == list(range(0, COUNT, gop))
    if config["rc"] == "cbr":
        most = config["vbvbufsize"] / 8
        assert max(len(packet) for packet in packets) <= 1.05 * most  # a frame fits the buffer


def test_the_bitrate_halves_and_returns() -> None:
    """Every 60 frames."""
    period, bitrate = 60, 800_000
    config = {"codec": "h264", "rc": "cbr", "bitrate": bitrate, "gop": 1000, "bf": 0}
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, tuning_info="low_latency", **config)
    params = encoder.GetEncodeReconfigureParams()
    original = params.averageBitrate
    buffer_size = int(original * params.frameRateDen / params.frameRateNum) * 10
    sizes = [0, 0, 0]
    for i, frame in enumerate(nv12_frames(3 * period)):
        if i % period == 0:
            share = 2 if i % (2 * period) else 1
            params.averageBitrate = original // share
            params.vbvBufferSize = buffer_size // share
            encoder.Reconfigure(params)
        sizes[i // period] += len(encoder.Encode(frame))
    encoder.EndEncode()
    rates = [size * 8 * 30 / period for size in sizes]
    assert rates == pytest.approx([bitrate, bitrate / 2, bitrate], rel=0.25)


def test_encode_and_mux(raw: Path, tmp_path: Path) -> None:
    path = tmp_path / "output.mp4"
    fps, timebase = 30, 90000
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec="hevc", fps=fps, gop=30)
    muxer = nvc.FFmpegMuxer(
        file_path=str(path),
        media_format=nvc.GetMediaFormat(str(path)),
        codec="hevc",
        width=WIDTH,
        height=HEIGHT,
        fps_num=fps,
        fps_den=1,
        timebase_num=1,
        timebase_den=timebase,
        extradata=encoder.GetSequenceParams(),
    )
    muxer.SetUniformPtsIncrement(timebase // fps)
    packets: list = []
    for i, frame in enumerate(nv12_frames(COUNT)):
        pic_params = nvc.NV_ENC_PIC_PARAMS()
        pic_params.inputTimeStamp = i
        packets += encoder.Encode(frame, pic_params)
    for packet in packets + encoder.EndEncode():
        muxer.MuxVideoPacket(bytes(packet["data"]), packet["picture_type"], packet["timestamp"])
    muxer.Finalize()
    ask = ["ffprobe", "-v", "error", "-of", "json", "-show_frames", "-show_streams", str(path)]
    found = json.loads(subprocess.run(ask, capture_output=True, text=True, check=True).stdout)
    assert found["streams"][0]["duration"] == "1.600000"
    times = [float(frame["pts_time"]) for frame in found["frames"]]
    assert times == pytest.approx([i / fps for i in range(COUNT)], abs=1e-4)


def test_decode_and_encode_again(tmp_path: Path) -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec="h264", constqp=20)
    path = tmp_path / "in.h264"
    path.write_bytes(b"".join(encoder.Encode(f) for f in nv12_frames(12)) + encoder.EndEncode())

    demuxer = nvc.CreateDemuxer(str(path))
    decoder = nvc.CreateDecoder(gpuid=0, codec=demuxer.GetNvCodecId(), usedevicememory=False)
    again = nvc.CreateEncoder(
        demuxer.Width(), demuxer.Height(), "NV12", True, codec="hevc", tuning_info="lossless"
    )
    data = b""
    for packet in demuxer:
        for frame in decoder.Decode(packet):
            data += again.Encode(frame)
    data += again.EndEncode()
    np.testing.assert_array_equal(decoded(data, "hevc"), decoded(path.read_bytes(), "h264"))


def test_segments_from_a_list(tmp_path: Path) -> None:
    """Lines of "start end"; each becomes a file of its own."""
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec="h264", gop=15)
    source = tmp_path / "in.mp4"
    muxer = nvc.FFmpegMuxer(source, nvc.MEDIA_FORMAT.MP4, "h264", WIDTH, HEIGHT)
    packets: list = []
    for i, frame in enumerate(nv12_frames(COUNT)):
        picture = nvc.NV_ENC_PIC_PARAMS()
        picture.inputTimeStamp = i
        packets += encoder.Encode(frame, picture)
    for packet in packets + encoder.EndEncode():
        muxer.MuxVideoPacket(packet["data"], packet["picture_type"], packet["timestamp"])
    muxer.Finalize()
    config = {"codec": "h264", "preset": "P3", "tuning_info": "high_quality", "bf": "3"}
    for line in "0.3 0.8\n1 1.5".splitlines():
        start, end = map(float, line.split())
        transcoder = nvc.Transcoder(str(source), str(tmp_path / "part.mp4"), 0, 0, 0, **config)
        transcoder.segmented_transcode(start, end)
        part = tmp_path / f"part_{start:g}_{end:g}.mp4"
        assert sum(1 for _ in nvc.CreateDemuxer(str(part))) == 15 + 1  # and the end
