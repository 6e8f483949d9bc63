"""The GPU still works after thousands of decodes, even if many of them failed."""

from __future__ import annotations

import contextlib
import gc
import time
from concurrent.futures import ThreadPoolExecutor

import bad_bytes
import numpy as np
import pytest
import tensorflow as tf
from cuda_arrays import free_memory
from gpu_checks import check_equal, on_cpu, on_gpu
from gpu_clips import data
from resident import resident_bytes

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

GOOD = ("h264.mp4", "hevc.mp4")
DECODES = 10_000
SECONDS = 60
THREADS = 8


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ten_thousand_decodes_take_no_more_memory() -> None:
    """The test measures the memory of the host and that of the GPU. The driver counts the latter,
    because NVDEC's surfaces are not in TensorFlow's pool."""
    contents = [tf.constant(data(name)) for name in GOOD]

    def decode(i: int) -> None:
        on_gpu(contents[i % 2], indices=[i % 3], size=(32, 32), num_threads=1)

    with ThreadPoolExecutor(THREADS) as threads:

        def run(first: int, last: int) -> None:
            for done in [threads.submit(decode, i) for i in range(first, last)]:
                done.result()

        # The first calls fill TensorFlow's pool and malloc's arenas, and open the sessions.
        run(0, 1000)
        gc.collect()
        before, host, device = nvc.decoder_pool(), resident_bytes(), free_memory()
        began, count = time.monotonic(), 1000
        while count < DECODES and time.monotonic() - began < SECONDS:
            run(count, count + 500)
            count += 500
    gc.collect()
    after = nvc.decoder_pool()
    assert after.in_use == 0
    assert after.failed == before.failed
    assert after.created - before.created <= 2 * THREADS
    assert after.idle <= before.idle + 2
    assert device - free_memory() < 64 << 20
    assert resident_bytes() - host < 100 << 20
    if count < DECODES:
        pytest.fail(f"only {count} decodes in {SECONDS} s")


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("backend", ["auto", "nvdec"])
def test_failed_streams_between_good_ones(name: str, backend: str) -> None:
    """A session that failed is never used for the next stream."""
    whole = data(name)
    want = on_cpu(whole, pixel_format="native").frames.numpy()
    bad = [
        *bad_bytes.truncations(whole, 10),
        *bad_bytes.bit_flips(whole, 30),
        ("zeros in the middle", whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2)),
    ]
    failures = 0
    for what, contents in bad:
        try:
            on_gpu(contents, backend=backend, pixel_format="native")
        except tf.errors.OpError as error:
            assert not isinstance(error, tf.errors.InternalError), f"{what}: {error}"
            failures += 1
        got = on_gpu(whole, pixel_format="native").frames.numpy()
        check_equal(got, want, f"after {what}")
    assert failures > 0
    assert nvc.decoder_pool().in_use == 0


def test_failed_streams_beside_good_ones() -> None:
    """Eight threads decode at once. Every third stream is bad."""
    wholes = {name: data(name) for name in GOOD}
    want = {
        name: on_cpu(whole, pixel_format="native").frames.numpy() for name, whole in wholes.items()
    }

    def work(i: int) -> None:
        name = GOOD[i % 2]
        if i % 3 == 0:
            cut = wholes[name][: len(wholes[name]) * (i % 7 + 1) // 9]
            with contextlib.suppress(tf.errors.InvalidArgumentError, tf.errors.DataLossError):
                on_gpu(cut, backend="auto", pixel_format="native")
            return
        got = on_gpu(wholes[name], pixel_format="native").frames.numpy()
        check_equal(got, want[name], f"{name}, stream {i}")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(120)))


def test_a_dataset_goes_on_after_a_bad_file(tmp_path: object) -> None:
    folder = str(tmp_path)
    whole = data("h264.mp4")
    names = [f"{folder}/{i}.mp4" for i in range(4)]
    for i, name in enumerate(names):
        with open(name, "wb") as file:
            file.write(whole if i != 1 else whole[: len(whole) // 2])
    dataset = nvc.VideoDataset(
        names, clip_length=4, backend="nvdec", on_error="skip", size=(32, 48)
    )
    seen = {int(clip["video_index"]) for clip in dataset}
    assert {0, 2, 3} <= seen
    want = on_cpu(whole, stop=4, size=(32, 48)).frames.numpy().astype(np.int32)
    for clip in dataset:
        if int(clip["video_index"]) in (0, 2, 3) and int(clip["clip_index"]) == 0:
            assert np.abs(clip["frames"].numpy().astype(np.int32) - want).max() <= 1
