"""An op decodes on the GPU that it is placed on. The tests need two GPUs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gpu_checks
import numpy as np
import pytest
import tensorflow as tf
from gpu_checks import check_equal, on_cpu
from gpu_clips import data

import tf_nvcodec as nvc
from tf_nvcodec import compat

pytestmark = [pytest.mark.gpu, pytest.mark.alone]

CLIP = "h264_open_gop.mp4"


@pytest.fixture(autouse=True)
def gpus() -> list[str]:
    found = [device.name for device in tf.config.list_logical_devices("GPU")]
    if len(found) < 2:
        pytest.skip(f"TensorFlow has {len(found)} GPU here")
    return found


def decode(gpu: str, contents: bytes, **options: object) -> tf.Tensor:
    with tf.device(gpu):
        return nvc.decode_video(contents, backend="nvdec", **options).frames


def test_frames_are_on_the_gpu_of_the_op(gpus: list[str]) -> None:
    want = on_cpu(data(CLIP), pixel_format="native").frames.numpy()
    for gpu in gpus:
        with gpu_checks.nvdec_alone():
            frames = decode(gpu, data(CLIP), pixel_format="native")
        assert frames.backing_device.endswith(gpu.rpartition("device:")[2])
        check_equal(frames.numpy(), want, gpu)


def test_all_at_once(gpus: list[str]) -> None:
    names = [CLIP, "h264.mp4", "hevc.mp4"]
    want = {name: on_cpu(data(name), pixel_format="native").frames.numpy() for name in names}

    def work(i: int) -> None:
        name, gpu = names[i % len(names)], gpus[i % len(gpus)]
        got = decode(gpu, data(name), pixel_format="native")
        assert got.backing_device.endswith(gpu.rpartition("device:")[2])
        check_equal(got.numpy(), want[name], f"{name} on {gpu}")

    with ThreadPoolExecutor(4 * len(gpus)) as threads:
        list(threads.map(work, range(24 * len(gpus))))
    assert nvc.decoder_pool().in_use == 0


class Nameless:
    """Does not say which GPU its memory is on, like Numba's arrays."""

    def __init__(self, tensor: tf.Tensor) -> None:
        self.owner = nvc.DeviceFrames(tensor)
        self.__cuda_array_interface__ = self.owner.__cuda_array_interface__


def test_memory_of_another_gpu_than_the_first_is_told(gpus: list[str]) -> None:
    tensors = []
    for gpu in gpus[:2]:
        with tf.device(gpu):
            tensors.append(tf.identity(tf.range(1000.0)))
    np.testing.assert_array_equal(nvc.from_dlpack(Nameless(tensors[0])), tensors[0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"memory is on GPU 1, not on GPU 0"):
        nvc.from_dlpack(Nameless(tensors[1]))


def test_in_a_graph_of_both(gpus: list[str]) -> None:
    @tf.function
    def means(contents: tf.Tensor) -> list[tf.Tensor]:
        found = []
        for gpu in gpus:
            with tf.device(gpu):
                frames = nvc.decode_video(contents, size=(64, 64), dtype=tf.float32).frames
                found.append(tf.reduce_mean(frames, [1, 2, 3]))
        return found

    want = on_cpu(data(CLIP), size=(64, 64), dtype=tf.float32).frames.numpy().mean((1, 2, 3))
    for got in means(tf.constant(data(CLIP))):
        np.testing.assert_allclose(got, want, atol=1e-4)


def test_memory_is_shared_where_it_is(gpus: list[str]) -> None:
    for number, gpu in enumerate(gpus):
        frames = decode(gpu, data(CLIP), stop=2)
        shared = nvc.DeviceFrames(frames)
        assert shared.__dlpack_device__() == (2, number)
        again = nvc.from_dlpack(shared)
        assert again.backing_device == frames.backing_device
        np.testing.assert_array_equal(again, frames)


def test_frames_of_each_gpu_are_encoded(gpus: list[str]) -> None:
    draw = np.random.default_rng(0)
    frames = [draw.integers(0, 256, (96, 64), dtype=np.uint8) for _ in range(6)]

    def encode(given: list[Any]) -> bytes:
        encoder = compat.CreateEncoder(64, 64, "NV12", False)
        return b"".join([*map(encoder.Encode, given), encoder.EndEncode()])

    tensors = []
    for i, frame in enumerate(frames):
        with tf.device(gpus[i % len(gpus)]):
            tensors.append(tf.constant(frame))
    assert len({tensor.backing_device for tensor in tensors}) == len(gpus)
    assert encode(tensors) == encode(frames)
