"""from_dlpack and DeviceFrames on a GPU share memory and keep the order of the streams."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from cuda_arrays import CudaArray, Stream, pause
from gpu_checks import GPU, on_cpu, on_gpu
from gpu_clips import data

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu


def busy(seed: int) -> tf.Tensor:
    """Returns a matrix that the GPU takes some time to compute."""
    with tf.device(GPU):
        matrix = tf.random.stateless_uniform((4096, 4096), (seed, 1))
        for _ in range(8):
            matrix = tf.matmul(matrix, matrix)
            matrix /= tf.reduce_max(matrix)
        return matrix


def address(tensor: tf.Tensor) -> int:
    return int(nvc.DeviceFrames(tensor).__cuda_array_interface__["data"][0])


def test_there_and_back_is_the_same_memory() -> None:
    with tf.device(GPU):
        frames = tf.random.stateless_uniform((4, 32, 48, 3), (1, 2), 0, 256, tf.int32)
        frames = tf.cast(frames, tf.uint8)
    shared = nvc.DeviceFrames(frames)
    assert shared.__dlpack_device__() == (2, 0)
    again = nvc.from_dlpack(shared)
    assert again.device.endswith("GPU:0")
    assert address(again) == address(frames)
    np.testing.assert_array_equal(again, frames)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64", "bool"])
def test_a_cuda_array_is_taken_as_it_is(dtype: str) -> None:
    array = CudaArray((5, 7), dtype, None)
    tensor = nvc.from_dlpack(array)
    assert tensor.shape == (5, 7)
    assert tensor.dtype == tf.as_dtype(dtype)
    assert address(tensor) == array.address


def test_consumers_wait_for_tensorflow_and_tensorflow_for_producers() -> None:
    """The test checks the bytes of each exchange. A copy that does not wait would have old
    bytes."""
    stream = Stream()
    for seed in range(10):
        made = busy(seed)
        shared = nvc.DeviceFrames(made)
        capsule = shared.__dlpack__(stream=stream.handle)
        array = CudaArray((4096, 4096), "float32", stream)
        stream.copy(array.address, address(made), array.size)
        result = nvc.from_dlpack(array) + 1.0
        shared.wait_for(stream.handle)
        np.testing.assert_array_equal(result, made + 1.0)
        del capsule, result


def test_the_interface_names_the_stream_to_wait_for() -> None:
    interface = nvc.DeviceFrames(busy(0)).__cuda_array_interface__
    assert interface["version"] == 3
    assert interface["shape"] == (4096, 4096)
    assert interface["typestr"] == "<f4"
    assert interface["stream"] not in (None, 0)
    assert interface["data"][0] != 0


def took(call: Callable[[], object]) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started


def test_the_host_does_not_wait_for_a_producer() -> None:
    producer, made = Stream(), busy(0)
    shared = nvc.DeviceFrames(made)
    total = float(tf.reduce_sum(made))
    gc.collect()  # Freeing the arrays of other tests takes time, so it happens now.
    shared.wait_for(producer.handle)  # The first call takes longer.
    producer.pause(1.0)
    assert took(lambda: shared.wait_for(producer.handle)) < 0.5
    began = time.monotonic()
    assert float(tf.reduce_sum(made)) == pytest.approx(total)
    assert time.monotonic() - began > 0.1  # TensorFlow's work waited for the pause.


@pytest.mark.parametrize("call", ["wait_for", "__dlpack__", "from_dlpack"])
def test_the_host_does_not_wait_for_tensorflow(call: str) -> None:
    consumer, made = Stream(), busy(0)
    shared = nvc.DeviceFrames(made)
    calls = {
        "wait_for": lambda: shared.wait_for(consumer.handle),
        "__dlpack__": lambda: shared.__dlpack__(stream=consumer.handle),
        "from_dlpack": lambda: nvc.from_dlpack(shared),
    }
    gc.collect()
    for _ in range(2):  # The first calls take longer, and free the arrays of other tests.
        calls[call]()
        float(tf.negative(made)[0, 0])
    pause(shared.__cuda_array_interface__["stream"], 1.0)
    assert took(calls[call]) < 0.5
    assert took(lambda: float(tf.negative(made)[0, 0])) > 0.1  # The stream paused.


def test_memory_goes_back_to_its_owner_after_tensorflows_work() -> None:
    before = CudaArray.living
    stream = Stream()
    for _ in range(100):
        array = CudaArray((1 << 22,), "float32", stream)
        tensor = nvc.from_dlpack(array)
        del array
        total = tf.reduce_sum(tensor)
        del tensor
    float(total)
    nvc.from_dlpack(CudaArray((64,), "float32", None))
    gc.collect()
    nvc.DeviceFrames(tf.constant(1)).__dlpack_device__()  # Such a call frees unused memory.
    assert CudaArray.living <= before + 1


def test_decoded_frames_are_shared() -> None:
    """The test queues a copy of the frames as soon as the op has returned. The copy waits for the
    decoder, the host does not."""
    want = on_cpu(data("h264.mp4"), pixel_format="native").frames.numpy()
    for _ in range(10):
        frames = on_gpu(data("h264.mp4"), pixel_format="native").frames
        stream = Stream()
        capsule = nvc.DeviceFrames(frames).__dlpack__(stream=stream.handle)
        array = CudaArray(want.shape, "uint8", stream)
        stream.copy(array.address, address(frames), array.size)
        stream.synchronize()
        np.testing.assert_array_equal(nvc.from_dlpack(array), want)
        del capsule


def test_a_stream_must_have_a_number() -> None:
    shared = nvc.DeviceFrames(busy(0))
    for none in (0, -7):
        with pytest.raises(tf.errors.InvalidArgumentError, match="stream must be 1"):
            shared.__dlpack__(stream=none)
    for stream in (None, 1, 2, -1):
        assert "dltensor" in repr(shared.__dlpack__(stream=stream))


def test_arrays_of_another_shape_in_memory_are_refused() -> None:
    array = CudaArray((4, 8), "float32", None)
    array.__cuda_array_interface__["strides"] = (4, 16)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not row-major"):
        nvc.from_dlpack(array)
    array.__cuda_array_interface__["strides"] = (32, 4)
    assert nvc.from_dlpack(array).shape == (4, 8)
