"""FFmpegMuxer: containers, times and parameter sets, as FFmpeg reads them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from compat_streams import HEIGHT, WIDTH, nv12_frames

import tf_nvcodec.compat as nvc
from tf_nvcodec.compat.muxer import spread_times

FRAMES = nv12_frames(20)
CONTAINERS = [
    *(("h264", kind) for kind in ("mp4", "mov", "mkv", "ts")),
    *(("hevc", kind) for kind in ("mp4", "mov", "mkv", "ts")),
    *(("av1", kind) for kind in ("mp4", "mkv", "webm")),
]


def packets_of(codec: str, **params: object) -> tuple[nvc.PyNvEncoder, list[dict]]:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec=codec, gop=8, **params)
    packets = []
    for i, frame in enumerate(FRAMES):
        picture = nvc.NV_ENC_PIC_PARAMS()
        picture.inputTimeStamp = i
        packets += encoder.Encode(frame, picture)
    return encoder, packets + encoder.EndEncode()


def probe(path: Path) -> dict:
    ask = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_frames", str(path)]
    done = subprocess.run(ask, capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    return json.loads(done.stdout)


def muxer_for(path: Path, codec: str, **options: object) -> nvc.FFmpegMuxer:
    return nvc.FFmpegMuxer(path, nvc.GetMediaFormat(path), codec, WIDTH, HEIGHT, **options)


@pytest.mark.parametrize(("codec", "kind"), CONTAINERS)
@pytest.mark.parametrize("with_sets", [True, False])
def test_uniform_times(codec: str, kind: str, with_sets: bool, tmp_path: Path) -> None:
    encoder, packets = packets_of(codec, **({} if codec == "av1" else {"bf": 2}))
    path = tmp_path / f"out.{kind}"
    sets = encoder.GetSequenceParams() if with_sets else b""
    muxer = muxer_for(path, codec, fps_num=25, extradata=sets)
    muxer.SetUniformPtsIncrement(3600)
    for packet in packets:
        assert muxer.MuxVideoPacket(packet["data"], packet["picture_type"], packet["timestamp"])
    muxer.Finalize()
    muxer.Finalize()
    found = probe(path)
    assert found["streams"][0]["codec_name"] == codec
    times = [float(frame["pts_time"]) for frame in found["frames"]]
    assert [round((time - times[0]) * 25, 1) for time in times] == list(range(len(FRAMES)))
    assert times[0] == 0
    keys = [i for i, frame in enumerate(found["frames"]) if frame["key_frame"]]
    assert keys == [0, 8, 16]
    if kind in ("mp4", "mov"):
        assert float(found["streams"][0]["duration"]) == pytest.approx(len(FRAMES) / 25)


def test_times_of_a_source(tmp_path: Path) -> None:
    """The source has a variable rate and does not start at 0. Its times come in decoding order."""
    encoder, packets = packets_of("h264", bf=2)
    times = [i * 3000 + (i % 3) * 700 for i in range(len(FRAMES))]
    path = tmp_path / "out.mp4"
    muxer = muxer_for(path, "h264", extradata=encoder.GetSequenceParams())
    for time in sorted(times, key=lambda time: (time // 9000, -time)):
        muxer.RecordSourceVideoPacket(SimpleNamespace(pts=time + 500, duration=3000, bsl=1))
    # A packet without data ends the source.
    muxer.RecordSourceVideoPacket(SimpleNamespace(pts=0, duration=0, bsl=0))
    for packet in packets:
        muxer.MuxVideoPacket(packet["data"], packet["picture_type"], packet["timestamp"])
    muxer.Finalize()
    found = [round(float(frame["pts_time"]) * 90000) for frame in probe(path)["frames"]]
    assert found == pytest.approx(times, abs=6)


def test_source_packets_that_show_no_frame(tmp_path: Path) -> None:
    """The frames' stamps tell which of the recorded times are theirs."""
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec="h264", gop=8, bf=2)
    times = [500 + i * 3000 for i in range(len(FRAMES) + 2)]
    path = tmp_path / "out.mp4"
    muxer = muxer_for(path, "h264", extradata=encoder.GetSequenceParams())
    for time in times:
        muxer.RecordSourceVideoPacket(SimpleNamespace(pts=time, duration=3000, bsl=1))
    shown = [time for i, time in enumerate(times) if i not in (0, 7)]
    packets = []
    for frame, time in zip(FRAMES, shown):
        picture = nvc.NV_ENC_PIC_PARAMS()
        picture.inputTimeStamp = time
        packets += encoder.Encode(frame, picture)
    for packet in [*packets, *encoder.EndEncode()]:
        muxer.MuxVideoPacket(packet["data"], packet["picture_type"], packet["timestamp"])
    muxer.Finalize()
    found = [round(float(frame["pts_time"]) * 90000) for frame in probe(path)["frames"]]
    assert found == pytest.approx([time - shown[0] for time in shown], abs=6)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_file_that_could_not_be_finished_stays_unfinished(tmp_path: Path) -> None:
    _, packets = packets_of("h264", bf=0)
    path = tmp_path / "out.mkv"
    path.symlink_to("/dev/full")
    muxer = muxer_for(path, "h264")
    for i, packet in enumerate(packets):
        muxer.Mux(packet["data"], 3000 * i, 3000 * i, 3000, 0, i == 0, i)
    for _ in range(2):
        with pytest.raises(nvc.PyNvVCException, match="No space left"):
            muxer.Finalize()


