"""Only the process that made an object may use it, one thread at a time, also after Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fork_server import printed_by
from forks import in_a_fork
from golden_clips import Clips

import tf_nvcodec as ops
import tf_nvcodec.compat as nvc
from tf_nvcodec.compat.ownership import Guard, Turns
from tf_nvcodec.compat.threaded_decoder import _Ahead

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture
def objects(clips: Clips, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """One object of each kind in the middle of its work. FFmpeg and Python run threads for them."""
    path = clips.path("h264_long_gop.mp4")
    demuxer = nvc.CreateDemuxer(path)
    decoder = nvc.CreateDecoder(backend="cpu")
    for _ in range(30):
        decoder.Decode(demuxer.Demux())
    simple = nvc.SimpleDecoder(path, use_device_memory=False, backend="cpu")
    encoder = nvc.CreateEncoder(160, 96, "NV12", codec="hevc")
    for _ in range(3):
        encoder.Encode(bytes(160 * 144))
    yield {
        "demuxer": demuxer,
        "packet": demuxer.Demux(),
        "decoder": decoder,
        "simple": simple,
        "frame": simple[7],
        "threaded": nvc.ThreadedDecoder(path, 4, use_device_memory=False, backend="cpu"),
        "encoder": encoder,
        "muxer": nvc.FFmpegMuxer(tmp_path / "a.mp4", nvc.MEDIA_FORMAT.MP4, "h264", 64, 64),
    }


def _calls(made: dict[str, Any]) -> dict[str, Callable[[], object]]:
    demuxer, decoder, packet = made["demuxer"], made["decoder"], made["packet"]
    simple, threaded, encoder = made["simple"], made["threaded"], made["encoder"]
    return {
        "Demux": demuxer.Demux,
        "DemuxNoSkipAudio": demuxer.DemuxNoSkipAudio,
        "next": lambda: next(demuxer),
        "Seek": lambda: demuxer.Seek(0),
        "GetAudioStreamId": demuxer.GetAudioStreamId,
        "Decode": lambda: decoder.Decode(packet),
        "flush": lambda: decoder.Decode(nvc.PacketData()),
        "GetNumDecodedFrame": lambda: decoder.GetNumDecodedFrame(packet),
        "GetFrame": decoder.GetFrame,
        "GetLockedFrame": decoder.GetLockedFrame,
        "simple[0]": lambda: simple[0],
        "get_batch_frames": lambda: simple.get_batch_frames(2),
        "get_scanned_stream_metadata": simple.get_scanned_stream_metadata,
        "get_index_from_time_in_seconds": lambda: simple.get_index_from_time_in_seconds(0.1),
        "reconfigure_decoder": lambda: simple.reconfigure_decoder(simple._source.name),
        "threaded.get_batch_frames": lambda: threaded.get_batch_frames(4),
        "threaded.end": threaded.end,
        "len(threaded)": lambda: len(threaded),
        "threaded.reconfigure_decoder": lambda: threaded.reconfigure_decoder("other.mp4"),
        "Encode": lambda: encoder.Encode(bytes(160 * 144)),
        "EndEncode": encoder.EndEncode,
        "GetSequenceParams": encoder.GetSequenceParams,
        "GetEncodeReconfigureParams": encoder.GetEncodeReconfigureParams,
        "Mux": lambda: made["muxer"].Mux(b"\0\0\1", 0, 0),
        "Finalize": made["muxer"].Finalize,
    }


def test_a_fork_is_told_at_once_whose_an_object_is(objects: dict[str, Any]) -> None:
    calls = _calls(objects)
    whats = ("demuxer", "decoder", "encoder", "muxer")
    for name, call in calls.items():
        said = in_a_fork(call)
        starts = tuple(f"PyNvVCException: this {what} was made in process" for what in whats)
        assert said.startswith(starts) and f"process {os.getpid()}," in said, (name, said)
    # The parent's objects still work.
    for name in ("Demux", "Decode", "simple[0]", "threaded.get_batch_frames", "Encode"):
        calls[name]()


def test_what_a_fork_lets_go_of_stays_the_parents(objects: dict[str, Any], tmp_path: Path) -> None:
    """A fork has none of the parent's threads. When it drops the parent's objects, it must not
    wait for these threads, and it must not write into the parent's files."""
    written = (tmp_path / "a.mp4").read_bytes()

    def let_go() -> str:
        objects.clear()
        return "let go"

    assert in_a_fork(let_go) == "gave 'let go'"
    assert (tmp_path / "a.mp4").read_bytes() == written
    assert objects["encoder"].EndEncode()
    assert len(objects["threaded"].get_batch_frames(4)) == 4
    assert sum(len(objects["decoder"].Decode(packet)) for packet in objects["demuxer"]) > 100


