"""Compares NVDEC's frames with those of the CPU."""

from __future__ import annotations

import contextlib
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# NVDEC needs GPU memory outside of TensorFlow's, so TensorFlow must not take all of it.
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")

import numpy as np
import numpy.typing as npt
import pytest
import tensorflow as tf
from cuda_arrays import free_memory
from gpu_clips import data

import tf_nvcodec as nvc

GPU = "/GPU:0"
# Every GPU whose NVDEC has the codec decodes these pixel formats. Some GPUs also decode 4:4:4, 10
# and 12 bits.
EVERYWHERE = {
    "h264": {"yuv420p", "yuvj420p"},
    "hevc": {"yuv420p"},
    "vp8": {"yuv420p"},
}


def codecs() -> set[str]:
    """Returns the codecs of the first GPU's NVDEC. is_available tells them in a text such as
    "NVIDIA H200: h264, hevc"."""
    _, reason = nvc.is_available("nvdec", reason=True)
    return set(re.findall(r"\w+", reason.rpartition(":")[2]))


def must_take(name: str) -> bool:
    info = nvc.probe(data(name))
    codec, pixel_format = info.codec.numpy().decode(), info.pixel_format.numpy().decode()
    large = min(int(info.width), int(info.height)) >= 144
    # FFmpeg calls H.264 without chroma yuv420p. NVDEC need not decode it.
    large = large and "gray" not in name
    return large and codec in codecs() and pixel_format in EVERYWHERE.get(codec, set())


def on_gpu(contents: bytes | tf.Tensor, *, backend: str = "nvdec", **options: Any) -> Any:
    """Calls decode_video on the GPU device, or decode_frames_at if there are `indices` or
    `timestamps`."""
    with tf.device(GPU):
        return _call(options)(contents, backend=backend, **options)


def on_cpu(contents: bytes | tf.Tensor, *, backend: str = "cpu", **options: Any) -> Any:
    with tf.device("/CPU:0"):
        return _call(options)(contents, backend=backend, **options)


def _call(options: dict[str, Any]) -> Callable[..., Any]:
    return nvc.decode_frames_at if {"indices", "timestamps"} & options.keys() else nvc.decode_video


def native(name: str, **options: object) -> nvc.DecodedVideo:
    """Returns NVDEC's frames of a clip in their own pixel format. Skips the test if the GPU refuses
    the clip, unless every GPU must take it."""
    try:
        return on_gpu(data(name), pixel_format="native", **options)
    except tf.errors.UnimplementedError as error:
        assert not must_take(name), f"{name} was refused: {error.message}"
        assert "backend=" in error.message
        pytest.skip(error.message[:200])


def taken(names: Iterable[str]) -> set[str]:
    """Returns the clips of which the GPU decodes a frame."""
    found = set()
    for name in names:
        with contextlib.suppress(tf.errors.UnimplementedError):
            if on_gpu(data(name), stop=1, pixel_format="native").frames.shape[0] == 1:
                found.add(name)
    return found


def check_equal(got: npt.NDArray[Any], want: npt.NDArray[Any], what: str) -> None:
    assert got.dtype == want.dtype, what
    assert got.shape == want.shape, f"{what}: {got.shape}, the CPU gives {want.shape}"
    wrong = [i for i in range(len(want)) if not np.array_equal(got[i], want[i])]
    assert not wrong, (
        f"{what}: {len(wrong)} of {len(want)} frames differ from the CPU's, the first ones at "
        f"{wrong[:10]}: {differences(got[wrong[0]], want[wrong[0]])}"
    )


def check_random_access(name: str, whole: npt.NDArray[Any]) -> None:
    """Frames by index and by time equal those of `whole` and have FFmpeg's times."""
    count, draw = len(whole), random.Random(name)
    times = on_cpu(data(name), indices=list(range(count)), size=(16, 16)).pts.numpy()
    for wanted in (
        [count - 1, 0, count // 2, 0],
        draw.choices(range(count), k=min(9, count)),
        [draw.randrange(count)],
    ):
        frames, pts = on_gpu(data(name), indices=wanted, pixel_format="native")
        check_equal(frames.numpy(), whole[wanted], f"{name} at {wanted}")
        np.testing.assert_array_equal(pts, times[wanted])
    if (np.diff(times) > 0).all():
        asked = draw.choices(range(count), k=min(9, count))
        frames, pts = on_gpu(data(name), timestamps=times[asked] + 1e-4, pixel_format="native")
        check_equal(frames.numpy(), whole[asked], f"{name} when {asked} are shown")
        np.testing.assert_array_equal(pts, times[asked])
    start, stride = draw.randrange(count), draw.randint(1, 4)
    part, _ = on_gpu(data(name), start=start, stride=stride, pixel_format="native")
    check_equal(part.numpy(), whole[start::stride], f"{name}[{start}::{stride}]")


def check_auto_is_ffmpegs(name: str, **options: object) -> None:
    """backend="auto" gives FFmpeg's frames bit for bit and does not use NVDEC."""
    pool = nvc.decoder_pool()
    options["pixel_format"] = "native"
    frames = on_gpu(data(name), backend="auto", **options).frames
    assert nvc.decoder_pool() == pool
    check_equal(frames.numpy(), on_cpu(data(name), **options).frames.numpy(), name)


def check_as_many(name: str) -> None:
    """NVDEC gives as many frames as FFmpeg, with the same times. Their content may differ."""
    frames, pts = native(name, on_error="repeat")
    want = on_cpu(data(name), pixel_format="native")
    assert frames.shape == want.frames.shape
    np.testing.assert_array_equal(pts, want.pts)


def differences(got: npt.NDArray[Any], want: npt.NDArray[Any]) -> str:
    off = np.abs(got.astype(np.float64) - want.astype(np.float64)).ravel()
    where = np.flatnonzero(off)
    return f"{len(where)} of {off.size} samples, up to {off.max()}, from {where[0]} on"


@contextlib.contextmanager
def nvdec_alone(but_for_parts: bool = False) -> Iterator[None]:
    """Fails if FFmpeg decodes a part again inside the block, which would hide NVDEC's frames; with
    `but_for_parts`, if it does not."""
    before = nvc.decoder_pool().decoded_again
    yield
    again = nvc.decoder_pool().decoded_again - before
    assert (again > 0) == but_for_parts, f"FFmpeg decoded {again} segments again"


def check_keeps_no_memory(call: Callable[[], object], most: int = 32 << 20) -> None:
    """Twenty calls must not take more than `most` bytes of the GPU's memory for good. Another
    process on the GPU may take memory meanwhile, so there are several attempts. If it frees memory,
    this hides a leak. The check is certain only on a GPU that no other process uses."""
    call()
    for _ in range(4):
        before = free_memory()
        for _ in range(20):
            call()
        taken = before - free_memory()
        if taken < most:
            return
    raise AssertionError(f"the last twenty calls kept {taken >> 20} MiB of the GPU's memory")
