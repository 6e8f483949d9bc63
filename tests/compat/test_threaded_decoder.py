"""ThreadedDecoder gives the same frames as SimpleDecoder. Its thread decodes ahead, and ends."""

from __future__ import annotations

import gc
import io
import threading
import time

import pytest
from fork_server import printed_by
from golden_clips import Clips
from surface_checks import md5_of

import tf_nvcodec.compat as nvc


def open_clip(clips: Clips, name: str, size: int = 8, **options: object) -> nvc.ThreadedDecoder:
    return nvc.ThreadedDecoder(
        clips.path(name),
        size,
        use_device_memory=False,
        backend="cpu",
        **options,
    )


def all_frames(decoder: nvc.ThreadedDecoder, batch: int) -> list[nvc.DecodedFrame]:
    frames: list[nvc.DecodedFrame] = []
    while got := decoder.get_batch_frames(batch):
        frames += got
    return frames


def threads() -> int:
    return sum(thread.name == "tf_nvcodec-decode-ahead" for thread in threading.enumerate())


def wait_until_no_threads() -> None:
    deadline = time.monotonic() + 20
    while threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threads() == 0


@pytest.mark.parametrize(("size", "batch"), [(1, 1), (8, 5), (100, 100)])
@pytest.mark.parametrize("name", ["h264.mp4", "hevc_yuv444p10le.mp4", "ffv1_yuv420p.mkv"])
def test_frames_are_ffmpegs(clips: Clips, name: str, size: int, batch: int) -> None:
    golden = clips.frames(name)
    decoder = open_clip(clips, name, size)
    frames = all_frames(decoder, batch)
    assert [md5_of(frame, golden.pixel_format) for frame in frames] == golden.md5
    assert decoder.get_batch_frames(batch) == []
    assert len(decoder) == decoder.get_stream_metadata().num_frames == len(golden)
    decoder.end()
    assert decoder.get_batch_frames(batch) == []


def test_it_decodes_no_further_ahead_than_asked(clips: Clips) -> None:
    read: list[int] = []
    data = clips.data("bbb_small.webm")

    def fill(buffer: bytearray) -> int:
        begin = sum(read)
        piece = data[begin : begin + 1000]
        buffer[: len(piece)] = piece
        read.append(len(piece))
        return len(piece)

    decoder = nvc.ThreadedDecoder(fill, 3, use_device_memory=False, backend="cpu")
    assert len(decoder.get_batch_frames(1)) == 1
    before = -1
    while before != sum(read):
        before = sum(read)
        time.sleep(0.3)
    assert before < len(data) * 3 // 4
    assert len(all_frames(decoder, 3)) == len(clips.frames("bbb_small.webm")) - 1


def test_start_frame(clips: Clips) -> None:
    golden = clips.frames("h264_open_gop.mp4")
    frames = all_frames(open_clip(clips, "h264_open_gop.mp4", start_frame=25), 4)
    assert [md5_of(frame, "yuv420p") for frame in frames] == golden.md5[25:]
    with pytest.raises(IndexError, match="start_frame is 60, and there are 60 frames"):
        open_clip(clips, "h264_open_gop.mp4", start_frame=60).get_batch_frames(1)
    with pytest.raises(ValueError, match="start_frame must be .* got -1"):
        open_clip(clips, "h264_open_gop.mp4", start_frame=-1)


def test_another_file(clips: Clips) -> None:
    wait_until_no_threads()
    decoder = open_clip(clips, "h264.mp4")
    decoder.get_batch_frames(4)
    decoder.reconfigure_decoder(clips.path("hevc.mp4"), start_frame=10)
    golden = clips.frames("hevc.mp4")
    got = decoder.get_batch_frames(2)
    assert [md5_of(frame, golden.pixel_format) for frame in got] == golden.md5[10:12]
    with pytest.raises(FileNotFoundError):
        decoder.reconfigure_decoder("nope.mp4")
    got = decoder.get_batch_frames(2)
    assert [md5_of(frame, golden.pixel_format) for frame in got] == golden.md5[12:14]
    decoder.end()
    decoder.end()
    assert threads() == 0


def test_the_thread_goes_with_its_decoder(clips: Clips) -> None:
    wait_until_no_threads()
    decoders = [open_clip(clips, "h264_long_gop.mp4", 2) for _ in range(3)]
    for decoder in decoders:
        assert decoder.get_batch_frames(1)
    assert threads() == 3
    decoders.clear()
    del decoder
    gc.collect()
    wait_until_no_threads()


