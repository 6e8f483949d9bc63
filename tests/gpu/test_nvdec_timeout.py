"""With NVDEC, a call that has a timeout ends in time, and its sessions go back to the pool."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from gpu_checks import GPU, check_equal, on_cpu, on_gpu
from gpu_clips import data

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

Late = tf.errors.DeadlineExceededError
LONG = "h264_long_gop.h264"
TIMES = 100  # decoding takes a few hundred milliseconds


@pytest.fixture(scope="module")
def long() -> bytes:
    return data(LONG) * TIMES


def decode(contents: bytes, **options: Any) -> None:
    on_gpu(contents, size=(16, 16), **options)


def clips(contents: bytes, **options: Any) -> None:
    with tf.device(GPU):
        nvc.decode_clips(
            [contents], 1000, size=(16, 16), backend="nvdec", on_error="raise", **options
        )


def chunks(contents: bytes, **options: Any) -> None:
    with tf.device(GPU):
        for _ in nvc.iter_video(contents, 1000, size=(16, 16), backend="nvdec", **options):
            pass


def wait_for_sessions() -> None:
    """A thread of an iterator may end a little after the call."""
    end = time.monotonic() + 10
    while nvc.decoder_pool().in_use and time.monotonic() < end:
        time.sleep(0.01)
    assert nvc.decoder_pool().in_use == 0


@pytest.mark.alone  # Other work would change the times from one call to the next.
# A chunk has the time for itself, so that only the shortest is surely too short.
@pytest.mark.parametrize(("call", "least"), [(decode, 2), (clips, 2), (chunks, 1)])
def test_it_ends_in_time_and_gives_its_sessions_back(
    long: bytes, call: Callable[..., None], least: int
) -> None:
    call(long)  # opens sessions and compiles kernels
    begin = time.monotonic()
    nvc.probe(long)
    indexing = time.monotonic() - begin
    begin = time.monotonic()
    call(long)
    whole = time.monotonic() - begin
    before = nvc.decoder_pool()
    late = 0
    # From a time in which the video is not indexed to one in which it is almost decoded.
    for part in (1e-5, 0.2, 0.5, 0.9):
        seconds = part * indexing if part < 0.1 else indexing + part * (whole - indexing)
        try:
            call(long, timeout=seconds)
        except Late as error:
            late += 1
            assert "the time limit of" in error.message
    assert late >= least, (indexing, whole)
    wait_for_sessions()
    assert nvc.decoder_pool().failed == before.failed
    got = on_gpu(data(LONG), pixel_format="native").frames.numpy()
    check_equal(got, on_cpu(data(LONG), pixel_format="native").frames.numpy(), "after a timeout")
    call(long, timeout=600)


def test_a_datasets_late_clips_are_skipped(tmp_path: Path, long: bytes) -> None:
    path = tmp_path / "long.h264"
    path.write_bytes(long)
    nvc.index_videos([str(path)], index_cache=tmp_path, progress=False)
    dataset = nvc.VideoDataset(
        [str(path)], 1000, backend="nvdec", timeout=1e-3, on_error="skip", index_cache=tmp_path
    )
    assert list(dataset) == []
    assert "decode: DEADLINE_EXCEEDED" in dataset.statistics().skipped
    wait_for_sessions()
