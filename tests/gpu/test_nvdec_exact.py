"""NVDEC's frames equal FFmpeg's bit for bit, in whole clips and in any part."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from gpu_checks import (
    check_as_many,
    check_equal,
    check_random_access,
    codecs,
    native,
    nvdec_alone,
    on_cpu,
    on_gpu,
    taken,
)
from gpu_clips import CODECS, SOUND, data

pytestmark = pytest.mark.gpu

# Frames of this clip refer to pictures that were lost. NVDEC and FFmpeg each replace those in their
# own way.
MADE_UP = {"h264_lost_packets.mkv"}
EXACT = [name for name in SOUND if name not in MADE_UP]
# FFmpeg decodes parts of these again: HEVC pictures refer to some that were cut off, and where two
# transport streams are joined, packets are marked as damaged.
AGAIN = {"hevc_cut_start.ts", "h264_joined.ts"}


@pytest.mark.parametrize("name", EXACT)
def test_whole_clip(name: str) -> None:
    with nvdec_alone(but_for_parts=name in AGAIN):
        frames, pts = native(name)
    want = on_cpu(data(name), pixel_format="native")
    check_equal(frames.numpy(), want.frames.numpy(), name)
    np.testing.assert_array_equal(pts, want.pts)


@pytest.mark.parametrize("name", sorted(MADE_UP))
def test_made_up_frames_are_as_many(name: str) -> None:
    check_as_many(name)


@pytest.mark.parametrize("name", EXACT)
def test_random_access_equals_sequential(name: str) -> None:
    whole = on_cpu(data(name), pixel_format="native").frames.numpy()
    native(name, stop=1)
    check_random_access(name, whole)


def test_the_codecs_that_the_gpu_has_were_decoded() -> None:
    """A GPU may refuse some clips, which are skipped above, but not all clips of a codec."""
    for codec in codecs() & set(CODECS):
        assert taken(name for name in EXACT if name.startswith(codec)), codec


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
