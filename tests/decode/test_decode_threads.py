"""The number of threads changes the time, never a frame."""

from __future__ import annotations

import concurrent.futures

import numpy as np
import pytest
import tensorflow as tf
from clip_table import SOUND
from frame_checks import check_frames
from golden_clips import Clips

import tf_nvcodec as nvc


@pytest.mark.parametrize("name", SOUND)
def test_results_are_equal(clips: Clips, name: str) -> None:
    data, golden = tf.constant(clips.data(name)), clips.frames(name)
    chosen = list(range(len(golden)))[1::3] or [0]
    for threads in (1, 2, 8):
        what = f"{name}, num_threads={threads}"
        frames, _ = nvc.decode_video(data, pixel_format="native", num_threads=threads)
        check_frames(frames.numpy(), golden.md5, what)
        options = {"pixel_format": "native", "num_threads": threads}
        frames, _ = nvc.decode_frames_at(data, chosen, **options)
        check_frames(frames.numpy(), [golden.md5[i] for i in chosen], what)


def test_many_callers_at_once(clips: Clips) -> None:
    names = ["h264.mp4", "hevc.mp4", "av1.mp4", "vp9.webm", "mpeg2.ts", "h264_long_gop.mp4"] * 8
    data = {name: clips.data(name) for name in names}

    def decode(name: str) -> None:
        frames, _ = nvc.decode_video(data[name], pixel_format="native")
        check_frames(frames.numpy(), clips.frames(name).md5, name)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(decode, name) for name in names]:
            done.result()


@pytest.mark.parametrize("threads", [0, 2, 8])
@pytest.mark.parametrize("name", ["broken_h264.mp4", "broken_h264.ts", "broken_mpeg2.ts"])
def test_damage_is_found_by_any_number(clips: Clips, name: str, threads: int) -> None:
    """All frames together, and each of them beside a good one."""
    data = tf.constant(clips.data(name))
    options = {"on_error": "repeat", "return_valid": True, "pixel_format": "native"}
    one = nvc.decode_video(data, num_threads=1, **options)
    other = nvc.decode_video(data, num_threads=threads, **options)
    np.testing.assert_array_equal(one.valid, other.valid)
    np.testing.assert_array_equal(one.frames, other.frames)
    valid = one.valid.numpy()
    assert valid[0]
    for _ in range(3):
        alone = [
            nvc.decode_frames_at(data, [0, i], num_threads=threads, **options).valid.numpy()[1]
            for i in range(len(valid))
        ]
        assert alone == valid.tolist()
