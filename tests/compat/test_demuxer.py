"""CreateDemuxer: the packets and the properties of a stream, from every kind of source."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from golden_clips import Clips

import tf_nvcodec.compat as nvc
from tf_nvcodec.compat.packet import NO_TIMESTAMP


def packets_of(source: Any) -> list[nvc.PacketData]:
    """Returns the packets of the source without the last one, which has no data."""
    packets = list(nvc.CreateDemuxer(source))
    assert packets[-1].bsl == 0
    assert all(packet.bsl > 0 for packet in packets[:-1])
    return packets[:-1]


def nal_types(packet: bytes) -> list[int]:
    """Returns the types of the NAL units in a packet of H.264 with start codes."""
    return [packet[found.end()] & 31 for found in re.finditer(b"\0\0\1", packet)]


@pytest.mark.parametrize("container", ["mp4", "mkv", "mov", "flv", "ts", "avi", "h264"])
def test_h264_has_start_codes_and_parameter_sets(clips: Clips, container: str) -> None:
    packets = packets_of(str(clips.path(f"h264.{container}")))
    assert len(packets) == len(clips.frames("h264.mp4"))
    for packet in packets:
        data = bytes(packet)
        assert len(packet) == packet.bsl == len(data)
        assert data.startswith((b"\0\0\0\1", b"\0\0\1"))
        if packet.key:
            kinds = nal_types(data)
            assert kinds.index(7) < kinds.index(8) < kinds.index(5)
    assert packets[0].key


@pytest.mark.parametrize("container", ["mp4", "mkv", "ts"])
def test_hevc_has_start_codes_and_parameter_sets(clips: Clips, container: str) -> None:
    packets = packets_of(clips.path(f"hevc.{container}"))
    assert len(packets) == len(clips.frames("hevc.mp4"))
    kinds = [found[0][3] >> 1 & 63 for found in re.finditer(b"\0\0\1.", bytes(packets[0]), re.S)]
    assert [kind for kind in kinds if kind in (32, 33, 34)][:3] == [32, 33, 34]


def test_mpeg4_headers_come_with_key_packets(clips: Clips) -> None:
    packets = packets_of(clips.path("mpeg4.mp4"))
    assert all(bytes(packet).startswith(b"\0\0\1\xb0") for packet in packets if packet.key)
    assert sum(packet.key for packet in packets) > 1


def test_what_it_tells_of_the_stream(clips: Clips) -> None:
    demuxer = nvc.CreateDemuxer(filename=str(clips.path("h264_bt709_full.mp4")))
    assert demuxer.GetNvCodecId() is nvc.cudaVideoCodec.H264
    assert (demuxer.Width(), demuxer.Height(), demuxer.BitDepth()) == (96, 64, 8)
    assert demuxer.FrameSize() == 96 * 64 * 3 // 2
    assert demuxer.ChromaFormat() == nvc.cudaVideoChromaFormat["420"]
    assert demuxer.ColorSpace() is nvc.ColorSpace.BT_709
    assert demuxer.ColorRange() is nvc.ColorRange.JPEG
    assert demuxer.FrameRate() == 25
    assert demuxer.AvgFrameRateNum() / demuxer.AvgFrameRateDen() == demuxer.FrameRate()
    assert demuxer.RFrameRate() == demuxer.RFrameRateNum() / demuxer.RFrameRateDen() == 25
    assert "mp4" in demuxer.GetContainerName()
    assert demuxer.GetVideoStreamId() == 0


@pytest.mark.parametrize(
    ("name", "codec", "chroma", "depth"),
    [
        ("hevc_yuv444p12le.mkv", "HEVC", "444", 12),
        ("h264_yuv422p10le.mp4", "H264", "422", 10),
        ("av1_gray.mp4", "AV1", "Monochrome", 8),
        ("vp8.webm", "VP8", "420", 8),
        ("vp9_yuv420p10le.webm", "VP9", "420", 10),
        ("mpeg2.ts", "MPEG2", "420", 8),
        ("mpeg4.avi", "MPEG4", "420", 8),
        ("mjpeg.avi", "JPEG", "420", 8),
    ],
)
def test_codecs_and_samples(clips: Clips, name: str, codec: str, chroma: str, depth: int) -> None:
    demuxer = nvc.CreateDemuxer(clips.path(name))
    assert demuxer.GetNvCodecId() is nvc.cudaVideoCodec[codec]
    assert demuxer.ChromaFormat() is nvc.cudaVideoChromaFormat[chroma]
    assert demuxer.BitDepth() == depth


def test_timestamps_are_those_of_the_container(clips: Clips) -> None:
    demuxer = nvc.CreateDemuxer(clips.path("h264_vfr.mkv"))
    unit = demuxer.GetTimebaseNum() / demuxer.GetTimebaseDen()
    packets = [packet for packet in demuxer if packet.bsl > 0]
    assert sorted(packet.pts * unit for packet in packets) == pytest.approx(
        clips.frames("h264_vfr.mkv").pts
    )
    dts = [packet.dts for packet in packets]
    assert dts == sorted(dts)
    assert all(packet.pos > 0 and packet.duration >= 0 for packet in packets)
    assert packets_of(clips.path("h264.h264"))[-1].pts == NO_TIMESTAMP


def test_the_edit_list_marks_packets_that_are_not_shown(clips: Clips) -> None:
    packets = packets_of(clips.path("h264_edit_list.mp4"))
    shown = len(clips.frames("h264_edit_list.mp4"))
    assert 0 < shown < len(packets)
    assert sum(not packet.discardable for packet in packets) == shown


def fill_from(data: bytes, most: int = 1 << 30) -> Any:
    """Returns a function like that of the guide. It gives at most `most` bytes at a time."""
    file = io.BytesIO(data)

    def fill(buffer: bytearray) -> int:
        piece = file.read(min(len(buffer), most))
        buffer[: len(piece)] = piece
        return len(piece)

    return fill


@pytest.mark.parametrize("name", ["h264_faststart.mp4", "h264.mkv", "h264.ts", "h264.flv"])
def test_every_source_gives_the_same_packets(clips: Clips, name: str) -> None:
    path = clips.path(name)
    wanted = [(p.pts, p.dts, p.key, bytes(p)) for p in packets_of(str(path))]
    data = path.read_bytes()
    with path.open("rb") as file:
        for source in (path, data, bytearray(data), memoryview(data), file, fill_from(data, 1000)):
            assert [(p.pts, p.dts, p.key, bytes(p)) for p in packets_of(source)] == wanted


def test_a_function_may_shorten_its_bytearray(clips: Clips) -> None:
    """The guide's example ends with `buffer[:] = rest`, which makes the bytearray shorter."""
    file = io.BytesIO(clips.data("h264.ts"))

    def fill(buffer: bytearray) -> int:
        buffer[:] = file.read(len(buffer))
        return len(buffer)

    assert len(list(nvc.CreateDemuxer(fill))) == 49


