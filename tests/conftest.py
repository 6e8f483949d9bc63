"""Fixtures and options of every Python test."""

from __future__ import annotations

import functools
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from golden_clips import Clips
from make_clips import ensure_clips

TESTS = Path(__file__).resolve().parent

# A shell starts background jobs with SIGINT ignored. The commands under test would inherit this,
# and the tests of Ctrl-C would fail.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Several processes share a GPU: other tests, and the children of conversions. So TensorFlow must
# not take all of its memory.
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")


# The library's words where an encoder of an LGPL build is asked for what x264 or x265 can do.
_WITHOUT_X264 = re.compile(
    r"this build encodes H\.264 with OpenH264|without the encoder libx26[45]"
    r"|codec h264 \(libopenh264\) has no [^\n]*"
    r"|codec h264 can.{1,2}t store [^\n;]*; it can store: yuv420p(?!,)"
)


@pytest.fixture(scope="session")
def clips() -> Clips:
    return Clips(ensure_clips())


@pytest.fixture(autouse=True)
def no_seed_is_left() -> Iterator[None]:
    """Clears TensorFlow's seed if a test sets it. Random datasets of later tests would use it."""
    yield
    context = sys.modules.get("tensorflow.python.eager.context")
    if context is not None and context.global_seed() is not None:
        sys.modules["tensorflow"].random.set_seed(None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """Skips what only x264 or x265 can do, in builds that say that they are without it."""
    report = (yield).get_result()
    if not report.failed or "openh264" in item.path.name or "libx265" in _encoders():
        return
    said = _WITHOUT_X264.search(f"{call.excinfo.value}\n{report.capstderr}")
    if said:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Skipped: needs x264 or x265: {said[0]}")


@functools.cache
def _encoders() -> list[str]:
    import tf_nvcodec as nvc

    return nvc.build_info()["ffmpeg"]["encoders"].split(",")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") is None:
        return
    converts = TESTS / "converters" in item.path.parents
    what = "that TF-TRT can use" if converts else "that decodes"
    reason = _no_tftrt() if converts else _no_nvdec()
    if reason is None:
        return
    if os.environ.get("TF_NVCODEC_REQUIRE_GPU") == "1":
        pytest.fail(f"TF_NVCODEC_REQUIRE_GPU=1 asks for a GPU {what}: {reason}")
    pytest.skip(f"no GPU {what}: {reason}")


def _no_nvdec() -> str | None:
    import tf_nvcodec as nvc

    available, reason = nvc.is_available("nvdec", reason=True)
    return None if available else reason


@functools.cache
def _no_tftrt() -> str | None:
    from converters.environment.tftrt_ready import require_tftrt
    from converters.util.errors import UnavailableError

    try:
        require_tftrt()
    except UnavailableError as error:
        return str(error)
    return None
