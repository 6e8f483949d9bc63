"""examples/nvdec.py runs as it is written, in a process of its own."""

from __future__ import annotations

import re
from pathlib import Path

import gpu_clips
import pytest
from child_script import printed_by

pytestmark = pytest.mark.gpu

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "nvdec.py"


@pytest.mark.parametrize("backend", ["nvdec", "auto"])
def test_both_ways_train(backend: str) -> None:
    clip = str(gpu_clips.folder() / "h264_faststart.mp4")
    printed = printed_by(str(EXAMPLE), clip, clip, "--steps", "3", "--backend", backend)
    for way in ("tf.data decodes", "the step decodes"):
        assert re.search(rf"{way} +\d+\.\d clips/s, loss \d+\.\d{{4}}", printed)
    sessions = re.search(r"decoder sessions +(\d+) created, (\d+) reused, 0 failed", printed)
    assert sessions is not None, printed
    assert int(sessions[1]) > 0
    assert int(sessions[2]) > 0