@pytest.mark.parametrize("kind", ["function", "decoder"])
def test_the_process_may_end_while_a_thread_reads_by_python(clips: Clips, kind: str) -> None:
    script = (
        "import io, itertools, sys, threading, time, tf_nvcodec.compat as nvc\n"
        "class Slow(io.BytesIO):\n"
        "    def read(self, size=-1):\n"
        "        begun.set(); time.sleep(0.0005); return super().read(min(size, 100))\n"
        "begun = threading.Event()\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "def work():\n"
        "    pieces = (data[i:i + 100] for i in itertools.count(0, 100))\n"
        "    def fill(buffer):\n"
        "        begun.set(); time.sleep(0.0005); buffer[:] = next(pieces); return len(buffer)\n"
        "    list(nvc.CreateDemuxer(fill))\n"
        "if sys.argv[2] == 'function':\n"
        "    threading.Thread(target=work, daemon=True).start()\n"
        "else:\n"
        "    decoder = nvc.ThreadedDecoder(Slow(data), 500, use_device_memory=False)\n"
        "begun.wait()\n"
    )
    name = "bbb.mp4" if kind == "decoder" else "bbb_small.webm"
    printed_by("-c", script, clips.path(name), kind)


def test_damage_is_raised_and_the_other_frames_come(clips: Clips) -> None:
    decoder = open_clip(clips, "broken_vp9.webm", 4)
    errors, frames = 0, []
    while True:
        try:
            got = decoder.get_batch_frames(4)
        except nvc.PyNvVCException as error:
            assert "timestamp" in str(error)
            errors += 1
            continue
        if not got:
            break
        frames += got
    assert errors == 1
    assert len(frames) == len(clips.frames("vp9.webm")) - 1


def test_damage_is_raised_in_its_place(clips: Clips) -> None:
    """The thread may find the damage long before a caller gets there. The caller still gets all
    frames before the damage, and then the error."""
    decoder = open_clip(clips, "broken_vp9.webm", 100)
    wait_until_no_threads()
    times = []
    with pytest.raises(nvc.PyNvVCException, match="timestamp"):
        while got := decoder.get_batch_frames(4):
            times += [frame.timestamp for frame in got]
    assert times == list(range(0, 480, 40))
    times = [frame.timestamp for frame in decoder.get_batch_frames(2)]
    assert times == [480, 560]


def test_a_file_object_is_read_by_two_at_once(clips: Clips) -> None:
    class Slow(io.BytesIO):
        def seek(self, *to: int) -> int:
            place = super().seek(*to)
            time.sleep(0.0005)
            return place

        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or 0, 4000))

    golden = clips.frames("bbb.mp4")
    decoder = nvc.ThreadedDecoder(
        Slow(clips.data("bbb.mp4")), 8, use_device_memory=False, backend="cpu"
    )
    lengths: list[int] = []
    other = threading.Thread(target=lambda: lengths.append(len(decoder)))
    other.start()
    frames = all_frames(decoder, 8)
    other.join()
    assert [md5_of(frame, golden.pixel_format) for frame in frames] == golden.md5
    assert lengths == [len(golden)]


def test_what_the_thread_meets_is_raised_to_the_caller(clips: Clips) -> None:
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="are gbrp"):
        open_clip(clips, "h264_rgb.mp4").get_batch_frames(1)

    calls = []

    def breaks(buffer: bytearray) -> int:
        calls.append(1)
        if len(calls) > 2:
            raise OSError("the network went down")
        piece = clips.data("h264.ts")[(len(calls) - 1) * 6000 : len(calls) * 6000]
        buffer[: len(piece)] = piece
        return len(piece)

    with pytest.raises(OSError, match="the network went down"):
        all_frames(nvc.ThreadedDecoder(breaks, 4, use_device_memory=False), 4)
    wait_until_no_threads()


def test_wrong_sizes_are_named(clips: Clips) -> None:
    with pytest.raises(ValueError, match="buffer_size must be .* got 0"):
        open_clip(clips, "h264.mp4", 0)
    decoder = open_clip(clips, "h264.mp4", 4)
    for size in (0, 5):
        with pytest.raises(ValueError, match=f"buffer_size, must be .* 1 to 4; got {size}"):
            decoder.get_batch_frames(size)
