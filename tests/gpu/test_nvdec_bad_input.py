"""Does for NVDEC what tests/decode/test_bad_input.py does for the CPU. Any bytes give frames or an
error that names the cause. They never crash or hang the process, take a gigabyte, or break the
decoder for later calls."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import bad_bytes
import pytest
import untrusted
from gpu_checks import GPU, on_cpu, taken
from gpu_clips import data
from sandbox import Answer, Sandbox
from untrusted import CAUSES, Call, nothing_of_a_video

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.timeout(600)]

SMALL = {"size": (16, 16)}
CALLS: list[Call] = [
    ("decode", {**SMALL, "backend": "auto"}),
    ("decode", {**SMALL, "backend": "nvdec", "on_error": "repeat"}),
    ("frames_at", {**SMALL, "backend": "nvdec", "indices": [0, -1]}),
]
# A damaged header may ask for a stream that NVDEC does not decode.
ALLOWED = {*CAUSES, "UnimplementedError"}
MOST_SECONDS = 5.0  # Other tests may use the GPU at the same time.
GOOD = "h264.mp4"

# How many truncations and bit flips of each clip the tests try.
DAMAGED = {
    "h264.mp4": (60, 300),
    "h264.mkv": (20, 60),
    "h264.ts": (30, 60),
    "h264.flv": (10, 40),
    "h264.h264": (20, 100),
    "h264_fragmented.mp4": (10, 40),
    "h264_mbaff.mp4": (10, 60),
    "h264_paff.ts": (10, 60),
    "hevc.mp4": (40, 150),
    "hevc_open_gop.mkv": (20, 60),
    "hevc_yuv420p10le.mp4": (10, 60),
    "vp8.webm": (20, 60),
    "vp9_altref.webm": (20, 100),
    "vp9_yuv420p10le.webm": (10, 40),
}
LIES = {
    "h264.mp4": bad_bytes.lying_mp4,
    "h264.avi": bad_bytes.lying_avi,
    "h264.flv": bad_bytes.lying_flv,
    "vp9.webm": bad_bytes.lying_matroska,
    "vp9.ivf": bad_bytes.lying_ivf,
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    child = Sandbox(GPU)
    yield child
    child.close()


def run_all(sandbox: Sandbox, whole: bytes, cases: Iterable[tuple[str, bytes]]) -> list[Answer]:
    """Runs the cases in the sandbox. A first call decodes the whole clip, because the first call of
    a process loads libraries and compiles kernels, which takes time and memory."""
    assert not sandbox.run(whole, CALLS).crash
    native = {"pixel_format": "native"}
    want = on_cpu(data(GOOD), **native).frames.numpy()
    md5 = [hashlib.md5(frame.tobytes()).hexdigest() for frame in want]
    after = (data(GOOD), ("decode", {**native, "backend": "nvdec"}), md5)
    return untrusted.run_all(sandbox, cases, CALLS, after, ALLOWED, MOST_SECONDS)


@pytest.mark.parametrize("name", DAMAGED)
def test_truncated_and_bits_flipped(sandbox: Sandbox, name: str) -> None:
    if not taken([name]):
        pytest.skip(f"this GPU does not take {name}")
    whole, (cuts, flips) = data(name), DAMAGED[name]
    cases = [*bad_bytes.truncations(whole, cuts), *bad_bytes.bit_flips(whole, flips)]
    answers = run_all(sandbox, whole, cases)
    assert any(o["error"] for answer in answers for o in answer.outcomes)
    assert any(not o["error"] for answer in answers for o in answer.outcomes)


def test_nothing_of_a_video(sandbox: Sandbox) -> None:
    cases = [*nothing_of_a_video(), ("sound", data("audio_only.mp4"))]
    for answer in run_all(sandbox, data(GOOD), cases):
        assert all(outcome["error"] for outcome in answer.outcomes)
    assert all("no video" in outcome["message"] for outcome in answer.outcomes)


@pytest.mark.parametrize("name", LIES)
def test_lying_headers(sandbox: Sandbox, name: str) -> None:
    """NVDEC's side does not believe a wrong frame count, size or rate in a header either."""
    if not taken([name]):
        pytest.skip(f"this GPU does not take {name}")
    whole = data(name)
    true = on_cpu(whole, **SMALL).frames.shape[0]
    for answer in run_all(sandbox, whole, LIES[name](whole)):
        for outcome in answer.outcomes:
            if outcome["error"] is None and outcome["call"] == "decode":
                assert 0 < outcome["frames"] <= true
            assert all(abs(time) < float("inf") for time in outcome.get("pts", []))
