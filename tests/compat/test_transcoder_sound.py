"""Transcoder and FFmpegMuxer copy sound packet by packet and keep it in time with the frames."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path

import pytest
from ffmpeg_program import ffmpeg

import tf_nvcodec.compat as nvc

FAST = {"codec": "h264", "preset": "P1"}
# The packets of a track: the hash of each one's bytes, and its time.
Sound = list[tuple[str, float]]


def probe(path: Path, select: str, show: str) -> dict:
    ask = ["ffprobe", "-v", "error", "-of", "json", "-show_data_hash", "md5", "-show_streams", show]
    ask += ["-select_streams", select, str(path)]
    done = subprocess.run(ask, capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    return json.loads(done.stdout)


def frame_times(path: Path) -> list[float]:
    return [float(frame["pts_time"]) for frame in probe(path, "v", "-show_frames")["frames"]]


def sound_of(path: Path, track: int = 0) -> Sound:
    """Returns the packets of a sound track. Their times count from the first frame of the video."""
    start = frame_times(path)[0]
    packets = probe(path, f"a:{track}", "-show_packets")["packets"]
    return [(packet["data_hash"], float(packet["pts_time"]) - start) for packet in packets]


def assert_same(found: Sound, want: Sound, slack: float = 1e-3) -> None:
    assert [data for data, _ in found] == [data for data, _ in want]
    assert [time for _, time in found] == pytest.approx([time for _, time in want], abs=slack)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three seconds with B-frames and sound as AAC. The mkv has two tracks; the ts begins after
    0."""
    folder = tmp_path_factory.mktemp("sources")
    mkv = folder / "in.mkv"
    inputs = ["-f", "lavfi", "-i", "testsrc2=size=160x96:rate=24:duration=3"]
    inputs += ["-f", "lavfi", "-i", "sine=440:duration=3.1"]
    inputs += ["-f", "lavfi", "-i", "anoisesrc=seed=1:amplitude=0.1:duration=3"]
    codecs = ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-g", "24", "-bf", "2", "-c:a", "aac"]
    languages = ["-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=fra"]
    ffmpeg(*inputs, "-map", 0, "-map", 1, "-map", 2, *codecs, *languages, mkv)
    paths = {"mkv": mkv}
    for kind in ("mp4", "ts"):
        paths[kind] = folder / f"in.{kind}"
        ffmpeg("-i", mkv, "-map", "0:v", "-map", "0:a:0", "-c", "copy", paths[kind])
    return paths


