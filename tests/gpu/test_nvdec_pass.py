"""One pass over a video on NVDEC: iter_video on the GPU, and clips in order."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gpu_checks import GPU, check_equal, on_cpu
from gpu_clips import data, folder

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

EVERYTHING = slice(None)
NAMES = ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "vp9.webm"]


def chunks_of(device: str, source: Any, frames: int, **options: Any) -> list[Any]:
    with tf.device(device):
        return list(nvc.iter_video(source, frames, **options))


def check_chunks(chunks: list[Any], contents: bytes, chosen: slice = EVERYTHING) -> None:
    want = on_cpu(contents, pixel_format="native")
    got = np.concatenate([chunk.frames.numpy() for chunk in chunks])
    check_equal(got, want.frames.numpy()[chosen], "all chunks")
    pts = np.concatenate([chunk.pts.numpy() for chunk in chunks])
    np.testing.assert_array_equal(pts, want.pts.numpy()[chosen])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("frames", [1, 7, 64])
def test_chunks_are_the_cpus(name: str, frames: int) -> None:
    contents = data(name)
    chunks = chunks_of(GPU, contents, frames, pixel_format="native", backend="nvdec")
    assert all("GPU" in chunk.frames.device for chunk in chunks)
    assert all("CPU" in chunk.pts.device for chunk in chunks)
    check_chunks(chunks, contents)


def test_the_default_device_is_the_gpu() -> None:
    with nvc.iter_video(str(folder() / NAMES[0]), 8) as chunks:
        assert "GPU" in next(chunks).frames.device


def test_chunks_in_host_memory() -> None:
    contents = data(NAMES[1])
    options = {"pixel_format": "native", "backend": "nvdec", "start": 3, "stride": 2}
    chunks = chunks_of("/CPU:0", contents, 5, **options)
    assert all("CPU" in chunk.frames.device for chunk in chunks)
    check_chunks(chunks, contents, slice(3, None, 2))


def test_what_nvdec_cannot_take_goes_to_the_gpu_by_ffmpeg() -> None:
    contents = data("h264_yuv422p10le.mp4")
    chunks = chunks_of(GPU, contents, 8, pixel_format="native")
    assert all("GPU" in chunk.frames.device for chunk in chunks)
    check_chunks(chunks, contents)
    with pytest.raises(tf.errors.UnimplementedError):
        chunks_of(GPU, contents, 8, backend="nvdec")


def test_closing_early_gives_the_sessions_back() -> None:
    contents = data(NAMES[0])
    for _ in range(20):
        with tf.device(GPU), nvc.iter_video(contents, 4, backend="nvdec") as chunks:
            next(chunks)
        assert nvc.decoder_pool().in_use == 0
    with tf.device(GPU):
        chunks = nvc.iter_video(contents, 4, backend="nvdec")
        next(chunks)
        del chunks
    gc.collect()
    assert nvc.decoder_pool().in_use == 0


def test_many_iterators_at_once() -> None:
    contents = {name: data(name) for name in NAMES}

    def one(i: int) -> None:
        name = NAMES[i % len(NAMES)]
        chunks = chunks_of(GPU, contents[name], 3 + i, pixel_format="native", backend="nvdec")
        check_chunks(chunks, contents[name])

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(one, range(32)))


@pytest.mark.parametrize("name", ["broken_h264.mp4", "broken_hevc.mp4"])
def test_damage_is_the_cpus(name: str) -> None:
    contents = data(name)
    want = on_cpu(contents, on_error="skip", pixel_format="native")
    options = {"on_error": "skip", "pixel_format": "native"}
    chunks = chunks_of(GPU, contents, 6, **options)
    got = np.concatenate([chunk.frames.numpy() for chunk in chunks])
    check_equal(got, want.frames.numpy(), "the good frames")


@pytest.mark.parametrize("step", [3, 8])
def test_windows_are_the_cpus(step: int) -> None:
    def elements(backend: str) -> list[dict[str, np.ndarray]]:
        made = nvc.VideoDataset(
            [str(folder() / name) for name in NAMES],
            8,
            clip_step=step,
            pixel_format="native",
            backend=backend,
            index_cache=False,
        )
        return list(made.as_numpy_iterator())

    got, want = elements("nvdec"), elements("cpu")
    assert len(got) == len(want) > 10
    for ours, theirs in zip(got, want):
        check_equal(ours["frames"], theirs["frames"], str(theirs["filename"]))
        np.testing.assert_array_equal(ours["pts"], theirs["pts"])
