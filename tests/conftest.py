"""Fixtures and options of every Python test."""

from __future__ import annotations

import functools
import os
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
