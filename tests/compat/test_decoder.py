"""CreateDecoder on the CPU gives every frame bit for bit as FFmpeg decodes it, in display order."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
import pytest
from clip_table import CLIPS, MEDIA, SOUND
from compat_streams import sound_latency
from golden_clips import Clips
from surface_checks import FORMATS, md5_of, raw_bytes
from svc_stream import with_second_layer

import tf_nvcodec.compat as nvc

NO_SURFACE = ("gbrp", "yuv440p", "yuv411p")


# Codecs without a cudaVideoCodec.
NO_NUMBER = {
    "cfhd",
    "ffv1",
    "flv1",
    "h261",
    "huffyuv",
    "jpegls",
    "rawvideo",
    "smc",
    "theora",
    "wmv2",
}


def every_clip() -> list[object]:
    """Returns all clips. The first of each codec in each container is quick, the others are slow
    tests."""
    kinds: set[tuple[str, str]] = set()
    found: list[object] = []
    for name in SOUND:
        if "colour" in CLIPS[name].tags:
            continue
        kind = name.partition("_")[0].partition(".")[0], name.rpartition(".")[2]
        found.append(pytest.param(name, marks=pytest.mark.slow) if kind in kinds else name)
        kinds.add(kind)
    return [*found, "vp9_gbrp.webm", "vp9_yuv440p.webm", "ffv1_yuv411p.mkv"]


def decoder_for(demuxer: nvc.PyNvDemuxer, **options: object) -> nvc.PyNvDecoder:
    return nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), backend="cpu", **options)


def decode(packets: Iterable[nvc.PacketData], decoder: nvc.PyNvDecoder) -> list[nvc.DecodedFrame]:
    return [frame for packet in packets for frame in decoder.Decode(packet)]


def decode_clip(clips: Clips, name: str, **options: object) -> list[nvc.DecodedFrame]:
    demuxer = nvc.CreateDemuxer(clips.path(name))
    return decode(demuxer, decoder_for(demuxer, **options))


@pytest.mark.parametrize("name", every_clip())
def test_frames_are_ffmpegs(clips: Clips, name: str) -> None:
    golden = clips.frames(name)
    demuxer = nvc.CreateDemuxer(clips.path(name))
    try:
        decoder = decoder_for(demuxer, latency=sound_latency(name))
    except nvc.PyNvVCExceptionUnsupported as error:
        assert golden.stream["codec_name"] in str(error)
        assert golden.stream["codec_name"] in NO_NUMBER
        return
    if golden.pixel_format in NO_SURFACE:
        with pytest.raises(nvc.PyNvVCExceptionUnsupported, match=f"are {golden.pixel_format}, "):
            decode(demuxer, decoder)
        return
    frames = decode(demuxer, decoder)
    assert [md5_of(frame, golden.pixel_format) for frame in frames] == golden.md5
    for frame in frames:
        assert golden.pixel_format.replace("yuva", "yuv") in FORMATS[frame.format]
        assert frame.framesize() == len(bytes(frame)) == decoder.GetFrameSize()
    assert (decoder.GetWidth(), decoder.GetHeight()) == (golden.width, golden.height)
    assert decoder.GetPixelFormat() is frames[0].format
    unit = demuxer.GetTimebaseNum() / demuxer.GetTimebaseDen()
    if "misleading" in CLIPS[name].tags:
        return  # a frame has the time of its packet
    shown = [(frame.timestamp * unit, pts) for frame, pts in zip(frames, golden.pts)]
    assert all(time == pytest.approx(pts) for time, pts in shown if pts is not None)


@pytest.mark.parametrize("name", ["h264.mp4", "hevc.mp4", "vp9.webm", "av1.mp4", "mpeg2.ts"])
def test_low_latency_gives_the_same_frames_sooner(clips: Clips, name: str) -> None:
    golden = clips.frames(name)
    demuxer = nvc.CreateDemuxer(clips.path(name))
    decoder = decoder_for(demuxer, latency=nvc.DisplayDecodeLatencyType.LOW)
    frames, most_held = [], 0
    for sent, packet in enumerate(demuxer, 1):
        frames += decoder.Decode(packet)
        most_held = max(most_held, sent - len(frames))
    assert [md5_of(frame, golden.pixel_format) for frame in frames] == golden.md5
    assert most_held <= 4  # The decoder holds frames back for B-frames only.


def test_without_b_frames_each_packet_gives_its_frame(clips: Clips) -> None:
    demuxer = nvc.CreateDemuxer(clips.path("h264_no_b.mp4"))
    decoder = decoder_for(demuxer, latency=nvc.DisplayDecodeLatencyType.ZERO)
    for packet in demuxer:
        frames = decoder.Decode(packet)
        assert [frame.timestamp for frame in frames] == ([packet.pts] if packet.bsl else [])


@pytest.mark.parametrize("piece", [1, 333, 100_000])
@pytest.mark.parametrize(
    ("name", "codec"), [("h264.h264", "H264"), ("hevc.hevc", "HEVC"), ("h264_joined.h264", "H264")]
)
def test_an_elementary_stream_in_pieces(clips: Clips, name: str, codec: str, piece: int) -> None:
    """Users may cut a stream into packets of any size. The decoder finds the frames and their
    order itself, because no container helps."""
    data, golden = clips.data(name), clips.frames(name)
    decoder = nvc.CreateDecoder(codec=nvc.cudaVideoCodec[codec], backend="cpu")
    frames = []
    for begin in range(0, len(data), piece):
        packet = nvc.PacketData()
        packet.bsl_data = data[begin : begin + piece]
        frames += decoder.Decode(packet)
    frames += decoder.Decode(nvc.PacketData())
    assert [md5_of(frame, golden.pixel_format) for frame in frames] == golden.md5


def copy_of(packet: nvc.PacketData) -> nvc.PacketData:
    copy = nvc.PacketData()
    if packet.bsl:
        copy.bsl_data = bytes(packet)
        copy.pts, copy.dts = packet.pts, packet.dts
    return copy


def test_packets_copied_by_the_user(clips: Clips) -> None:
    demuxer = nvc.CreateDemuxer(clips.path("h264.mp4"))
    frames = decode(map(copy_of, demuxer), decoder_for(demuxer))
    golden = clips.frames("h264.mp4")
    assert [md5_of(frame, golden.pixel_format) for frame in frames] == golden.md5


def test_decoding_begins_anew_after_the_end(clips: Clips) -> None:
    golden = clips.frames("h264.mp4")
    demuxer = nvc.CreateDemuxer(clips.path("h264.mp4"))
    decoder = decoder_for(demuxer)
    packets = list(demuxer)
    for _ in range(2):
        frames = decode(packets, decoder)
        assert [md5_of(frame, golden.pixel_format) for frame in frames] == golden.md5
    assert decoder.Decode(nvc.PacketData()) == []


def test_another_stream_follows_at_once(clips: Clips) -> None:
    """The guide's example of reconfiguration does this. The last frames of the first stream must
    not get lost."""
    wide, tall = clips.frames("h264.mp4"), clips.frames("h264_tall.mp4")
    first = nvc.CreateDemuxer(clips.path("h264.mp4"))
    second = nvc.CreateDemuxer(clips.path("h264_tall.mp4"))
    decoder = decoder_for(first)
    frames = [f for packet in first if packet.bsl for f in decoder.Decode(packet)]
    assert decoder.setReconfigParams(second.Width(), second.Height()) == 1
    frames += decode(second, decoder)
    assert [md5_of(frame, "yuv420p") for frame in frames] == wide.md5 + tall.md5
    assert (decoder.GetWidth(), decoder.GetHeight()) == (tall.width, tall.height)


def test_the_size_may_change_within_a_stream(clips: Clips) -> None:
    frames = decode_clip(clips, "size_change.h264")
    large, small = clips.frames("h264.h264"), clips.frames("h264_small.h264")
    assert [md5_of(frame, "yuv420p") for frame in frames] == large.md5 + small.md5
    assert frames[-1].shape == (72, 64)


@pytest.mark.parametrize("codec", ["H264", "H264_SVC", "H264_MVC"])
@pytest.mark.parametrize("whole", [True, False])
def test_of_scalable_video_the_base_layer_is_decoded(clips: Clips, codec: str, whole: bool) -> None:
    packets = list(nvc.CreateDemuxer(clips.path("h264.mp4")))[:-1]
    data = [with_second_layer(bytes(packet)) for packet in packets]
    assert sum(map(len, data)) > 1.8 * sum(packet.bsl for packet in packets)
    decoder = nvc.CreateDecoder(codec=nvc.cudaVideoCodec[codec], backend="cpu")
    frames = []
    pieces = data if whole else [b"".join(data)]
    for piece in pieces:
        packet = nvc.PacketData()
        packet.bsl_data = piece
        frames += decoder.Decode(packet)
    frames += decoder.Decode(nvc.PacketData())
    assert [md5_of(frame, "yuv420p") for frame in frames] == clips.frames("h264.mp4").md5


def test_seek_and_decode_to_a_frame(clips: Clips) -> None:
    golden = clips.frames("h264.mp4")
    demuxer = nvc.CreateDemuxer(clips.path("h264.mp4"))
    everything = decode(demuxer, decoder_for(demuxer))
    target = everything[29].timestamp
    decoder = decoder_for(demuxer)
    decoder.SetSeekPTS(target)
    frames = decoder.Decode(demuxer.Seek(target)) + decode(demuxer, decoder)
    assert frames[0].timestamp == target
    assert [md5_of(frame, "yuv420p") for frame in frames] == golden.md5[29:]


def test_seek_and_count_to_a_frame(clips: Clips) -> None:
    demuxer = nvc.CreateDemuxer(clips.path("h264.mp4"))
    target = decode(demuxer, decoder_for(demuxer))[29].timestamp
    decoder = decoder_for(demuxer)
    decoder.SetSeekPTS(target)
    packet, md5 = demuxer.Seek(target), []
    while packet is not None:
        md5 += [
            md5_of(decoder.GetFrame(), "yuv420p") for _ in range(decoder.GetNumDecodedFrame(packet))
        ]
        packet = demuxer.Demux() if packet.bsl else None
    assert md5 == clips.frames("h264.mp4").md5[29:]


@pytest.mark.parametrize("name", ["h264_open_gop.mp4", "hevc_open_gop.mkv", "h264.mp4"])
def test_seeking_with_the_same_decoder_gives_no_wrong_frame(clips: Clips, name: str) -> None:
    """The first pictures of an open GOP refer to pictures before it. After a seek these are
    missing, so the decoder must leave the first pictures out."""
    golden = clips.frames(name)
    demuxer = nvc.CreateDemuxer(clips.path(name))
    decoder = decoder_for(demuxer)
    whole = decode(demuxer, decoder)
    md5 = {frame.timestamp: md5 for frame, md5 in zip(whole, golden.md5)}
    for begin, end in ((30, 47), (20, 40), (40, 47)):
        target = whole[begin].timestamp
        packets = [demuxer.Seek(target)]
        packets += [demuxer.Demux() for _ in range(end - begin)]
        frames = decode([*packets, nvc.PacketData()], decoder)
        assert frames
        assert all(md5_of(frame, golden.pixel_format) == md5[frame.timestamp] for frame in frames)
        assert frames[0].timestamp >= packets[0].pts


@pytest.mark.parametrize("color", ["RGB", "RGBP"])
@pytest.mark.parametrize("name", ["h264_bt709_full.mp4", "hevc_bt2020.mp4", "h264_rgb.mp4"])
def test_rgb_is_that_of_the_op(clips: Clips, name: str, color: str) -> None:
    import tf_nvcodec

    decoded = tf_nvcodec.decode_video(
        clips.data(name), backend="cpu", layout="thwc" if color == "RGB" else "tchw"
    )
    frames = decode_clip(clips, name, outputColorType=nvc.OutputColorType[color])
    assert frames[0].format is nvc.Pixel_Format[color]
    np.testing.assert_array_equal(np.stack([np.asarray(f) for f in frames]), decoded.frames)


def test_counted_and_locked_frames(clips: Clips) -> None:
    golden = clips.frames("h264.mp4")
    demuxer = nvc.CreateDemuxer(clips.path("h264.mp4"))
    decoder = decoder_for(demuxer)
    md5 = []
    for packet in demuxer:
        for _ in range(decoder.GetNumDecodedFrame(packet)):
            md5.append(md5_of(decoder.GetFrame(), "yuv420p"))
    assert md5 == golden.md5
    with pytest.raises(nvc.PyNvVCException, match="call GetNumDecodedFrame"):
        decoder.GetFrame()
    packets = list(nvc.CreateDemuxer(clips.path("h264.mp4")))
    total = sum(decoder.GetNumDecodedFrame(packet) for packet in packets[:1])
    total = decoder.GetNumDecodedFrame(packets[-1])
    assert total == 1
    address = decoder.GetLockedFrame()
    assert address > 0
    decoder.UnlockFrame(address)
    with pytest.raises(ValueError, match="no address that GetLockedFrame gave"):
        decoder.UnlockFrame(address)


def test_frames_stay_as_they_are(clips: Clips) -> None:
    """Users need not copy a frame before the next Decode. Frames outlive their decoder."""
    golden = clips.frames("h264.mp4")
    demuxer = nvc.CreateDemuxer(clips.path("h264.mp4"))
    decoder = decoder_for(demuxer)
    kept = decode(demuxer, decoder)
    del decoder, demuxer
    decode_clip(clips, "hevc.mp4")
    assert [md5_of(frame, "yuv420p") for frame in kept] == golden.md5


def test_streams_need_no_waiting() -> None:
    decoder = nvc.CreateDecoder(backend="cpu")
    decoder.WaitOnCUStream(0)  # It has no effect without a GPU.
    decoder.SyncOnCUStream()
    with pytest.raises(ValueError, match="handle of stream must be .*'mine'"):
        decoder.WaitOnCUStream("mine")
    assert decoder.GetSessionInitTime() >= 0
    assert (decoder.GetWidth(), decoder.GetHeight(), decoder.GetFrameSize()) == (0, 0, 0)
    with pytest.raises(nvc.PyNvVCException, match="no frame has come out yet"):
        decoder.GetPixelFormat()


@pytest.mark.parametrize("name", ["broken_h264.ts", "broken_vp9.webm", "garbled_h264.mkv"])
def test_damage_is_told_with_its_timestamp_and_decoding_goes_on(clips: Clips, name: str) -> None:
    demuxer = nvc.CreateDemuxer(clips.path(name))
    decoder = decoder_for(demuxer)
    errors, frames = [], []
    for packet in demuxer:
        try:
            frames += decoder.Decode(packet)
        except nvc.PyNvVCException as error:
            errors.append(str(error))
    assert errors
    assert all("timestamp" in error for error in errors)
    # Each error loses at most one frame. Frames after the next key frame are good.
    sound = clips.frames(name.split("_", 1)[1]).md5
    md5 = [md5_of(frame, "yuv420p") for frame in frames]
    assert len(sound) - len(errors) <= len(md5) <= len(sound)
    assert md5[-5:] == sound[-5:]


@pytest.mark.parametrize("place", [-2, -3])
def test_damage_near_the_end_loses_one_frame(clips: Clips, place: int) -> None:
    """The frames after it come out while the decoder drains."""
    packets = list(map(copy_of, nvc.CreateDemuxer(clips.path("vp9.webm"))))
    broken = packets[place]
    broken.bsl_data = b"\xff" * broken.bsl
    decoder = nvc.CreateDecoder(codec=nvc.cudaVideoCodec.VP9, backend="cpu")
    frames, errors = [], []
    for packet in [*packets, nvc.PacketData()]:
        try:
            frames += decoder.Decode(packet)
        except nvc.PyNvVCException as error:
            errors.append(str(error))
    assert len(errors) == 1
    times = [frame.timestamp for frame in frames]
    shown = [packet.pts for packet in packets if packet.bsl and packet is not broken]
    assert times[1:] == shown[1:]  # a packet of the user's own at 0 has no time


def test_a_stream_joined_in_its_middle(clips: Clips) -> None:
    """The decoder drops packets before the first key frame without an error."""
    packets = list(nvc.CreateDemuxer(clips.path("h264.ts")))
    keys = [i for i, packet in enumerate(packets) if packet.key]
    decoder = nvc.CreateDecoder(backend="cpu")
    joined = []
    for packet in packets[keys[1] - 3 :]:
        own = nvc.PacketData()
        if packet.bsl:
            own.bsl_data, own.pts = bytes(packet), packet.pts
        joined.append(own)
    frames = decode(joined, decoder)
    golden = clips.frames("h264.ts").md5
    assert [md5_of(frame, "yuv420p") for frame in frames[-30:]] == golden[-30:]


@pytest.mark.parametrize("by_name", [False, True])
def test_the_arguments_of_version_1(clips: Clips, by_name: bool) -> None:
    demuxer = nvc.CreateDemuxer(clips.path("h264.mp4"))
    arguments = {
        "gpuid": 0,
        "codec": demuxer.GetNvCodecId(),
        "cudacontext": 0,
        "cudastream": 0,
        "usedevicememory": False,
        "enableasyncallocations": True,
    }
    decoder = nvc.CreateDecoder(**arguments) if by_name else nvc.CreateDecoder(*arguments.values())
    frames = [frame for packet in demuxer for frame in decoder.Decode(packet)]
    assert [md5_of(frame, "yuv420p") for frame in frames] == clips.frames("h264.mp4").md5


def test_wrong_arguments_are_named(clips: Clips) -> None:
    with pytest.raises(ValueError, match="gpuid must be a whole number from 0 to .*; got -1"):
        nvc.CreateDecoder(gpuid=-1)
    with pytest.raises(ValueError, match="999 is not a valid cudaVideoCodec"):
        nvc.CreateDecoder(codec=999)
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="can't be decoded; codecs that can:"):
        nvc.CreateDecoder(codec=nvc.cudaVideoCodec.YUYV)
    with pytest.raises(ValueError, match="backend is 'gpu'"):
        nvc.CreateDecoder(backend="gpu")
    with pytest.raises(ValueError, match="maxwidth must be .* got -5"):
        nvc.CreateDecoder(maxwidth=-5)
    with pytest.raises(ValueError, match="handle of cudastream must be .*'default'"):
        nvc.CreateDecoder(cudastream="default")
    with pytest.raises(ValueError, match="usedevicememory must be False"):
        nvc.CreateDecoder(usedevicememory=True, backend="cpu")
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="enableSEIMessage is not supported"):
        nvc.CreateDecoder(enableSEIMessage=True)
    decoder = nvc.CreateDecoder(0, nvc.cudaVideoCodec.H264, 0, 0, False, True, backend="cpu")
    with pytest.raises(TypeError, match="not bytes"):
        decoder.Decode(b"\0\0\1")
    packet = nvc.PacketData()
    packet.bsl = 7
    with pytest.raises(ValueError, match="set bsl_data"):
        decoder.Decode(packet)
    for packet in (next(nvc.CreateDemuxer(clips.path("h264.mp4"))), nvc.PacketData()):
        if packet.bsl == 0:
            packet.bsl_data = bytes(7)
        size = packet.bsl
        packet.bsl = 500_000_000
        for read in (decoder.Decode, bytes):
            with pytest.raises(ValueError, match=f"bsl is 500000000, and the packet has {size}"):
                read(packet)
    with pytest.raises(ValueError, match="width must be .* got -1"):
        decoder.setReconfigParams(-1, 0)


def test_packets_of_another_codec_are_refused(clips: Clips) -> None:
    demuxer = nvc.CreateDemuxer(clips.path("hevc.mp4"))
    decoder = nvc.CreateDecoder(codec=nvc.cudaVideoCodec.H264, backend="cpu")
    with pytest.raises(ValueError, match="of codec 'hevc', but the decoder was created for 'h264'"):
        decoder.Decode(demuxer.Demux())


def test_larger_frames_than_allowed_are_refused(clips: Clips) -> None:
    with pytest.raises(nvc.PyNvVCException, match="160x96, above maxwidth and maxheight"):
        decode_clip(clips, "h264.mp4", maxwidth=159, maxheight=96)
    assert decode_clip(clips, "h264.mp4", maxwidth=160, maxheight=96)
    # Much larger ones are refused before the decoder takes memory for them.
    refused = r"coded pictures are above maxwidth and maxheight \(16x16\)"
    with pytest.raises(nvc.PyNvVCException, match=refused):
        decode_clip(clips, "hevc_slices.mp4", maxwidth=16, maxheight=16)


def test_vc1_takes_packets_that_have_its_headers() -> None:
    demuxer = nvc.CreateDemuxer(MEDIA / "vc1.mkv")
    assert demuxer.GetNvCodecId() == nvc.cudaVideoCodec.VC1
    assert len(decode(demuxer, decoder_for(demuxer))) == 12
    decoder = nvc.CreateDecoder(codec=nvc.cudaVideoCodec.VC1, backend="cpu")
    packet = nvc.PacketData()
    packet.bsl_data = bytes(nvc.CreateDemuxer(MEDIA / "vc1.mkv").Demux())
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="pass packets of CreateDemuxer"):
        decoder.Decode(packet)


def test_garbage_is_no_crash() -> None:
    rng = np.random.default_rng(7)
    for codec in ("H264", "HEVC", "AV1", "VP8", "VP9", "MPEG2", "MPEG4", "JPEG"):
        decoder = nvc.CreateDecoder(codec=nvc.cudaVideoCodec[codec], backend="cpu")
        for _ in range(20):
            packet = nvc.PacketData()
            packet.bsl_data = b"\0\0\1" + rng.integers(0, 256, 700, np.uint8).tobytes()
            packet.key = True
            try:
                decoder.Decode(packet)
            except nvc.PyNvVCException as error:
                assert str(error)
        try:
            decoder.Decode(nvc.PacketData())
        except nvc.PyNvVCException as error:
            assert str(error)


def test_device_memory_without_a_gpu_is_host_memory_with_a_warning(clips: Clips) -> None:
    from tf_nvcodec.compat.decoder_options import gpu_count

    if gpu_count() > 0:
        pytest.skip("this machine has a GPU")
    demuxer = nvc.CreateDemuxer(clips.path("h264.mp4"))
    with pytest.warns(RuntimeWarning, match="frames are in host memory"):
        decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), usedevicememory=True)
    frame = decode(demuxer, decoder)[0]
    assert frame.__dlpack_device__() == (1, 0)
    assert raw_bytes(frame, "yuv420p")
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="FFmpeg decodes, to host memory"):
        nvc.CreateDecoder(usedevicememory=True, backend="nvdec")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nvc.CreateDecoder()


def test_caps_without_a_gpu() -> None:
    from tf_nvcodec.compat.decoder_options import gpu_count

    if gpu_count() > 0:
        pytest.skip("this machine has a GPU")
    caps = nvc.GetDecoderCaps(
        gpuid=0, codec=nvc.cudaVideoCodec.HEVC, chromaformat=nvc.cudaVideoChromaFormat["444"]
    )
    assert caps["num_decoder_engines"] == 0
    assert (caps["codec_id"], caps["chromaformat_id"], caps["bitdepth"]) == (8, 3, 8)
    assert caps["width_min"] <= 64 and caps["width_max"] >= 8192
    with pytest.raises(nvc.PyNvVCExceptionUnsupported):
        nvc.GetDecoderCaps(codec=nvc.cudaVideoCodec.YV12)
