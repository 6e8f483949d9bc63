"""SimpleDecoder gives the same frame for an index as a decode of the whole clip."""

from __future__ import annotations

import io
import random
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from golden_clips import Clips
from surface_checks import md5_of

import tf_nvcodec.compat as nvc


def open_clip(clips: Clips, name: str, **options: object) -> nvc.SimpleDecoder:
    return nvc.SimpleDecoder(
        clips.path(name),
        use_device_memory=False,
        backend="cpu",
        **options,
    )


def md5s(frames: list[nvc.DecodedFrame], pixel_format: str) -> list[str]:
    return [md5_of(frame, pixel_format) for frame in frames]


@pytest.mark.parametrize(
    "name",
    [
        "h264.mp4",
        "h264_open_gop.mp4",
        "h264_edit_list.mp4",
        "hevc_open_gop.mkv",
        "hevc_yuv420p10le.mp4",
        "vp9_altref.webm",
        "av1.mp4",
        "mpeg2.ts",
        "mpeg4_packed_b.avi",
        "h264.h264",
        "ffv1_yuv420p.mkv",
    ],
)
def test_any_index_gives_the_frame_of_a_full_decode(clips: Clips, name: str) -> None:
    golden = clips.frames(name)
    decoder = open_clip(clips, name)
    assert len(decoder) == len(golden)
    indices = random.Random(3).choices(range(len(golden)), k=12)
    frames = decoder.get_batch_frames_by_index(indices)
    assert md5s(frames, golden.pixel_format) == [golden.md5[index] for index in indices]
    assert md5s([decoder[5], decoder[-1]], golden.pixel_format) == [golden.md5[5], golden.md5[-1]]
    assert md5s(decoder[3:20:4], golden.pixel_format) == golden.md5[3:20:4]
    assert md5s(decoder[::-7], golden.pixel_format) == golden.md5[::-7]
    assert md5s(list(decoder), golden.pixel_format) == golden.md5


def test_duplicates_are_kept_and_share_their_memory(clips: Clips) -> None:
    first, second, third = open_clip(clips, "h264.mp4").get_batch_frames_by_index([7, 2, 7])
    assert first.GetPtrToPlane(0) == third.GetPtrToPlane(0) != second.GetPtrToPlane(0)
    del first
    assert np.asarray(third).any()


def test_a_bad_index_raises_instead_of_shortening_the_batch(clips: Clips) -> None:
    decoder = open_clip(clips, "h264.mp4")
    for indices in ([0, 48], [-1], [2**62], [2**70]):
        with pytest.raises(IndexError):
            decoder.get_batch_frames_by_index(indices)
    for index in (48, -49):
        with pytest.raises(IndexError, match=f"frame {index} of 48"):
            decoder[index]
    with pytest.raises(TypeError, match="not str"):
        decoder["0"]
    with pytest.raises(TypeError):
        decoder.get_batch_frames_by_index([0.5])
    assert decoder[40:99] and len(decoder[40:99]) == 8  # Slices end with the video.
    assert decoder[9:3] == decoder.get_batch_frames_by_index([]) == []


def test_batches_in_order(clips: Clips) -> None:
    golden = clips.frames("h264.mp4")
    decoder = open_clip(clips, "h264.mp4")
    batches = []
    while batch := decoder.get_batch_frames(20):
        batches.append(batch)
    assert [len(batch) for batch in batches] == [20, 20, 8]
    assert md5s([frame for batch in batches for frame in batch], "yuv420p") == golden.md5
    decoder.seek_to_index(30)
    assert md5s(decoder.get_batch_frames(2), "yuv420p") == golden.md5[30:32]
    with pytest.raises(IndexError):
        decoder.seek_to_index(48)
    with pytest.raises(ValueError, match="batch_size must be .* got 0"):
        decoder.get_batch_frames(0)


