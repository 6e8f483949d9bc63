"""On a machine with a GPU, eager calls go through functions. These tests force this on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from fork_server import printed_by
from golden_clips import Clips

import tf_nvcodec as nvc
from tf_nvcodec.python import gpu_call


@pytest.fixture
def through_functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    gpu_call._function.cache_clear()
    monkeypatch.setattr(gpu_call, "_may_run_on_gpu", tf.executing_eagerly)
    yield
    gpu_call._function.cache_clear()


def test_no_function_without_a_gpu(clips: Clips) -> None:
    if tf.config.list_logical_devices("GPU"):
        pytest.skip("this machine has a GPU")
    before = gpu_call._function.cache_info()
    nvc.decode_video(clips.data("h264.mp4"), stop=1)
    assert gpu_call._function.cache_info() == before


@pytest.mark.usefixtures("through_functions")
def test_results_are_the_same(clips: Clips, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = clips.data("h264.mp4")
    calls = [
        lambda: nvc.decode_video(
            contents, 3, 20, 4, size=(40, 60), dtype=tf.float32, mean=[0.5] * 3, std=[0.2] * 3
        ),
        lambda: nvc.decode_frames_at(contents, [5, -1, 5], crop=(0, 0, 20, 30)),
        lambda: nvc.decode_frames_at(contents, timestamps=[0.1, 0.5], return_valid=True),
    ]
    got = [call() for call in calls]
    assert gpu_call._function.cache_info().misses == len(calls)
    monkeypatch.undo()
    for ours, want in zip(got, [call() for call in calls]):
        for one, other in zip(ours, want):
            np.testing.assert_array_equal(one, other)


@pytest.mark.usefixtures("through_functions")
def test_what_is_in_host_memory_leaves_the_function_as_int32(
    clips: Clips, monkeypatch: pytest.MonkeyPatch
) -> None:
    """int32 is the only numeric type that TensorFlow keeps in host memory. So outputs that belong
    there must leave the function as int32."""
    made = []
    original = gpu_call._function

    def noting(*arguments: Any) -> Any:
        made.append(original(*arguments))
        return made[-1]

    contents = clips.data("h264.mp4")
    with monkeypatch.context() as patched:
        patched.setattr(gpu_call, "_function", noting)
        decoded = nvc.decode_frames_at(contents, [5, 0], return_valid=True)
        none = nvc.decode_frames_at(contents, tf.zeros([0], tf.int64))
    assert (decoded.pts.dtype, decoded.valid.dtype) == (tf.float64, tf.bool)
    assert none.pts.shape == (0,)
    ((function, _), _) = made
    frames, *host = function.structured_outputs
    assert frames.dtype == tf.uint8
    assert len(host) == 2
    for tensor in host:
        assert tensor.dtype == tf.int32
        # The output itself is an Identity op. Its input shows the device.
        assert "CPU:0" in tensor.op.inputs[0].device


@pytest.mark.usefixtures("through_functions")
def test_other_values_and_shapes_need_no_other_function(clips: Clips) -> None:
    for name in ("h264.mp4", "vp9.webm"):
        for count in (1, 2, 5):
            frames = nvc.decode_frames_at(clips.data(name), list(range(count)), size=(count, 9))
            assert frames.frames.shape == (count, count, 9, 3)
    assert gpu_call._function.cache_info().misses == 1


@pytest.mark.usefixtures("through_functions")
def test_errors_are_the_kernels(clips: Clips) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        nvc.decode_frames_at(clips.data("h264.mp4"), [9999])
    assert caught.value.message.startswith("frame index 9999 is out of range for ")
    assert "\n" not in caught.value.message
    with pytest.raises(tf.errors.InvalidArgumentError, match="^contents must be a scalar string"):
        nvc.decode_video([clips.data("h264.mp4")])
    with pytest.raises(ValueError, match="pixel_format"):
        nvc.decode_video(clips.data("h264.mp4"), pixel_format="purple")


@pytest.mark.usefixtures("through_functions")
def test_threads_get_their_own(clips: Clips) -> None:
    names = ["h264.mp4", "h264_open_gop.mp4", "h264_cropped.mp4"]
    want = {name: nvc.decode_video(clips.data(name)).frames.numpy() for name in names}

    def work(i: int) -> None:
        name = names[i % len(names)]
        np.testing.assert_array_equal(nvc.decode_video(clips.data(name)).frames, want[name])

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(36)))


@pytest.mark.usefixtures("through_functions")
def test_in_a_function_it_is_an_op_of_that_function(clips: Clips) -> None:
    before = gpu_call._function.cache_info().misses

    @tf.function
    def first(contents: tf.Tensor) -> tf.Tensor:
        return nvc.decode_frames_at(contents, [0]).frames

    assert first(tf.constant(clips.data("h264.mp4"))).shape[0] == 1
    assert gpu_call._function.cache_info().misses == before


# Two CPU devices imitate a machine with a GPU: the op runs on one device, and host memory belongs
# to the other.
TWO_DEVICES = """
import sys
import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import tf_nvcodec as nvc
from tf_nvcodec.python import gpu_call

gpu_call._may_run_on_gpu = tf.executing_eagerly
with open(sys.argv[1], "rb") as file:
    contents = file.read()
inputs = []
call = gpu_call.call

def noting(op, given, *arguments, **options):
    inputs.extend(tensor for tensor in given.values() if tf.is_tensor(tensor))
    return call(op, given, *arguments, **options)

gpu_call.call = noting
with tf.device("CPU:1"):
    videos = [
        nvc.decode_frames_at(contents, [5, 0], size=(20, 30), return_valid=True),
        nvc.decode_frames_at(contents, timestamps=[0.1, 0.5], return_valid=True),
        nvc.decode_video(contents, 3, 20, 4, crop=(0, 0, 20, 30), return_valid=True),
    ]
    for index in (9999, -9999):
        try:
            nvc.decode_frames_at(contents, [index])
        except tf.errors.InvalidArgumentError as error:
            print(error.message)
assert len(inputs) > 10 and {tensor.device[-5:] for tensor in inputs} == {"CPU:0"}, inputs
for video in videos:
    assert [part.device[-5:] for part in video] == ["CPU:1", "CPU:0", "CPU:0"], video
    assert video.valid.numpy().all() and video.valid.dtype == tf.bool
    assert len(video.pts) == len(video.frames)
np.testing.assert_allclose(videos[0].pts, [0.2, 0.0])
"""


def test_numbers_are_in_host_memory_before_and_after(clips: Clips) -> None:
    said = printed_by("-c", TWO_DEVICES, str(clips.path("h264.mp4"))).splitlines()
    assert [line.partition(" is ")[0] for line in said] == ["frame index 9999", "frame index -9999"]
    assert all(line.endswith("47 (position 0)") for line in said)