def test_tensorflows_file_systems(clips: Clips) -> None:
    import tensorflow as tf

    tf.io.gfile.copy(str(clips.path("h264.mp4")), "ram://h264.mp4", overwrite=True)
    assert len(packets_of("ram://h264.mp4")) == 48
    with pytest.raises(nvc.PyNvVCException, match="ram://nope.mp4: "):
        nvc.CreateDemuxer("ram://nope.mp4")


def test_packets_outlive_their_demuxer(clips: Clips) -> None:
    packet = nvc.CreateDemuxer(clips.path("h264.mp4")).Demux()
    again = nvc.CreateDemuxer(clips.path("h264.mp4")).Demux()
    assert bytes(packet) == bytes(again)


def test_the_end_stays_the_end(clips: Clips) -> None:
    demuxer = nvc.CreateDemuxer(clips.path("one_frame.mp4"))
    assert [packet.bsl > 0 for packet in demuxer] == [True, False]
    assert list(demuxer) == []
    assert demuxer.Demux().bsl == 0


@pytest.mark.parametrize("name", ["h264.mp4", "h264.mkv"])
def test_seek_gives_the_key_packet_before(clips: Clips, name: str) -> None:
    packets = packets_of(clips.path(name))
    keys = [i for i, packet in enumerate(packets) if packet.key]
    assert len(keys) == 4
    demuxer = nvc.CreateDemuxer(clips.path(name))
    for target in (len(packets) - 1, keys[2], keys[2] - 1, 0):
        before = max(key for key in keys if packets[key].pts <= packets[target].pts)
        found = demuxer.Seek(packets[target].pts)
        assert (found.pts, found.key) == (packets[before].pts, True)
        assert found.seek_pts == packets[target].pts
        assert demuxer.Demux().pts == packets[before + 1].pts
        assert demuxer.isSeekDone(packets[target].pts, packets[target].pts) == 1
    assert demuxer.Seek(-(10**6)).pts == packets[0].pts
    list(demuxer)
    assert demuxer.Seek(0).key  # Seeking works from the end as well.