def test_a_place_is_a_whole_number(clips: Clips) -> None:
    decoder = open_clip(clips, "h264.mp4")
    with pytest.raises(TypeError, match="float"):
        decoder.seek_to_index(1.5)
    decoder.seek_to_index(np.int64(7))
    assert len(decoder.get_batch_frames(2)) == 2


def test_frames_by_time(clips: Clips) -> None:
    for name in ("h264_vfr.mp4", "h264_start_delay.mkv", "h264_wrap.ts"):
        golden = clips.frames(name)
        decoder = open_clip(clips, name)
        for index in (0, 7, len(golden) - 1):
            pts = golden.pts[index]
            assert pts is not None
            assert decoder.get_index_from_time_in_seconds(pts + 1e-4) == index
            assert decoder.get_index_from_time_in_seconds(np.float32(pts)) == index
        with pytest.raises(ValueError, match=name):
            decoder.get_index_from_time_in_seconds(float(golden.pts[0] or 0) - 1)
        with pytest.raises(ValueError):
            decoder.get_index_from_time_in_seconds(float("nan"))


def test_metadata(clips: Clips) -> None:
    decoder = open_clip(clips, "h264.mp4")
    data = decoder.get_stream_metadata()
    assert (data.width, data.height, data.num_frames, data.codec_name) == (160, 96, 48, "h264")
    assert data.average_fps == pytest.approx(25)
    assert data.duration == pytest.approx(48 / 25)
    scanned = decoder.get_scanned_stream_metadata()
    assert scanned.key_frame_indices == [0, 12, 24, 36]
    packets = [packet for packet in nvc.CreateDemuxer(clips.path("h264.mp4")) if packet.bsl]
    assert scanned.pts == [packet.pts for packet in packets]
    assert scanned.dts == [packet.dts for packet in packets]
    assert data.bitrate == round(8 * sum(scanned.packet_size) / data.duration)
    assert repr(data).startswith("StreamMetadata(width=160, height=96, num_frames=48")
    assert decoder.get_session_init_time() >= 0


def test_timestamps_are_those_of_the_packets(clips: Clips) -> None:
    decoder = open_clip(clips, "h264_vfr.mp4")
    wanted = sorted(p.pts for p in nvc.CreateDemuxer(clips.path("h264_vfr.mp4")) if p.bsl)
    assert [frame.timestamp for frame in decoder] == wanted


@pytest.mark.parametrize("kind", ["bytes", "object", "create"])
def test_sources(clips: Clips, kind: str) -> None:
    golden = clips.frames("h264.mkv")
    data = clips.data("h264.mkv")
    if kind == "create":
        decoder = nvc.CreateSimpleDecoder(encSource=str(clips.path("h264.mkv")))
    else:
        source = data if kind == "bytes" else io.BytesIO(data)
        decoder = nvc.SimpleDecoder(source, use_device_memory=False)
    assert md5s(decoder[10:14], "yuv420p") == golden.md5[10:14]


def test_rgb(clips: Clips) -> None:
    import tf_nvcodec

    decoder = open_clip(clips, "h264.mp4", output_color_type=nvc.OutputColorType.RGBP)
    wanted = tf_nvcodec.decode_frames_at(
        clips.data("h264.mp4"), indices=[4, 9], layout="tchw", backend="cpu"
    ).frames
    batch = np.stack([np.from_dlpack(frame) for frame in decoder.get_batch_frames_by_index([4, 9])])
    np.testing.assert_array_equal(batch, wanted)


def test_another_file(clips: Clips) -> None:
    decoder = open_clip(clips, "h264.mp4")
    kept = decoder[47]
    decoder.get_batch_frames(5)
    decoder.reconfigure_decoder(str(clips.path("hevc.mkv")))
    golden = clips.frames("hevc.mkv")
    assert md5s(decoder.get_batch_frames(3), golden.pixel_format) == golden.md5[:3]
    with pytest.raises(FileNotFoundError):
        decoder.reconfigure_decoder("nope.mp4")
    assert md5s([decoder[3], kept], "yuv420p") == [golden.md5[3], clips.frames("h264.mp4").md5[47]]


