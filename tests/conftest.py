"""Fixtures and options of every Python test."""

from __future__ import annotations

import functools
import os
import signal
import sys
from pathlib import Path

# Shells start background jobs with Ctrl-C ignored, and so would be the commands under test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Several runs may share a GPU, and conversions have child processes.
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
sys.path.insert(0, str(Path(__file__).resolve().parent / "golden"))

import pytest
from clip_frames import ClipFrames, clip_frames, raw_frames
from make_clips import ensure_clips
from reference_frame import Frame


class Clips:
    """The golden clips, made on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        return self.folder / name

    def data(self, name: str) -> bytes:
        return self.path(name).read_bytes()

    def frames(self, name: str) -> ClipFrames:
        return clip_frames(self.path(name))

    def raw(self, name: str, count: int | None = None) -> list[bytes]:
        return raw_frames(self.path(name), count)

    def reference(self, name: str, count: int, **shown: object) -> list[Frame]:
        """The first frames, for comparisons with the float64 reference; `shown` are Frame's
        space, colour_range and rotation."""
        golden = self.frames(name)
        return [
            Frame(data, golden.pixel_format, golden.width, golden.height, **shown)
            for data in self.raw(name, count)
        ]


@pytest.fixture(scope="session")
def clips() -> Clips:
    return Clips(ensure_clips())


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") is None:
        return
    converts = Path(__file__).resolve().parent / "converters" in item.path.parents
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