def test_a_lock_that_a_thread_of_the_parent_holds(objects: dict[str, Any]) -> None:
    calls = {name: _calls(objects)[name] for name in ("Encode", "EndEncode", "threaded.end")}
    with objects["encoder"]._guard.turn(), objects["threaded"]._ahead.lock:
        for call in calls.values():
            assert "was made in process" in in_a_fork(call)
        del call
        calls.clear()
        assert in_a_fork(objects.clear) == "gave None"


def test_a_forks_own_objects_work(clips: Clips, objects: dict[str, Any]) -> None:
    """A fork gets its own decoders, not those that the parent keeps for reuse."""
    golden = clips.frames("h264_long_gop.mp4")
    path = clips.path("h264_long_gop.mp4")

    def count() -> tuple[int, int, int]:
        demuxer, decoder = nvc.CreateDemuxer(path), nvc.CreateDecoder(backend="cpu")
        simple = nvc.SimpleDecoder(path, use_device_memory=False, backend="cpu")
        encoder = nvc.CreateEncoder(160, 96, "NV12", preset="P1")
        size = len(encoder.Encode(bytes(160 * 144)) + encoder.EndEncode())
        return sum(len(decoder.Decode(packet)) for packet in demuxer), len(list(simple)), size > 0

    assert in_a_fork(count) == f"gave ({len(golden.md5)}, {len(golden.md5)}, True)"


def test_a_transcoder_holds_nothing_that_a_fork_lacks(clips: Clips, tmp_path: Path) -> None:
    path = tmp_path / "out.mp4"
    transcoder = nvc.Transcoder(clips.path("h264.mp4"), path, preset="P1")
    transcoder.transcode_with_mux()
    here = path.read_bytes()
    path.unlink()
    assert in_a_fork(transcoder.transcode_with_mux) == "gave None"
    assert path.read_bytes() == here


def test_memory_of_the_host_can_be_read_in_a_fork(objects: dict[str, Any]) -> None:
    frame, packet = objects["frame"], objects["packet"]
    total = int(np.asarray(frame).sum())
    assert in_a_fork(lambda: int(np.asarray(frame).sum())) == f"gave {total}"
    assert in_a_fork(lambda: int(np.from_dlpack(frame).sum())) == f"gave {total}"
    assert in_a_fork(lambda: len(bytes(packet))) == f"gave {packet.bsl}"


def test_a_fork_of_a_process_that_encodes_av1_says_why_it_cannot() -> None:
    def create() -> Any:
        return nvc.CreateEncoder(160, 96, "NV12", codec="av1", preset="P1")

    encoder = create()
    assert "forked while an AV1 encoder was open" in in_a_fork(create)
    encoder.EndEncode()
    del encoder
    create().EndEncode()


def test_a_call_within_a_call_is_an_error(objects: dict[str, Any]) -> None:
    """A signal handler may make such a call. It runs in the thread that it would wait for, so the
    call must fail instead of waiting forever."""
    for name, call in (("encoder", "EndEncode"), ("muxer", "Finalize")):
        made = objects[name]
        with (
            made._guard.turn(),
            pytest.raises(nvc.PyNvVCException, match=f"this {name} is in a call of this thread"),
        ):
            getattr(made, call)()
    assert objects["encoder"].EndEncode()


