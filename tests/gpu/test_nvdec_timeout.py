"""With NVDEC, a call that has a timeout ends in time, and its sessions go back to the pool."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from gpu_checks import GPU, check_equal, on_cpu, on_gpu

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

Late = tf.errors.DeadlineExceededError
# It is indexed without decoding, in a small part of the time that decoding takes.
VIDEO = Path(__file__).parents[1] / "golden" / "media" / "bigbuckbunny_720p.mp4"
FRAMES = 132


@pytest.fixture(scope="module")
def video() -> bytes:
    return VIDEO.read_bytes()


def decode(contents: bytes, **options: Any) -> None:
    on_gpu(contents, size=(16, 16), **options)


def clips(contents: bytes, **options: Any) -> None:
    with tf.device(GPU):
        nvc.decode_clips(
            [contents], FRAMES, size=(16, 16), backend="nvdec", on_error="raise", **options
        )


def one_chunk(contents: bytes, **options: Any) -> None:
    """Each chunk has the time for itself, so there is one."""
    with tf.device(GPU):
        list(nvc.iter_video(contents, FRAMES, size=(16, 16), backend="nvdec", **options))


def sessions_taken() -> int:
    pool = nvc.decoder_pool()
    return pool.created + pool.reused


def wait_for_sessions() -> None:
    """A thread of an iterator may end a little after the call."""
    end = time.monotonic() + 10
    while nvc.decoder_pool().in_use and time.monotonic() < end:
        time.sleep(0.01)
    assert nvc.decoder_pool().in_use == 0


@pytest.mark.parametrize("call", [decode, clips, one_chunk])
def test_it_ends_in_time_and_gives_its_sessions_back(
    video: bytes, call: Callable[..., None]
) -> None:
    call(video)  # compiles kernels
    before = nvc.decoder_pool()
    # From a time in which the video is not opened to one in which it is decoded, in steps so small
    # that some calls are late between their first session and their last frame.
    seconds, late_with_sessions = 1e-5, 0
    while True:
        taken = sessions_taken()
        try:
            call(video, timeout=seconds)
            break
        except Late as error:
            assert "the time limit of" in error.message
            late_with_sessions += sessions_taken() > taken
        wait_for_sessions()
        seconds *= 1.2
    assert late_with_sessions
    assert nvc.decoder_pool().failed == before.failed
    got = on_gpu(video, pixel_format="native").frames.numpy()
    check_equal(got, on_cpu(video, pixel_format="native").frames.numpy(), "after a timeout")


def test_a_datasets_late_clips_are_skipped(tmp_path: Path) -> None:
    nvc.index_videos([str(VIDEO)], index_cache=tmp_path, progress=False)
    dataset = nvc.VideoDataset(
        [str(VIDEO)], FRAMES, backend="nvdec", timeout=1e-3, on_error="skip", index_cache=tmp_path
    )
    assert list(dataset) == []
    assert "decode: DEADLINE_EXCEEDED" in dataset.statistics().skipped
    wait_for_sessions()
