"""Untrusted bytes give frames, or an error that names the cause. They never crash or hang the
process, take a gigabyte, or open a file. The cases run in a child process (sandbox.py)."""

from __future__ import annotations

import ctypes
import http.server
import os
import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import bad_bytes
import pytest
import untrusted
from golden_clips import Clips
from sandbox import Answer, Sandbox
from untrusted import MOST_SECONDS, complaints, nothing_of_a_video

SMALL = {"size": (16, 16)}
CALLS: list[untrusted.Call] = [
    ("probe", {}),
    ("decode", SMALL),
    ("decode", {**SMALL, "on_error": "repeat"}),
    ("frames_at", {**SMALL, "indices": [0, -1]}),
]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    child = Sandbox()
    yield child
    child.close()


def run_all(sandbox: Sandbox, clips: Clips, cases: Iterable[tuple[str, bytes]]) -> list[Answer]:
    native = ("decode", {"pixel_format": "native"})
    after = (clips.data("h264.mp4"), native, clips.frames("h264.mp4").md5)
    return untrusted.run_all(sandbox, cases, CALLS, after)


# How many truncations and bit flips of each clip the slow tests try.
DAMAGED = {
    "h264.mp4": (20, 500),
    "h264_faststart.mp4": (200, 100),
    "h264.mkv": (50, 150),
    "h264_fragmented.mp4": (30, 100),
    "h264.avi": (50, 150),
    "h264.ts": (50, 100),
    "h264.flv": (30, 100),
    "h264.h264": (30, 100),
    "hevc.mp4": (40, 100),
    "hevc_open_gop.mkv": (20, 60),
    "av1.obu": (40, 100),
    "av1.ivf": (20, 60),
    "vp8.webm": (20, 60),
    "vp9_altref.webm": (30, 100),
    "mpeg2.ts": (30, 60),
    "mpeg4_packed_b.avi": (30, 60),
    "mjpeg.avi": (20, 60),
    "ffv1_yuv420p.mkv": (20, 60),
    "h264_gray.mp4": (10, 40),
}
HEADERS_LAST = {"h264.mp4", "hevc.mp4", "h264_gray.mp4"}
QUICK = 12


def quick_and_all(kind: int) -> pytest.MarkDecorator:
    """Parametrizes a test by clip: a quick test with a few cases, and a slow one with all."""
    few = [(name, QUICK) for name in DAMAGED]
    every = [pytest.param(name, DAMAGED[name][kind], marks=pytest.mark.slow) for name in DAMAGED]
    return pytest.mark.parametrize(("name", "count"), [*few, *every])


@quick_and_all(0)
def test_truncated(sandbox: Sandbox, clips: Clips, name: str, count: int) -> None:
    cases = bad_bytes.truncations(clips.data(name), count)
    answers = run_all(sandbox, clips, cases)
    # A file without its headers is an error. A file that lacks only its end gives frames, unless
    # the headers are there.
    assert all(outcome["error"] for outcome in answers[0].outcomes)
    gave = any(not outcome["error"] for answer in answers[-10:] for outcome in answer.outcomes)
    assert gave == (name not in HEADERS_LAST)


@quick_and_all(1)
def test_bits_flipped(sandbox: Sandbox, clips: Clips, name: str, count: int) -> None:
    run_all(sandbox, clips, bad_bytes.bit_flips(clips.data(name), count))


def test_empty_and_random_bytes(sandbox: Sandbox, clips: Clips) -> None:
    for answer in run_all(sandbox, clips, nothing_of_a_video()):
        assert all(outcome["error"] for outcome in answer.outcomes)


def test_no_video(sandbox: Sandbox, clips: Clips) -> None:
    (answer,) = run_all(sandbox, clips, [("audio", clips.data("audio_only.mp4"))])
    for outcome in answer.outcomes:
        assert outcome["error"] == "InvalidArgumentError"
        assert "no video" in outcome["message"]


@pytest.mark.parametrize(
    ("name", "lies"),
    [
        ("h264.mp4", bad_bytes.lying_mp4),
        ("mpeg4.avi", bad_bytes.lying_avi),
        ("h264.avi", bad_bytes.lying_avi),
        ("vp9.webm", bad_bytes.lying_matroska),
        ("av1.ivf", bad_bytes.lying_ivf),
        ("h264.flv", bad_bytes.lying_flv),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_lying_headers(sandbox: Sandbox, clips: Clips, name: str, lies: Any) -> None:
    """The decoder does not believe a wrong frame count, size or rate in a header."""
    true = len(clips.frames(name))
    answers = run_all(sandbox, clips, lies(clips.data(name)))
    for answer in answers:
        counts = {
            o["frames"]
            for o in answer.outcomes
            if o["call"] in ("probe", "decode") and "frames" in o
        }
        assert all(0 < count <= true for count in counts)
        for outcome in answer.outcomes:
            assert all(abs(time) < float("inf") for time in outcome.get("pts", []))


def test_limits_stop_a_bomb(sandbox: Sandbox, clips: Clips) -> None:
    """The clip is good, but needs more than the caller's limits allow."""
    data = clips.data("bbb.mp4")
    native = {"pixel_format": "native"}
    for options, word in (
        ({"max_pixels": 1280 * 720 - 1}, "max_pixels"),
        ({"max_frames": 131}, "max_frames"),
        ({"max_bytes": 132 * 1280 * 720 - 1, **native}, "max_bytes"),
    ):
        answer = sandbox.run(data, [("decode", options)])
        assert not complaints(str(options), answer)
        assert answer.outcomes[0]["error"] == "ResourceExhaustedError", answer.outcomes
        assert word in answer.outcomes[0]["message"]
        assert answer.outcomes[0]["seconds"] < MOST_SECONDS
        assert answer.grown_mb < 100
    limits = {"max_pixels": 1280 * 720, "max_frames": 132, "max_bytes": 132 * 1280 * 720 * 3 // 2}
    answer = sandbox.run(data, [("decode", {**limits, **native})])
    assert answer.outcomes[0]["md5"] == clips.frames("bbb.mp4").md5


class Opened:
    """Counts the times a file is opened, through inotify."""

    _IN_OPEN = 0x20

    def __init__(self, path: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_NONBLOCK)
        if self._fd < 0 or libc.inotify_add_watch(self._fd, bytes(path), self._IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), "inotify")

    def count(self) -> int:
        try:
            return len(os.read(self._fd, 4096)) // 16
        except BlockingIOError:
            return 0


class Hits(http.server.BaseHTTPRequestHandler):
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:  # noqa: N802 - http.server's name
        self.seen.append(self.path)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


def test_playlists_open_nothing(sandbox: Sandbox, clips: Clips, tmp_path: Path) -> None:
    bait = tmp_path / "bait.mp4"
    shutil.copy(clips.path("h264.mp4"), bait)
    opened = Opened(bait)
    bait.read_bytes()
    assert opened.count() > 0, "this watch sees nothing"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hits)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/bait.mp4"
        for answer in run_all(sandbox, clips, bad_bytes.playlists(str(bait), url)):
            for outcome in answer.outcomes:
                assert outcome["error"] == "InvalidArgumentError", outcome
    finally:
        server.shutdown()
        server.server_close()
    assert opened.count() == 0
    assert Hits.seen == []
