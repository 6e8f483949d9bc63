"""Bad input on the GPU gives the CPU's errors, and the GPU works afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import bad_bytes
import numpy as np
import pytest
import tensorflow as tf
from child_script import printed_by
from gpu_checks import GPU, check_auto_is_ffmpegs, check_equal, on_cpu, on_gpu
from gpu_clips import DAMAGED, NOT_USED, data
from tensorflow.python.eager import cancellation

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

GOOD = "h264.mp4"


def outcome(place: object, contents: bytes, **options: object) -> tuple[str, object]:
    """Returns ("", result), or the class and the message of the error without the op's device."""
    try:
        return "", place(contents, **options)
    except tf.errors.OpError as error:
        message = error.message.partition("\n\t [[")[0].rpartition("}} ")[2]
        return type(error).__name__, message.partition(" [Op:")[0]


def check_good_one_decodes() -> None:
    got = on_gpu(data(GOOD), pixel_format="native").frames.numpy()
    check_equal(got, on_cpu(data(GOOD), pixel_format="native").frames.numpy(), "a good stream")


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_clip_raises(name: str) -> None:
    """Both backends raise the same error. But NVDEC may not notice damaged data, and then the call
    returns its frames."""
    contents = data(name)
    error, message = outcome(on_cpu, contents)
    ours, said = outcome(on_gpu, contents, backend="auto")
    if error and ours:
        assert (ours, said) == (error, message)
    elif error:
        # NVDEC did not notice the damage. That is right only if the packet's headers are whole.
        assert name.startswith("garbled_"), f"{name}: the CPU says {message}"
    else:
        assert not ours, said
    check_good_one_decodes()


@pytest.mark.parametrize("name", [name for name in DAMAGED if name.startswith("broken_")])
@pytest.mark.parametrize("on_error", ["skip", "repeat"])
def test_policies_are_the_cpus(name: str, on_error: str) -> None:
    options = {"on_error": on_error, "return_valid": True, "pixel_format": "native"}
    error, want = outcome(on_cpu, data(name), **options)
    ours, got = outcome(on_gpu, data(name), backend="auto", **options)
    assert ours == error
    if not error:
        check_equal(got.frames.numpy(), want.frames.numpy(), name)
        np.testing.assert_array_equal(got.pts, want.pts)
        np.testing.assert_array_equal(got.valid, want.valid)


@pytest.mark.parametrize("name", ["h264.mp4", "hevc.mp4"])
def test_truncations_and_bit_flips(name: str) -> None:
    whole = data(name)
    cases = [*bad_bytes.truncations(whole, 20), *bad_bytes.bit_flips(whole, 60)]
    kinds = {"InvalidArgumentError", "DataLossError", "ResourceExhaustedError"}
    for what, contents in cases:
        for options in ({"size": (16, 16)}, {"size": (16, 16), "on_error": "repeat"}):
            error, result = outcome(on_gpu, contents, backend="auto", **options)
            if error:
                assert error in kinds, f"{what}: {error} {result}"
            else:
                assert result.frames.shape[0] > 0, what
    check_good_one_decodes()


@pytest.mark.parametrize("name", NOT_USED)
def test_other_codecs_are_left_to_ffmpeg(name: str) -> None:
    with pytest.raises(
        tf.errors.UnimplementedError, match='not used for codec.*"auto" or "cpu" decodes'
    ):
        on_gpu(data(name))
    check_auto_is_ffmpegs(name)


def test_deinterlacing_is_left_to_the_cpu() -> None:
    with pytest.raises(
        tf.errors.InvalidArgumentError, match='deinterlace works on the CPU only.*"auto" or "cpu"'
    ):
        on_gpu(data("h264_mbaff.mp4"), deinterlace="bob")
    check_auto_is_ffmpegs("h264_mbaff.mp4", deinterlace="bob")


def test_limits() -> None:
    contents = data(GOOD)
    for options, match in (
        ({"max_pixels": 100}, "max_pixels"),
        ({"max_frames": 3}, "max_frames"),
        ({"max_bytes": 1000}, "max_bytes"),
    ):
        with pytest.raises(tf.errors.ResourceExhaustedError, match=match):
            on_gpu(contents, **options)
    check_good_one_decodes()


@pytest.mark.alone
def test_no_memory_for_a_decoder() -> None:
    """The error is ResourceExhausted, and the next call works. The checks run in a process of their
    own, which takes the GPU's memory."""
    printed = printed_by(str(Path(__file__).with_name("no_memory.py")))
    refused, decoded = printed.splitlines()[-2:]
    assert "opening an NVDEC session of 1920x1088" in refused
    assert "CUDA_ERROR_OUT_OF_MEMORY" in refused
    assert decoded == "as FFmpeg's"


def test_more_than_the_gpu_holds() -> None:
    """The frames take more memory than the GPU has. The error is ResourceExhausted, and the next
    call works."""
    with pytest.raises(tf.errors.ResourceExhaustedError):
        on_gpu(data(GOOD), indices=[0] * 40, size=(30000, 30000), dtype=tf.float32, max_bytes=0)
    check_good_one_decodes()


def when_decoding(call: Callable[[], object]) -> threading.Thread:
    """Starts a thread that makes the call as soon as one more session decodes."""
    before = nvc.decoder_pool().in_use
    until = time.monotonic() + 60

    def wait() -> None:
        while nvc.decoder_pool().in_use <= before and time.monotonic() < until:
            time.sleep(0.001)
        call()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_cancelling_inside_an_op() -> None:
    """The test cancels the call while it decodes, after it has made the index."""
    contents = tf.constant(data("h264_long_gop.h264") * 100)

    @tf.function
    def decode(contents: tf.Tensor) -> tf.Tensor:
        with tf.device(GPU):
            return nvc.decode_video(contents, size=(16, 16), backend="nvdec").frames

    function = decode.get_concrete_function(contents)
    function(contents)  # The first call opens sessions and compiles kernels.
    times: list[float] = []
    began = when_decoding(lambda: times.append(time.monotonic()))
    function(contents)
    began.join()
    decoding = time.monotonic() - times[0]
    manager = cancellation.CancellationManager()
    cancelling = when_decoding(lambda: (times.append(time.monotonic()), manager.start_cancel()))
    with pytest.raises(tf.errors.CancelledError, match="cancelled while decoding"):
        manager.get_cancelable_function(function)(contents)
    ended = time.monotonic()
    cancelling.join()
    assert ended - times[1] < 0.5 * decoding
    check_good_one_decodes()


def test_cancelling_between_ops() -> None:
    contents = tf.constant(data("h264_long_gop.mp4"))

    @tf.function
    def decode(contents: tf.Tensor) -> tf.Tensor:
        with tf.device(GPU):
            total = tf.constant(0, tf.int64)
            for _ in tf.range(1000):
                frames = nvc.decode_video(contents, backend="nvdec").frames
                total += tf.cast(tf.shape(frames)[0], tf.int64)
            return total

    manager = cancellation.CancellationManager()
    function = manager.get_cancelable_function(decode.get_concrete_function(contents))
    threading.Timer(1.0, manager.start_cancel).start()
    began = time.monotonic()
    with pytest.raises(tf.errors.CancelledError):
        function(contents)
    assert time.monotonic() - began < 30
    check_good_one_decodes()