def test_no_way_back_in_a_function_or_an_elementary_stream(clips: Clips) -> None:
    demuxer = nvc.CreateDemuxer(fill_from(clips.data("h264.mkv")))
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="read only once can't seek"):
        demuxer.Seek(0)
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="seeking in contents .* failed"):
        nvc.CreateDemuxer(clips.path("h264.h264")).Seek(0)


def test_bad_sources_are_named(clips: Clips, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nope\.mp4: No such file"):
        nvc.CreateDemuxer(str(tmp_path / "nope.mp4"))
    with pytest.raises(ValueError, match="not a regular file"):
        nvc.CreateDemuxer(tmp_path)
    text = tmp_path / "text.mp4"
    text.write_text("no video " * 100)
    with pytest.raises(ValueError, match=r"text\.mp4: contents \(900 bytes\) is not a video"):
        nvc.CreateDemuxer(text)
    with pytest.raises(ValueError, match="contents is empty"):
        nvc.CreateDemuxer(b"")
    with pytest.raises(ValueError, match="no video stream, only audio"):
        nvc.CreateDemuxer(clips.path("audio_only.mp4"))
    with pytest.raises(ValueError, match="null character"):
        nvc.CreateDemuxer(f"{clips.path('h264.mp4')}\0.txt")
    with pytest.raises(TypeError, match="not list"):
        nvc.CreateDemuxer([1])
    with pytest.raises(TypeError, match="either a filename or a callback"):
        nvc.CreateDemuxer()
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="'ffv1' has no cudaVideoCodec"):
        nvc.CreateDemuxer(clips.path("ffv1_gray.mkv")).GetNvCodecId()


def test_playlists_open_nothing(clips: Clips, tmp_path: Path) -> None:
    (tmp_path / "clip.ts").write_bytes(clips.data("h264.ts"))
    playlist = tmp_path / "list.m3u8"
    playlist.write_text("#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nclip.ts\n")
    with pytest.raises(ValueError, match="not a video container"):
        nvc.CreateDemuxer(playlist)


def test_a_function_that_fails_is_heard(clips: Clips) -> None:
    def breaks(buffer: bytearray) -> int:
        raise OSError("the network is down")

    with pytest.raises(OSError, match="the network is down"):
        nvc.CreateDemuxer(breaks)
    with pytest.raises(ValueError, match="returned 70000 for a bytearray"):
        nvc.CreateDemuxer(lambda buffer: 70000)
    with pytest.raises(ValueError, match="returned None"):
        nvc.CreateDemuxer(lambda buffer: None)
    fill = fill_from(clips.data("h264.ts"))
    calls = []

    def breaks_later(buffer: bytearray) -> int:
        calls.append(len(buffer))
        if len(calls) > 2:
            raise OSError("the network went down")
        del buffer[1000:]
        return fill(buffer)

    with pytest.raises(OSError, match="the network went down"):
        list(nvc.CreateDemuxer(breaks_later))


def test_a_file_object_that_gives_too_much_is_refused(clips: Clips) -> None:
    class Whole(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read() + bytes(50_000_000)

    with pytest.raises(ValueError, match=r"read\(\d+\) gave 5\d+ bytes, more than asked for"):
        nvc.CreateDemuxer(Whole(clips.data("h264.mp4")))


def test_a_file_that_is_cut_off_says_so_once(clips: Clips) -> None:
    data = clips.data("h264.mp4")
    faststart = clips.data("h264_faststart.mp4")[: len(data) * 2 // 3]
    demuxer = nvc.CreateDemuxer(faststart)
    packets = []
    with pytest.raises(nvc.PyNvVCException):
        for packet in demuxer:
            packets.append(packet)
    assert 0 < len(packets) < 48
    assert list(demuxer)[-1].bsl == 0


def test_a_broken_packet_is_named_and_passed_over(clips: Clips) -> None:
    demuxer = nvc.CreateDemuxer(clips.path("broken_h264.mp4"))
    good = 0
    with pytest.raises(nvc.PyNvVCException, match=r"broken_h264\.mp4: the packet at byte \d+"):
        for _ in demuxer:
            good += 1
    assert good + sum(packet.bsl > 0 for packet in demuxer) == 47


def test_packets_of_ones_own() -> None:
    packet = nvc.PacketData()
    assert (packet.bsl, bytes(packet), packet.bsl_data) == (0, b"", 0)
    packet.bsl_data = b"\0\0\1\x09\xf0"
    assert packet.bsl == 5
    assert bytes(packet) == b"\0\0\1\x09\xf0"
    assert repr(packet).startswith("<PacketData [key=False, pts=0, dts=0, pos=-1, bsl=5, bsl_data=")
