"""NVDEC's frames are bit for bit FFmpeg's, whole clips and any part of them."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tensorflow as tf
from gpu_checks import check_equal, codecs, must_take, nvdec_alone, on_cpu, on_gpu
from gpu_clips import SOUND, data

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

# Frames of them refer to what was cut off or lost, and each decoder makes that up in its own way.
MADE_UP = {"hevc_cut_start.ts", "h264_lost_packets.mkv"}
EXACT = [name for name in SOUND if name not in MADE_UP]


def native(name: str, **options: object) -> nvc.DecodedVideo:
    """Skips where the GPU does not take the clip, and may not take it."""
    try:
        return on_gpu(data(name), pixel_format="native", **options)
    except tf.errors.UnimplementedError as error:
        assert not must_take(name), f"{name} was refused: {error.message}"
        assert "backend=" in error.message
        pytest.skip(error.message[:200])


@pytest.mark.parametrize("name", EXACT)
def test_whole_clip(name: str) -> None:
    with nvdec_alone():
        frames, pts = native(name)
    want = on_cpu(data(name), pixel_format="native")
    check_equal(frames.numpy(), want.frames.numpy(), name)
    np.testing.assert_array_equal(pts, want.pts)


@pytest.mark.parametrize("name", sorted(MADE_UP))
def test_made_up_frames_are_as_many(name: str) -> None:
    frames, pts = native(name, on_error="repeat")
    want = on_cpu(data(name), pixel_format="native")
    assert frames.shape == want.frames.shape
    np.testing.assert_array_equal(pts, want.pts)


@pytest.mark.parametrize("name", EXACT)
def test_random_access_equals_sequential(name: str) -> None:
    whole = on_cpu(data(name), pixel_format="native").frames.numpy()
    count, draw = len(whole), random.Random(name)
    native(name, stop=1)
    for wanted in (
        [count - 1, 0, count // 2, 0],
        draw.choices(range(count), k=min(9, count)),
        [draw.randrange(count)],
    ):
        frames, _ = on_gpu(data(name), indices=wanted, pixel_format="native")
        check_equal(frames.numpy(), whole[wanted], f"{name} at {wanted}")
    start, stride = draw.randrange(count), draw.randint(1, 4)
    part, _ = on_gpu(data(name), start=start, stride=stride, pixel_format="native")
    check_equal(part.numpy(), whole[start::stride], f"{name}[{start}::{stride}]")


def test_the_codecs_that_the_gpu_has_were_decoded() -> None:
    """The clips above are skipped where a GPU may refuse them; not all of a codec's are."""
    for codec in codecs() & {"h264", "hevc", "vp8", "vp9"}:
        taken = 0
        for name in EXACT:
            if not name.startswith(codec):
                continue
            try:
                taken += on_gpu(data(name), stop=1, pixel_format="native").frames.shape[0]
            except tf.errors.UnimplementedError:
                continue
        assert taken > 0, codec


def test_frames_of_another_size_need_a_size() -> None:
    """The stream changes its size after frame 47."""
    contents = data("size_change.h264")
    with pytest.raises(tf.errors.InvalidArgumentError, match="size"):
        on_gpu(contents)
    with nvdec_alone():
        whole = on_gpu(contents, size=(96, 128)).frames.numpy()
    want = on_cpu(contents, size=(96, 128)).frames.numpy()
    assert whole.shape == want.shape
    assert np.abs(whole.astype(int) - want.astype(int)).max() <= 1


@pytest.mark.parametrize("num_threads", [1, 2, 0])
def test_sessions_side_by_side_change_nothing(num_threads: int) -> None:
    contents = data("h264_open_gop.mp4")
    frames, _ = on_gpu(contents, pixel_format="native", num_threads=num_threads)
    want = on_cpu(contents, pixel_format="native").frames.numpy()
    check_equal(frames.numpy(), want, f"{num_threads} sessions")


def test_an_empty_range_has_a_frames_shape() -> None:
    frames, pts = on_gpu(data("h264.mp4"), start=5, stop=5)
    assert frames.shape == (0, 288, 480, 3)
    assert pts.shape == (0,)
