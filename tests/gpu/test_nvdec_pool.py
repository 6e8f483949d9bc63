"""NVDEC sessions are kept for the next stream and reconfigured to its size, unless they failed."""

from __future__ import annotations

import pytest
import tensorflow as tf
from gpu_checks import on_cpu, on_gpu
from gpu_clips import data
from resident import resident_bytes

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu


def test_a_session_is_reused() -> None:
    on_gpu(data("h264.mp4"), num_threads=1)
    before = nvc.decoder_pool()
    assert before.idle > 0
    for _ in range(10):
        on_gpu(data("h264.mp4"), num_threads=1)
    after = nvc.decoder_pool()
    assert after.created == before.created
    assert after.reused >= before.reused + 10
    assert after.in_use == 0


def test_another_size_takes_no_new_session() -> None:
    """A stream with smaller pictures of the same codec, chroma and depth reuses the session."""
    on_gpu(data("h264.mp4"), num_threads=1)
    before = nvc.decoder_pool()
    for name in ("h264_no_b.mp4", "h264_tall.mp4", "h264_cropped.mp4", "h264.mp4"):
        got = on_gpu(data(name), num_threads=1, pixel_format="native").frames.numpy()
        want = on_cpu(data(name), pixel_format="native").frames.numpy()
        assert (got == want).all(), name
    after = nvc.decoder_pool()
    assert after.reused > before.reused
    assert after.created - before.created <= 2


def test_a_session_is_reconfigured_to_a_smaller_size() -> None:
    """The larger size is one that no other test uses, so the test gets a session of its own."""

    def clip(height: int, width: int) -> tf.Tensor:
        with tf.device("/CPU:0"):
            frames = tf.random.stateless_uniform((9, height, width, 3), (1, 2), 0, 256, tf.int32)
            # Both clips have the same level, because it limits how many pictures a decoder keeps.
            options = {"level": "4.0"}
            frames = tf.cast(frames, tf.uint8)
            return nvc.encode_video(frames, fps=25, codec="h264", options=options)

    small = clip(272, 432)
    on_gpu(clip(304, 496), num_threads=1)
    before = nvc.decoder_pool()
    got = on_gpu(small, num_threads=1, pixel_format="native").frames.numpy()
    assert (got == on_cpu(small, pixel_format="native").frames.numpy()).all()
    after = nvc.decoder_pool()
    assert after.reconfigured == before.reconfigured + 1
    assert after.created == before.created


def test_the_numbers_add_up() -> None:
    for name in ("h264.mp4", "broken_h264.mp4", "hevc_slices.mp4", "size_change.h264"):
        try:
            on_gpu(data(name), backend="auto", size=(32, 32))
        except tf.errors.DataLossError:
            assert name.startswith("broken_")
    pool = nvc.decoder_pool()
    assert pool.in_use == 0
    assert pool.idle == pool.created - pool.destroyed
    assert pool.failed <= pool.destroyed
    assert pool.reconfigured <= pool.reused


@pytest.mark.alone
@pytest.mark.slow
def test_many_decodes_take_no_more_memory() -> None:
    """The test measures the memory of the host, and the GPU's as TensorFlow's pool counts it."""
    names = ["h264.mp4", "h264_cropped.mp4", "broken_h264.mp4", "h264_open_gop.mp4"]

    def rounds(count: int) -> None:
        for i in range(count):
            on_gpu(data(names[i % 4]), indices=[i % 20, 3], backend="auto", on_error="repeat")

    rounds(200)
    tf.config.experimental.reset_memory_stats("GPU:0")
    before, host = nvc.decoder_pool(), resident_bytes()
    device = tf.config.experimental.get_memory_info("GPU:0")["current"]
    rounds(1000)
    after = nvc.decoder_pool()
    assert after.idle <= before.idle + 2
    assert tf.config.experimental.get_memory_info("GPU:0")["current"] <= device + (1 << 20)
    assert resident_bytes() - host < 100_000 << 10