_DAEMON = """
import io, sys, threading, time
import tf_nvcodec.compat as nvc

reads = set()

class Slow(io.FileIO):
    def read(self, count=-1):
        if many:
            reads.add(threading.get_native_id())
            time.sleep(0.002)
        return super().read(count)

many = False
decoder = nvc.SimpleDecoder(Slow(sys.argv[1]), use_device_memory=False, backend="cpu")
many = True

def work():
    while True:
        decoder.get_batch_frames_by_index(list(range(len(decoder))))

threading.Thread(target=work, daemon=True).start()
while len(reads) < int(sys.argv[2]):
    time.sleep(0.01)
time.sleep(0.2)
"""


@pytest.mark.timeout(900)  # The test starts three processes.
def test_a_daemon_thread_that_decodes_ends_with_the_process(tmp_path: Path) -> None:
    """At exit, Python ends the daemon thread in the middle of a read, while FFmpeg's threads also
    read. The process must still end without a crash."""
    frames = np.random.default_rng(0).integers(0, 256, (120, 96, 160, 3), np.uint8)
    path = tmp_path / "a.mp4"
    path.write_bytes(ops.encode_video(frames, 30, gop=10, preset="ultrafast").numpy())
    for _ in range(3):
        printed_by("-c", _DAEMON, str(path), str(min(2, len(os.sched_getaffinity(0)))))


def test_a_decoder_refuses_a_second_call_while_one_runs(clips: Clips) -> None:
    demuxer = nvc.CreateDemuxer(clips.path("h264.mp4"))
    decoder = nvc.CreateDecoder(backend="cpu")
    packets = [demuxer.Demux() for _ in range(2)]
    with decoder._guard.alone():
        for call in (decoder.GetFrame, lambda: decoder.Decode(packets[0])):
            with pytest.raises(nvc.PyNvVCException, match="this decoder is in use by another call"):
                call()
    decoder.Decode(packets[0])


def test_frames_come_to_who_gave_their_packet(
    clips: Clips, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread asks for frames at the moment when they are ready. They still go to the
    call that gave the packet. With latency LOW each packet gives its frame at once."""
    packets = list(nvc.CreateDemuxer(clips.path("h264_no_b.mp4")))[:10]
    decoder = nvc.CreateDecoder(backend="cpu", latency=nvc.DisplayDecodeLatencyType.LOW)
    send, stolen, refused = decoder._send, [], []

    def meddle() -> None:
        try:
            stolen.append(decoder.GetFrame())
        except nvc.PyNvVCException as error:
            refused.append(str(error))

    def send_while_another_asks(packet: nvc.PacketData) -> int:
        count = send(packet)
        thread = threading.Thread(target=meddle)
        thread.start()
        thread.join()
        return count

    monkeypatch.setattr(decoder, "_send", send_while_another_asks)
    for packet in packets:
        assert [frame.timestamp for frame in decoder.Decode(packet)] == [packet.pts]
    assert stolen == []
    assert len(refused) == len(packets)
    assert all("one thread at a time" in error for error in refused)


def _interrupted(work: Callable[[], object]) -> None:
    """Repeats `work` while a timer interrupts it 1500 times, at many different moments. The
    interrupts are like those of Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for i in range(1500):
            with contextlib.suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, (i % 40 + 1) * 1e-6)
                for _ in range(1000):  # Python ignores an interrupt in a destructor.
                    work()
    finally:
        signal.signal(signal.SIGALRM, before)


# pytest-timeout's default method uses SIGALRM, as this test does.
OWN_ALARM = pytest.mark.timeout(300, method="thread")


@OWN_ALARM
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("lock", [Guard("this").alone, Turns("this").turn])
def test_ctrl_c_leaves_nothing_locked(lock: Callable[[], Any]) -> None:
    def use() -> None:
        with lock():
            pass

    _interrupted(use)
    used = []
    thread = threading.Thread(target=lambda: (use(), used.append(True)))
    thread.start()
    thread.join(30)
    assert used


@OWN_ALARM
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_leaves_the_decoding_thread_its_lock() -> None:
    ahead = _Ahead(1)

    def put_and_take() -> None:
        ahead.items.clear()
        ahead.put(StopIteration())
        with contextlib.suppress(StopIteration):
            ahead.take(1)

    _interrupted(put_and_take)
    got: list[bool] = []
    thread = threading.Thread(target=lambda: got.append(ahead.lock.acquire(timeout=5)))
    thread.start()
    thread.join()
    assert got == [True]
