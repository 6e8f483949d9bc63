"""Whole numbers that the C API can't hold are refused. The error names the argument."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable

import numpy as np
import pytest
from golden_clips import Clips

import tf_nvcodec.compat as nvc
from tf_nvcodec.compat import gpu_frames_in
from tf_nvcodec.compat.integers import whole

# If the code cut these to 32 or 64 bits, it would get other numbers. Most of them would be valid,
# so the mistake would go unnoticed.
TOO_LARGE = [2**63, 2**64, 2**64 + 1, -(2**63) - 1, 2**200]
NO_NUMBERS = [None, 1.5, "1", [1]]


@pytest.mark.parametrize("value", [*TOO_LARGE, *NO_NUMBERS])
def test_the_error_names_argument_value_and_range(value: Any) -> None:
    with pytest.raises(ValueError) as raised:
        whole("pts", value)
    assert isinstance(raised.value, nvc.PyNvVCException)
    assert str(raised.value) == (
        "pts must be a whole number from -9223372036854775808 to 9223372036854775807; "
        f"got {value!r}"
    )


def test_what_python_takes_as_an_index_is_taken() -> None:
    for value in (7, np.int32(7), np.uint64(7), np.array(7), nvc.cudaVideoCodec.VC1 + 4):
        got = whole("pts", value)
        assert type(got) is int and got == 7
    assert [whole("pts", edge) for edge in (-(2**63), 2**63 - 1)] == [-(2**63), 2**63 - 1]
    assert whole("x", 5, 5, 5) == 5
    for value in (4, 6):
        with pytest.raises(ValueError, match=f"x must be a whole number from 5 to 5; got {value}"):
            whole("x", value, 5, 5)


def _decode(name: str, value: int) -> None:
    packet = nvc.PacketData()
    packet.bsl_data = bytes(100)
    setattr(packet, name, value)
    nvc.CreateDecoder(backend="cpu").Decode(packet)


def _encoder() -> nvc.PyNvEncoder:
    return nvc.CreateEncoder(64, 64, "NV12", preset="P1")


def _encode(name: str, value: int) -> None:
    picture = nvc.NV_ENC_PIC_PARAMS()
    setattr(picture, name, value)
    _encoder().Encode(bytes(64 * 96), picture)


def _reconfigure(name: str, value: int) -> None:
    encoder = nvc.CreateEncoder(64, 64, "NV12", rc="cbr", bitrate="1M")
    params = encoder.GetEncodeReconfigureParams()
    setattr(params, name, value)
    encoder.Reconfigure(params)


def _create_decoder(name: str, value: int) -> None:
    nvc.CreateDecoder(backend="cpu", **{name: value})


def _decoder_caps(name: str, value: int) -> None:
    nvc.GetDecoderCaps(**{name: value})


def _create_encoder(name: str, value: int) -> None:
    nvc.CreateEncoder(**{"width": 64, "height": 64, "format": "NV12", name: value})


def _announce(name: str, value: int) -> None:
    nvc.CreateDecoder(backend="cpu").setReconfigParams(**{name: value})


def _simple_decoder(name: str, value: int) -> None:
    nvc.SimpleDecoder(b"", use_device_memory=False, **{name: value})


def _threaded_decoder(name: str, value: int) -> None:
    nvc.ThreadedDecoder(b"", 2, use_device_memory=False, **{name: value})


# Functions that pass a value on as the argument with a given name, and the names that each takes.
TAKERS: dict[Callable[[str, int], object], tuple[str, ...]] = {
    _decode: ("pts", "dts", "pos", "bsl", "bsl_data"),
    _create_decoder: ("gpuid", "codec", "maxwidth", "maxheight", "cudacontext", "cudastream"),
    _simple_decoder: ("gpu_id", "max_width", "max_height", "cuda_context", "cuda_stream"),
    _threaded_decoder: ("gpu_id", "max_width", "max_height", "cuda_context", "cuda_stream"),
    _decoder_caps: ("gpuid", "codec", "chromaformat", "bitdepth"),
    _announce: ("width", "height"),
    lambda _, value: nvc.CreateDecoder(backend="cpu").SetSeekPTS(value): ("pts",),
    lambda _, value: nvc.CreateDecoder(backend="cpu").WaitOnCUStream(value): ("stream",),
    _create_encoder: ("width", "height", "cudacontext", "cudastream", "gpu_id", "gop", "bitrate"),
    _encode: ("inputTimeStamp", "encodePicFlags"),
    _reconfigure: (
        *("averageBitrate", "maxBitRate", "vbvBufferSize", "frameRateNum", "frameRateDen"),
        *("rateControlMode", "multiPass", "vbvInitialDelay"),
    ),
    lambda _, value: nvc.GetEncoderCaps(gpuid=value): ("gpuid",),
}
CASES = [
    pytest.param(call, name, id=f"{call.__name__.strip('_<>')}-{name}")
    for call, names in TAKERS.items()
    for name in names
]


@pytest.mark.parametrize("value", [2**64, 2**64 + 64, -(2**64) + 1], ids=hex)
@pytest.mark.parametrize(("call", "name"), CASES)
def test_no_argument_is_cut_off(call: Callable[[str, int], object], name: str, value: int) -> None:
    with pytest.raises(ValueError) as raised:
        call(name, value)
    assert isinstance(raised.value, nvc.PyNvVCException)
    told = "cudaVideoCodec" if name == "codec" else name
    assert told in str(raised.value) and str(value) in str(raised.value)


@pytest.mark.parametrize("value", [2**31, 2**32, 2**32 + 1], ids=hex)
@pytest.mark.parametrize("name", ["gpuid", "maxwidth", "maxheight"])
def test_nor_at_32_bits(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number .* got {value}"):
        _create_decoder(name, value)


@pytest.mark.parametrize("value", TOO_LARGE)
def test_a_seek_of_more_than_64_bits_stays_where_it_was(clips: Clips, value: int) -> None:
    demuxer = nvc.CreateDemuxer(clips.path("h264.mp4"))
    second = list(nvc.CreateDemuxer(clips.path("h264.mp4")))[1].pts
    demuxer.Demux()
    with pytest.raises(ValueError, match=f"timestamp must be .* got {value}"):
        demuxer.Seek(value)
    assert demuxer.Demux().pts == second


@pytest.mark.parametrize("value", TOO_LARGE)
def test_the_muxers_times(tmp_path: Path, value: int) -> None:
    muxer = nvc.FFmpegMuxer(tmp_path / "a.mp4", nvc.MEDIA_FORMAT.MP4, "h264", 64, 64)
    data = _encoder_packet()
    for name in ("pts", "dts", "duration"):
        with pytest.raises(ValueError, match=f"{name} must be .* got {value}"):
            muxer.Mux(data, **{"pts": 0, "dts": 0, name: value})
    with pytest.raises(ValueError, match=f"pts_inc must be .* got {value}"):
        muxer.SetUniformPtsIncrement(value)
    with pytest.raises(ValueError, match=f"input_timestamp must be .* got {value}"):
        muxer.MuxVideoPacket(data, nvc.NV_ENC_PIC_TYPE.IDR, value)
    for name in ("pts", "duration"):
        with pytest.raises(ValueError, match=f"packet's {name} must be .* got {value}"):
            muxer.RecordSourceVideoPacket(SimpleNamespace(**{"pts": 0, "duration": 0, name: value}))
    for name in ("width", "height", "fps_num", "fps_den", "timebase_num", "timebase_den"):
        sides = {"width": 64, "height": 64, name: value}
        with pytest.raises(ValueError, match=f"{name} must be .* got {value}"):
            nvc.FFmpegMuxer(tmp_path / "b.mp4", nvc.MEDIA_FORMAT.MP4, "h264", **sides)


def test_times_that_grow_beyond_64_bits(tmp_path: Path) -> None:
    muxer = nvc.FFmpegMuxer(tmp_path / "a.mp4", nvc.MEDIA_FORMAT.MP4, "h264", 64, 64)
    for stamp, time in enumerate([-(2**63), 2**63 - 1]):
        muxer.RecordSourceVideoPacket(SimpleNamespace(pts=time, duration=1))
        muxer.MuxVideoPacket(_encoder_packet(), nvc.NV_ENC_PIC_TYPE.IDR, stamp)
    with pytest.raises(ValueError, match=f"duration must be .* got {2**64 - 1}"):
        muxer.Finalize()


def _encoder_packet() -> bytes:
    encoder = _encoder()
    return bytes(encoder.Encode(bytes(64 * 96)) + encoder.EndEncode())


@pytest.mark.parametrize("value", TOO_LARGE)
def test_frames_by_index_and_in_batches(clips: Clips, value: int) -> None:
    path = clips.path("h264.mp4")
    decoder = nvc.SimpleDecoder(path, use_device_memory=False, backend="cpu")
    for ask in (decoder.__getitem__, lambda index: decoder.get_batch_frames_by_index([index])):
        with pytest.raises(IndexError, match=f"frame {value} of 48"):
            ask(value)
    with pytest.raises(IndexError, match=f"frame {value} of 48"):
        decoder.seek_to_index(value)
    with pytest.raises(ValueError, match=f"batch_size must be .* got {value}"):
        decoder.get_batch_frames(value)
    for name in ("buffer_size", "start_frame"):
        with pytest.raises(ValueError, match=f"{name} must be .* got {value}"):
            nvc.ThreadedDecoder(
                path,
                use_device_memory=False,
                backend="cpu",
                **{"buffer_size": 2, name: value},
            )


@pytest.mark.parametrize("value", [10**400, "soon", None, 1j])
def test_a_time_that_is_none(clips: Clips, value: Any) -> None:
    decoder = nvc.SimpleDecoder(clips.path("h264.mp4"), use_device_memory=False, backend="cpu")
    with pytest.raises(ValueError, match="time_in_seconds must be a number; got"):
        decoder.get_index_from_time_in_seconds(value)


def test_a_file_object_of_too_many_bytes() -> None:
    file = SimpleNamespace(name="huge", read=lambda count: b"", seek=lambda *to: 2**64 + 100)
    with pytest.raises(ValueError, match="the size of huge must be .* got 18446744073709551716"):
        nvc.CreateDemuxer(file)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((-1, -6144), None), ((-96, -64), (64, 1)), ((96, 64), (2**64, 1))],
)
def test_rows_on_a_gpu_that_no_memory_has(shape: Any, strides: Any) -> None:
    with pytest.raises(ValueError, match="a frame on a GPU"):
        gpu_frames_in.as_rows(0, shape, strides, 1)


def test_bytes_of_a_shape_are_not_cut_off() -> None:
    """A row of 2^65 + 6144 bytes keeps its size. Cut to 64 bits it would have 6144 bytes."""
    rows = gpu_frames_in.as_rows(0, ((1 << 65) + 6144,), None, 1)
    assert rows.row_bytes == (1 << 65) + 6144


def test_a_segment_of_hours_beyond_the_clock(clips: Clips, tmp_path: Path) -> None:
    transcoder = nvc.Transcoder(clips.path("h264.mp4"), tmp_path / "out.mp4")
    with pytest.raises(ValueError, match="shows no frame from 1e\\+300 to 1e\\+301 seconds"):
        transcoder.segmented_transcode(1e300, 1e301)
