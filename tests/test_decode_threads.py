"""The number of threads changes the time, never a frame."""

from __future__ import annotations

import concurrent.futures

import pytest
import tensorflow as tf
from clip_table import SOUND
from conftest import Clips
from frame_checks import check_frames

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


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_damage_is_found_by_any_number(clips: Clips, threads: int) -> None:
    data = clips.data("broken_h264.mp4")
    options = {"on_error": "repeat", "return_valid": True, "pixel_format": "native"}
    one = nvc.decode_video(data, num_threads=1, **options)
    other = nvc.decode_video(data, num_threads=threads, **options)
    assert one.valid.numpy().tolist() == other.valid.numpy().tolist()
    assert (one.frames.numpy() == other.frames.numpy()).all()
