"""A call takes memory for the frames that it asks for, not for the whole clip. Many calls take no
more than one."""

from __future__ import annotations

import json

import pytest
from fork_server import printed_by
from golden_clips import Clips

SOUND = ["h264.mp4", "hevc.mkv", "vp9.webm", "av1.mp4", "mpeg2.ts", "mjpeg.avi"]
DAMAGED = ["broken_h264.mp4", "broken_av1.mp4", "audio_only.mp4", "broken_mpeg2.ts"]

_SCRIPT = """
import ctypes, json, sys
import tensorflow as tf
import tf_nvcodec as nvc

def status(field):
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return int(line.split()[1]) / 1024

def reset_peak():
    open("/proc/self/clear_refs", "w").write("5")
    return status("VmRSS")

def of_ranges(clip):
    options = {"pixel_format": "native", "num_threads": 2}
    nvc.decode_video(clip, 0, 16, **options)
    before = reset_peak()
    for start in range(0, 1500, 48):
        nvc.decode_video(clip, start, start + 16, **options)
    in_ranges = status("VmHWM") - before
    before = reset_peak()
    nvc.decode_video(clip, **options)
    return [in_ranges, status("VmHWM") - before]

def give_back():
    # malloc keeps freed memory. How much depends on the order in which the decoders' threads end.
    ctypes.CDLL(None).malloc_trim(0)

def decode(contents):
    try:
        nvc.decode_video(contents, size=(32, 32))
    except tf.errors.OpError:
        pass

def of_many(clips):
    states = []
    for count in (100, int(sys.argv[1])):
        for i in range(count):
            decode(clips[i % len(clips)])
        give_back()
        states.append(status("VmRSS"))
    return states

long, sound, damaged = ([tf.io.read_file(p) for p in part.split(",")] for part in sys.argv[2:])
print(json.dumps([of_ranges(long[0]), of_many(sound), of_many(damaged)]))
"""


@pytest.mark.serial
@pytest.mark.parametrize("count", [150, pytest.param(500, marks=pytest.mark.slow)])
def test_memory_is_bounded_and_steady(clips: Clips, count: int) -> None:
    names = (["long.mp4"], SOUND, DAMAGED)
    paths = [",".join(str(clips.path(name)) for name in part) for part in names]
    printed = printed_by("-c", _SCRIPT, count, *paths)
    (in_ranges, whole), *many = json.loads(printed.splitlines()[-1])
    # The clip has 1500 frames of 320x180, which take 124 MB. 16 of them take 1.3 MB.
    assert whole > 100, "this measure does not see a whole decode"
    assert in_ranges < 30
    for what, (before, after) in zip(("sound", "damaged"), many):
        assert after - before < 15, f"{what}: {count} decodes went from {before} to {after} MB"
