"""Libraries that bring an FFmpeg of their own, in the process of ours: before and after it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import child_script
import pytest
from golden_clips import Clips

_USE = {
    "av": """
with av.open(path) as container:
    assert len(list(container.decode(video=0))) == count
""",
    "cv2": """
capture = cv2.VideoCapture(path)
read = 0
while capture.read()[0]:
    read += 1
assert read == count
""",
    "decord": """
assert len(decord.VideoReader(path)) == count
""",
    "torchcodec": """
import torchcodec.decoders
assert len(torchcodec.decoders.VideoDecoder(path)) == count
""",
}
_OURS = """
import hashlib
import tensorflow as tf
import tf_nvcodec as nvc

def digest():
    frames = nvc.decode_video(open(path, "rb").read()).frames
    assert frames.shape[0] == count
    return hashlib.sha256(frames.numpy().tobytes()).hexdigest()
"""


@pytest.mark.slow
@pytest.mark.parametrize("first", ["ours", "theirs"])
@pytest.mark.parametrize("other", sorted(_USE))
def test_both_decode(other: str, first: str, clips: Clips, tmp_path: Path) -> None:
    if find_spec(other) is None:
        pytest.skip(f"{other} is not installed")
    path = clips.path("h264.mp4")
    theirs = f"import {other}\n{_USE[other]}"
    ours = f"{_OURS}\nprint(digest())\n"
    parts = [ours, theirs, "print(digest())\n"] if first == "ours" else [theirs, ours]
    alone, both = (tmp_path / name for name in ("alone.py", "both.py"))
    head = f"path, count = {str(path)!r}, 48\n"
    alone.write_text(head + ours)
    both.write_text(head + "\n".join(parts))
    (want,) = child_script.printed_by(alone).split()
    assert set(child_script.printed_by(both).split()) == {want}