def test_another_file_while_other_threads_ask(clips: Clips) -> None:
    """If two threads call the decoder, the second call is an error. The first one keeps its file
    until it has finished."""
    decoder = open_clip(clips, "bbb.mp4")
    lengths = {len(decoder), len(clips.frames("bbb_small.webm"))}
    ended = threading.Event()
    answers: set[object] = set()

    def refused(error: nvc.PyNvVCException) -> str:
        return str(error).rpartition("it is for ")[2]

    def ask() -> None:
        while not ended.wait(0.002):  # The pause lets the other threads run.
            try:
                answers.add(decoder.get_scanned_stream_metadata().num_frames in lengths)
                answers.add(decoder.get_index_from_time_in_seconds(0.1) < 10)
            except nvc.PyNvVCException as error:
                answers.add(refused(error))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    changed, until = 0, time.monotonic() + 60
    while (changed < 100 or len(answers) < 2) and time.monotonic() < until:
        try:
            name = "bbb.mp4" if changed % 2 else "bbb_small.webm"
            decoder.reconfigure_decoder(clips.path(name))
            changed += 1
        except nvc.PyNvVCException as error:
            answers.add(refused(error))
        time.sleep(0.001)  # The pause lets the other threads make calls too.
    ended.set()
    for thread in threads:
        thread.join()
    assert answers == {True, "one thread at a time"}
    assert changed > 0


def test_a_damaged_frame_is_named_and_the_others_come(clips: Clips) -> None:
    decoder = open_clip(clips, "broken_h264.mp4")
    broken = []
    for index in range(len(decoder)):
        try:
            decoder[index]
        except nvc.PyNvVCException as error:
            assert f"broken_h264.mp4: frame {index} is damaged" in str(error)
            broken.append(index)
    assert 0 < len(broken) < len(decoder) // 2
    got = []
    with pytest.raises(nvc.PyNvVCException, match=f"frame {broken[0]} is damaged"):
        for frame in decoder:
            got.append(frame.timestamp)
    assert len(got) == broken[0]
    times, errors = [], 0
    while True:
        try:
            frames = decoder.get_batch_frames(7)
        except nvc.PyNvVCExceptionDecode:
            errors += 1
            continue
        if not frames:
            break
        times += [frame.timestamp for frame in frames]
    assert errors == len(broken)
    assert len(times) == len(decoder) - len(broken)
    assert times[: broken[0]] == got and times == sorted(times)


def test_limits_and_sources_that_are_refused(clips: Clips) -> None:
    with pytest.raises(nvc.PyNvVCException, match="160x96, above max_width"):
        open_clip(clips, "h264.mp4", max_width=100)[0]
    with pytest.raises(
        nvc.PyNvVCException, match=r"coded pictures are above max_width .* \(16x16\)"
    ):
        open_clip(clips, "hevc_slices.mp4", max_width=16, max_height=16)[0]
    with pytest.raises(ValueError, match="read only once: pass a file"):
        nvc.SimpleDecoder(lambda buffer: 0, use_device_memory=False)
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="enableDecodeStats"):
        open_clip(clips, "h264.mp4", enableDecodeStats=True)
    with pytest.raises(ValueError, match="contents is empty"):
        nvc.SimpleDecoder(b"", use_device_memory=False)


def test_a_file_that_changes_is_an_error_not_a_crash(clips: Clips, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    shutil.copy(clips.path("h264.mp4"), path)
    decoder = nvc.SimpleDecoder(path, use_device_memory=False)
    with path.open("r+b") as file:
        file.truncate(3000)
    with pytest.raises(nvc.PyNvVCException, match=r"clip\.mp4: "):
        while decoder.get_batch_frames(48):
            pass