@pytest.mark.parametrize(("kind", "out"), [("mp4", "mp4"), ("mp4", "mkv"), ("mkv", "mp4")])
def test_sound_is_copied(sources: dict[str, Path], kind: str, out: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{out}"
    nvc.Transcoder(sources[kind], path, **FAST).transcode_with_mux()
    assert_same(sound_of(path), sound_of(sources[kind]))
    tracks = probe(path, "a", "-show_streams")["streams"]
    assert [track["tags"]["language"] for track in tracks] == ["eng", "fra"][: len(tracks)]
    assert len(tracks) == (2 if kind == "mkv" else 1)
    if kind == "mkv":
        assert_same(sound_of(path, 1), sound_of(sources[kind], 1))
    assert len(frame_times(path)) == 72


@pytest.mark.parametrize(("kind", "out"), [("ts", "mp4"), ("mp4", "ts"), ("ts", "ts")])
def test_sound_keeps_its_time_where_its_framing_changes(
    sources: dict[str, Path], kind: str, out: str, tmp_path: Path
) -> None:
    path = tmp_path / f"out.{out}"
    nvc.Transcoder(sources[kind], path, **FAST).transcode_with_mux()
    want = [time for _, time in sound_of(sources[kind])]
    assert [time for _, time in sound_of(path)] == pytest.approx(want, abs=1e-3)
    ffmpeg("-xerror", "-i", path, "-map", "0:a", "-f", "null", "-")


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
@pytest.mark.parametrize(("start", "end"), [(0, 0.7), (1, 2), (1.29, 1.61), (2.2, 9)])
def test_a_segment_has_the_sound_of_its_time(
    sources: dict[str, Path], kind: str, start: float, end: float, tmp_path: Path
) -> None:
    source = sources[kind]
    part = nvc.Transcoder(source, tmp_path / f"cut.{kind}", **FAST).segmented_transcode(start, end)
    packet = 1024 / 44100
    times = frame_times(source)
    first = min(time for time in times if time >= start)
    heard = [(data, time + times[0]) for data, time in sound_of(source)]
    want = [(data, time - first) for data, time in heard if time + packet > start and time < end]
    assert_same(sound_of(Path(part)), want, slack=2e-3)


def test_sound_that_the_container_can_not_hold_is_left_out(
    sources: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "out.webm"
    transcoder = nvc.Transcoder(sources["mp4"], path, codec="av1", preset="P1")
    with pytest.warns(RuntimeWarning, match=r"out\.webm: container webm can't hold audio of .*aac"):
        transcoder.transcode_with_mux()
    assert not probe(path, "a", "-show_packets")["packets"]
    assert len(frame_times(path)) == 72


def test_a_video_without_sound_needs_no_warning(sources: dict[str, Path], tmp_path: Path) -> None:
    silent = tmp_path / "silent.mp4"
    ffmpeg("-i", sources["mp4"], "-c", "copy", "-an", silent)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nvc.Transcoder(silent, tmp_path / "out.mp4", **FAST).transcode_with_mux()
    assert nvc.CreateDemuxer(silent).GetAudioStreamId() == -1


def test_packets_of_sound_from_a_demuxer(sources: dict[str, Path]) -> None:
    demuxer = nvc.CreateDemuxer(sources["mkv"])
    assert demuxer.GetVideoStreamId() == 0 and demuxer.GetAudioStreamId() == 1
    packets = []
    while (packet := demuxer.DemuxNoSkipAudio()).bsl > 0:
        packets.append(packet)
    assert sum(packet.is_video for packet in packets) == 72
    for track in (1, 2):
        count = sum(packet.stream_index == track for packet in packets)
        assert count == len(sound_of(sources["mkv"], track - 1))
    demuxer.Seek(0)
    assert demuxer.Demux().is_video
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    with pytest.raises(ValueError, match="the packet holds audio"):
        decoder.Decode(next(packet for packet in packets if not packet.is_video))


def test_a_transcoding_loop_takes_clock_and_rate_from_its_source(
    sources: dict[str, Path], tmp_path: Path
) -> None:
    demuxer = nvc.CreateDemuxer(sources["mp4"])
    context = demuxer.GetAVFormatInputContext()
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    sides = (demuxer.Width(), demuxer.Height())
    encoder = nvc.CreateEncoder(*sides, "NV12", True, source_av_format_context=int(context))
    sets, path = encoder.GetSequenceParams(), tmp_path / "out.mp4"
    muxer = nvc.FFmpegMuxer(
        *(path, nvc.MEDIA_FORMAT.MP4, "h264", *sides),
        extradata=sets,
        in_format_context=int(context),
    )
    packet, number = None, 0
    while packet is None or packet.bsl > 0:
        packet = demuxer.DemuxNoSkipAudio()
        if packet.bsl > 0 and not packet.is_video:
            assert muxer.MuxPassthroughPacket(packet)
            continue
        muxer.RecordSourceVideoPacket(packet)
        for frame in decoder.Decode(packet):
            picture = nvc.NV_ENC_PIC_PARAMS()
            picture.inputTimeStamp, number = number, number + 1
            for out in encoder.Encode(frame, picture):
                muxer.MuxVideoPacket(out["data"], out["picture_type"], out["timestamp"])
    for out in encoder.EndEncode():
        muxer.MuxVideoPacket(out["data"], out["picture_type"], out["timestamp"])
    muxer.Finalize()
    old, new = (nvc.CreateDemuxer(file) for file in (sources["mp4"], path))
    assert new.GetTimebaseDen() == old.GetTimebaseDen()
    assert new.FrameRate() == pytest.approx(old.FrameRate(), rel=1e-3)
    times = [sorted(packet.pts for packet in file if packet.bsl) for file in (old, new)]
    assert times[1] == [time - times[0][0] for time in times[0]]
    assert_same(sound_of(path), sound_of(sources["mp4"]))


def test_a_context_of_no_demuxer() -> None:
    for wrong in (1, "x", 1.5):
        with pytest.raises(ValueError, match="source_av_format_context must be what a demuxer"):
            nvc.CreateEncoder(64, 64, "NV12", True, source_av_format_context=wrong)


def test_a_muxer_passes_sound_through(sources: dict[str, Path], tmp_path: Path) -> None:
    """The test muxes the source's own packets of video, and the packets of sound between them."""
    demuxer = nvc.CreateDemuxer(sources["mp4"])
    path = tmp_path / "out.mkv"
    muxer = nvc.FFmpegMuxer(
        *(path, nvc.MEDIA_FORMAT.MKV, "h264", demuxer.Width(), demuxer.Height()),
        timebase_den=demuxer.GetTimebaseDen(),
        in_format_context=demuxer.GetAVFormatInputContext(),
    )
    while (packet := demuxer.DemuxNoSkipAudio()).bsl > 0:
        if packet.is_video:
            muxer.Mux(bytes(packet), packet.pts, packet.dts, packet.duration, 0, packet.key)
        else:
            assert muxer.MuxPassthroughPacket(packet)
    muxer.Finalize()
    assert_same(sound_of(path), sound_of(sources["mp4"]))
    assert not nvc.FFmpegMuxer(
        tmp_path / "other.mkv", nvc.MEDIA_FORMAT.MKV, "h264", 160, 96
    ).MuxPassthroughPacket(packet)
