"""Tests which device decodes and which one holds the frames, in graphs and SavedModels."""

from __future__ import annotations

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from child_script import finished
from cuda_arrays import pause
from gpu_checks import GPU, check_equal, codecs, nvdec_alone, on_cpu, on_gpu
from gpu_clips import data

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

MEDIA = Path(__file__).resolve().parents[1] / "golden" / "media"
CLIP = "h264_open_gop.mp4"


def is_on_gpu(tensor: tf.Tensor) -> bool:
    return tensor.device.endswith("GPU:0")


def close(got: tf.Tensor, want: tf.Tensor) -> bool:
    off = np.abs(got.numpy().astype(np.int32) - want.numpy().astype(np.int32))
    return got.shape == want.shape and off.max() <= 1


@pytest.mark.parametrize("backend", ["auto", "nvdec", "cpu"])
def test_frames_stay_on_the_gpu(backend: str) -> None:
    video = on_gpu(data(CLIP), backend=backend)
    assert is_on_gpu(video.frames)
    assert is_on_gpu(video.frames + 1)
    want = on_cpu(data(CLIP))
    assert close(video.frames, want.frames)
    np.testing.assert_array_equal(video.pts, want.pts)


@pytest.mark.parametrize("name", [CLIP, "hevc.mp4", "vp8.webm", "vp9.webm"])
def test_auto_is_nvdec_on_the_gpu_and_ffmpeg_on_the_cpu(name: str) -> None:
    if nvc.probe(data(name)).codec.numpy().decode() not in codecs():
        pytest.skip("not a codec of this GPU's NVDEC")

    def sessions() -> int:
        pool = nvc.decoder_pool()
        return pool.created + pool.reused

    before = sessions()
    on_cpu(data(name), backend="auto")
    on_gpu(data(name), backend="cpu")
    assert sessions() == before
    with nvdec_alone():
        on_gpu(data(name), backend="auto")
    assert sessions() > before


def test_the_cpu_device_gets_nvdecs_frames_in_host_memory() -> None:
    before = nvc.decoder_pool()
    video = on_cpu(data(CLIP), backend="nvdec", pixel_format="native")
    after = nvc.decoder_pool()
    assert after.created + after.reused > before.created + before.reused
    assert video.frames.device.endswith("CPU:0")
    check_equal(
        video.frames.numpy(), on_cpu(data(CLIP), pixel_format="native").frames.numpy(), CLIP
    )
    wanted = [5, 3, 5, 40, 3, 3]
    for options in ({}, {"size": (112, 112), "dtype": tf.float32}, {"pixel_format": "nv12"}):
        got = on_cpu(data(CLIP), backend="nvdec", indices=wanted, **options).frames.numpy()
        gpu = on_gpu(data(CLIP), indices=wanted, **options).frames.numpy()
        check_equal(got, gpu, f"{options}")


def test_auto_falls_back_where_the_gpu_cannot() -> None:
    """The test needs a video that the GPU refuses. That is AV1, or 4:2:2 if the GPU decodes AV1."""
    contents = (MEDIA / "av1_160x90.mp4").read_bytes()
    if "av1" in codecs():
        contents = data("h264_yuv422p10le.mp4")
    got = on_gpu(contents, backend="auto")
    assert is_on_gpu(got.frames)
    np.testing.assert_array_equal(got.frames, on_cpu(contents).frames)
    native = on_gpu(contents, backend="auto", pixel_format="native", indices=[7, 2, 7]).frames
    check_equal(
        native.numpy(),
        on_cpu(contents, pixel_format="native", indices=[7, 2, 7]).frames.numpy(),
        "",
    )
    for refused in (on_gpu, on_cpu):
        with pytest.raises(tf.errors.UnimplementedError, match=r'backend="nvdec".*backend="auto"'):
            refused(contents, backend="nvdec")


