"""Memory: bounded by the frames asked for, and steady over many calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from golden_clips import Clips

import tf_nvcodec as nvc

_COMMON = """
import json, sys
import tensorflow as tf
import tf_nvcodec as nvc

def status(field):
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return int(line.split()[1]) / 1024

def reset_peak():
    open("/proc/self/clear_refs", "w").write("5")
    return status("VmRSS")

clips = [tf.io.read_file(path) for path in sys.argv[1:]]
"""

_RANGES = """
options = {"pixel_format": "native", "num_threads": 2}
nvc.decode_video(clips[0], 0, 16, **options)
before = reset_peak()
for start in range(0, 1500, 16):
    nvc.decode_video(clips[0], start, start + 16, **options)
in_ranges = status("VmHWM") - before
before = reset_peak()
nvc.decode_video(clips[0], **options)
print(json.dumps([in_ranges, status("VmHWM") - before]))
"""

_STEADY = """
import ctypes

def give_back():
    # What malloc keeps: how much varies with the order in which decoders' threads free it.
    ctypes.CDLL(None).malloc_trim(0)

def decode(contents):
    try:
        nvc.decode_video(contents, size=(32, 32))
    except tf.errors.OpError:
        pass

for i in range(100):
    decode(clips[i % len(clips)])
give_back()
before = status("VmRSS")
for i in range(500):
    decode(clips[i % len(clips)])
give_back()
print(json.dumps([before, status("VmRSS")]))
"""


def run(script: str, paths: list[Path]) -> list[float]:
    package = str(Path(nvc.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", _COMMON + script, *map(str, paths)],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": package, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_ranges_of_a_long_clip(clips: Clips) -> None:
    """1500 frames of 320x180 are 124 MB; 16 of them are 1.3 MB."""
    in_ranges, whole = run(_RANGES, [clips.path("long.mp4")])
    assert whole > 100, "a whole decode must show in this measure"
    assert in_ranges < 30


@pytest.mark.parametrize(
    "names",
    [
        ["h264.mp4", "hevc.mkv", "vp9.webm", "av1.mp4", "mpeg2.ts", "mjpeg.avi"],
        ["broken_h264.mp4", "broken_av1.mp4", "audio_only.mp4", "broken_mpeg2.ts"],
    ],
    ids=["sound", "damaged"],
)
def test_many_decodes_keep_the_size(clips: Clips, names: list[str]) -> None:
    before, after = run(_STEADY, [clips.path(name) for name in names])
    assert after - before < 15, f"500 decodes went from {before:.0f} to {after:.0f} MB"