def test_packets_with_times_of_their_own(tmp_path: Path) -> None:
    _, packets = packets_of("h264", bf=0)
    path = tmp_path / "out.mkv"
    muxer = muxer_for(path, "h264", timebase_den=1000)
    for i, packet in enumerate(packets):
        assert muxer.Mux(packet["data"], 40 * i, 40 * i, 40, 0, packet["picture_type"] == 3, i)
    muxer.Finalize()
    found = probe(path)["frames"]
    assert [float(frame["pts_time"]) for frame in found] == [0.04 * i for i in range(20)]


def test_spread_times() -> None:
    # The pictures are I P B B in decoding order. Their places in display order are 0 3 1 2.
    assert spread_times([0, 3, 1, 2], [0, 10, 20, 30], 10) == [
        (0, -10, 10),
        (30, 0, 10),
        (10, 10, 10),
        (20, 20, 10),
    ]


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([(0, 0), (40, 0)], "dts must rise"),
        ([(0, 40)], "no later than pts"),
    ],
)
def test_times_that_can_not_be(times: list[tuple[int, int]], message: str, tmp_path: Path) -> None:
    _, packets = packets_of("h264", bf=0)
    muxer = muxer_for(tmp_path / "out.mp4", "h264")
    with pytest.raises(ValueError, match=message):
        for packet, (pts, dts) in zip(packets, times):
            muxer.Mux(packet["data"], pts, dts)


def test_what_a_muxer_refuses(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'.gif' names no container; these do: .mp4"):
        nvc.GetMediaFormat("out.gif")
    with pytest.raises(ValueError, match="webm"):
        muxer_for(tmp_path / "out.webm", "h264")
    with pytest.raises(ValueError, match="codec must be"):
        muxer_for(tmp_path / "out.mp4", "vp9")
    with pytest.raises(ValueError, match="fps_num must be"):
        muxer_for(tmp_path / "out.mp4", "h264", fps_num=0)
    with pytest.raises(nvc.PyNvVCException, match="nowhere.*no such folder"):
        muxer_for(tmp_path / "nowhere" / "out.mp4", "h264")
    with pytest.raises(ValueError, match="in_format_context"):
        muxer_for(tmp_path / "out.mp4", "h264", in_format_context=1)
    with pytest.raises(ValueError, match="null character"):
        muxer_for(f"{tmp_path}/cut\0off.mp4", "h264")
    assert not (tmp_path / "cut").exists()
    with pytest.raises(ValueError, match="width must be a whole number from 1 to 2147483647"):
        nvc.FFmpegMuxer(tmp_path / "out.mp4", nvc.MEDIA_FORMAT.MP4, "h264", 2**32 + WIDTH, HEIGHT)
    with pytest.raises(TypeError):  # bytes(5) would make five zeros of it.
        muxer_for(tmp_path / "out.mp4", "h264", extradata=5)
    with pytest.raises(TypeError):
        muxer_for(tmp_path / "out.mp4", "h264").Mux(5, 0, 0)
    empty = muxer_for(tmp_path / "out.mp4", "h264")
    with pytest.raises(ValueError, match="no packet was written"):
        empty.Finalize()
    short = muxer_for(tmp_path / "out.mp4", "h264")
    short.RecordSourceVideoPacket(SimpleNamespace(pts=0, duration=1, bsl=1))
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="stream_index=1"):
        short.Mux(b"x", 0, 0, stream_index=1)


def test_a_path_is_a_file_whatever_it_reads_like(tmp_path: Path) -> None:
    _, packets = packets_of("h264", bf=0)
    path = tmp_path / "pipe:1?.mp4"
    muxer = muxer_for(path, "h264")
    for packet in packets:
        muxer.MuxVideoPacket(packet["data"], packet["picture_type"], packet["timestamp"])
    muxer.Finalize()
    assert len(probe(path)["frames"]) == len(FRAMES)
