"""Runs encode_video eagerly, in tf.function, in Dataset.map and in a SavedModel. Tests its memory
and threads too."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from encoded import CONTAINERS, FAST, Encoded, moving
from fork_server import printed_by
from resident import resident_bytes
from tensorflow.python.eager import cancellation  # It has no public name.

import tf_nvcodec as nvc


@pytest.mark.parametrize("codec", CONTAINERS)
def test_equal_input_gives_equal_bytes(codec: str) -> None:
    frames = moving(10, 96, 128)
    first, *others = [
        nvc.encode_video(frames, 30, codec, "mkv", preset=FAST.get(codec)).numpy() for _ in range(4)
    ]
    assert all(other == first for other in others)


@pytest.mark.parametrize("codec", CONTAINERS)
def test_function_and_dataset_give_what_eager_gives(codec: str) -> None:
    frames = np.stack([moving(6, 64, 64, seed) for seed in range(8)])

    def encode(clip: tf.Tensor) -> tf.Tensor:
        return nvc.encode_video(clip, 30, codec, "mkv", preset=FAST.get(codec), num_threads=1)

    eager = [encode(clip).numpy() for clip in frames]
    assert [tf.function(encode)(clip).numpy() for clip in frames] == eager
    dataset = tf.data.Dataset.from_tensor_slices(frames).map(encode, tf.data.AUTOTUNE)
    assert list(dataset.as_numpy_iterator()) == eager
    dataset = tf.data.Dataset.from_tensor_slices(frames).map(encode, num_parallel_calls=8)
    assert list(dataset.as_numpy_iterator()) == eager


_SERVE = """
import sys, numpy as np, tensorflow as tf
import tf_nvcodec
model = tf.saved_model.load(sys.argv[1])
video = model.signatures["serving_default"](
    frames=tf.constant(np.load(sys.argv[2])), fps=tf.constant(29.97, tf.float64)
)["video"]
open(sys.argv[3], "wb").write(video.numpy())
"""


def test_saved_model_in_a_fresh_process(tmp_path: Path) -> None:
    class Encoder(tf.Module):
        @tf.function(
            input_signature=[
                tf.TensorSpec((None, None, None, 3), tf.uint8, "frames"),
                tf.TensorSpec((), tf.float64, "fps"),
            ]
        )
        def serve(self, frames: tf.Tensor, fps: tf.Tensor) -> dict[str, tf.Tensor]:
            options = {"x264-params": "ref=2"}
            return {"video": nvc.encode_video(frames, fps, crf=30, gop=4, options=options)}

    model, folder = Encoder(), str(tmp_path / "model")
    tf.saved_model.save(model, folder, signatures={"serving_default": model.serve})
    frames = moving(9, 64, 96)
    np.save(tmp_path / "frames.npy", frames)
    files = [str(tmp_path / "frames.npy"), str(tmp_path / "video.mp4")]
    printed_by("-c", _SERVE, folder, *files)
    data = Path(files[1]).read_bytes()
    assert data == model.serve(frames, 29.97)["video"].numpy()
    video = Encoded(data, "h264", "mp4")
    assert video.rate == Fraction(30000, 1001)
    assert len(video.frames) == 9


def test_tensors_and_other_numbers_are_taken() -> None:
    frames = moving(4, 64, 64)
    plain = nvc.encode_video(frames, 24000 / 1001).numpy()
    for fps in (Fraction(24000, 1001), np.float32(23.976), tf.constant(23.976)):
        assert nvc.encode_video(tf.constant(frames), fps).numpy() == plain
    assert nvc.encode_video(frames, np.int64(30), container=None).numpy() == (
        nvc.encode_video(frames).numpy()
    )


@pytest.mark.serial
def test_cancelling_stops_the_encoder() -> None:
    frames = tf.constant(np.tile(moving(20, 240, 320), (40, 1, 1, 1)))
    manager = cancellation.CancellationManager()
    encode = tf.function(lambda clip: nvc.encode_video(clip, preset="veryslow"))
    function = manager.get_cancelable_function(encode.get_concrete_function(frames))
    timer = threading.Timer(0.5, manager.start_cancel)
    timer.start()
    start = time.monotonic()
    with pytest.raises(tf.errors.CancelledError):
        function(frames)
    assert time.monotonic() - start < 20


QUICK = ("h264", "mjpeg", "ffv1")


@pytest.mark.serial
@pytest.mark.parametrize(
    "codec",
    [*QUICK, *(pytest.param(c, marks=pytest.mark.slow) for c in CONTAINERS if c not in QUICK)],
)
def test_memory_is_given_back(codec: str) -> None:
    frames = moving(6, 240, 320)

    def encode(times: int) -> int:
        for _ in range(times):
            nvc.encode_video(frames, 30, codec, "mkv", preset=FAST.get(codec), num_threads=2)
        return resident_bytes()

    before = encode(30)
    # If the frames of 70 encodes stayed in memory, they would take 46 MB in YUV.
    assert encode(70) < before + 24 * 2**20


def test_x265_codes_one_frame_at_a_time() -> None:
    """With more frames at a time, x265 may hang at the end of a stream."""
    for threads in (0, 1, 4, 64):
        video = nvc.encode_video(moving(3, 64, 96), 30, "hevc", num_threads=threads)
        assert b" frame-threads=1 " in video.numpy()


def test_av1_leaves_threads_their_priority() -> None:
    """If the process runs as root, SVT-AV1 makes the thread that opens it a real-time thread.
    encode_video must prevent this."""
    usual = os.sched_getscheduler(0)
    policies = []

    def encode() -> None:
        nvc.encode_video(np.zeros((4, 64, 96, 3), np.uint8), codec="av1")
        policies.append(os.sched_getscheduler(0))

    thread = threading.Thread(target=encode)
    thread.start()
    while thread.is_alive():
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(ProcessLookupError):
                policies.append(os.sched_getscheduler(int(task)))
        thread.join(0.005)
    assert set(policies) == {usual}