def test_the_fallback_is_logged_once() -> None:
    """A new process decodes three times. The test reads its stderr."""
    code = f"""
import tensorflow as tf, tf_nvcodec as nvc
for _ in range(3):
    with tf.device("{GPU}"):
        nvc.decode_video(open({str(MEDIA / "av1_160x90.mp4")!r}, "rb").read(), stop=1)
"""
    if "av1" in codecs():
        pytest.skip("this GPU decodes AV1")
    done = finished("-c", code, TF_CPP_MIN_LOG_LEVEL="1")
    assert done.stderr.count("decodes on the CPU, not with NVDEC") == 1, done.stderr
    assert "av1" in done.stderr.lower()


def test_in_a_function() -> None:
    @tf.function
    def mean_of(contents: tf.Tensor, start: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.device(GPU):
            video = nvc.decode_video(contents, start, stride=2, size=(64, 64), dtype=tf.float32)
            # The next op on the stream reads the frames at once.
            return tf.reduce_mean(video.frames, [1, 2, 3]), video.pts

    for start in (0, 7, 30):
        means, pts = mean_of(tf.constant(data(CLIP)), tf.constant(start))
        want = on_cpu(data(CLIP), start=start, stride=2, size=(64, 64), dtype=tf.float32)
        np.testing.assert_allclose(means, want.frames.numpy().mean((1, 2, 3)), atol=1e-4)
        np.testing.assert_array_equal(pts, want.pts)


def test_in_a_saved_model(tmp_path: Path) -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
        def __call__(self, contents: tf.Tensor) -> tf.Tensor:
            with tf.device(GPU):
                return nvc.decode_frames_at(contents, [0, 11, 3], size=(32, 48)).frames

    tf.saved_model.save(Model(), str(tmp_path))
    got = tf.saved_model.load(str(tmp_path))(tf.constant(data(CLIP)))
    assert close(got, on_cpu(data(CLIP), indices=[0, 11, 3], size=(32, 48)).frames)


def test_the_host_does_not_wait_for_tensorflows_work() -> None:
    """A session holds at most four pictures that nobody has read yet. For a fifth one, the host
    would wait. So each call asks for one frame only."""
    contents = data(CLIP)
    with tf.device(GPU):
        work = tf.ones([4])
    before = on_gpu(contents, indices=[0], return_valid=True)  # The first call takes longer.
    # TensorFlow takes memory for a second result now, not while the clock runs.
    on_gpu(contents, indices=[0], return_valid=True)
    gc.collect()
    pause(nvc.DeviceFrames(work).__cuda_array_interface__["stream"], 1.0)
    began = time.monotonic()
    frames = on_gpu(contents, indices=[0], return_valid=True)
    assert frames.pts.numpy() == before.pts.numpy() and frames.valid.numpy().all()
    assert time.monotonic() - began < 0.5
    np.testing.assert_array_equal(frames.frames, before.frames)
    assert time.monotonic() - began > 0.9  # The stream paused.


def test_results_are_ready_for_whatever_uses_them() -> None:
    """The sum reads the frames as soon as the op returns. Many repetitions reuse the memory, so a
    result that is not ready would have wrong bytes."""
    contents = tf.constant(data(CLIP))
    want = float(tf.reduce_sum(tf.cast(on_gpu(contents).frames, tf.float64)))
    for _ in range(50):
        assert float(tf.reduce_sum(tf.cast(on_gpu(contents).frames, tf.float64))) == want


@pytest.mark.parametrize("place", [on_gpu, on_cpu])
def test_eight_threads_at_once(place: object) -> None:
    names = ["h264.mp4", CLIP, "h264_long_gop.mp4", "h264_cropped.mp4"] * 6
    want = {name: on_cpu(data(name), pixel_format="native").frames.numpy() for name in set(names)}
    barrier = threading.Barrier(8)

    def work(part: int) -> None:
        barrier.wait()
        for name in names[part::8]:
            got = place(data(name), backend="nvdec", pixel_format="native")
            check_equal(got.frames.numpy(), want[name], name)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
