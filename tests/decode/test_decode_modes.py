"""Decoding eagerly, in tf.function, in Dataset.map and in a SavedModel gives the same frames."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from fork_server import printed_by
from frame_checks import check_frames, digests
from golden_clips import Clips
from tensorflow.python.eager import cancellation

import tf_nvcodec as nvc

NAMES = ["h264.mp4", "hevc.mkv", "vp9.webm", "av1.ivf", "mpeg2.ts", "h264_open_gop.mp4"]


def native(contents: tf.Tensor) -> tf.Tensor:
    return nvc.decode_video(contents, pixel_format="native").frames


@pytest.mark.parametrize("name", NAMES)
def test_in_a_function(clips: Clips, name: str) -> None:
    @tf.function
    def decode(
        contents: tf.Tensor, start: tf.Tensor, stride: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        return nvc.decode_video(contents, start, stride=stride, pixel_format="native")

    golden = clips.frames(name)
    frames, pts = decode(tf.constant(clips.data(name)), tf.constant(4), tf.constant(3))
    check_frames(frames.numpy(), golden.md5[4::3], name)
    np.testing.assert_allclose(pts, golden.pts[4::3], atol=1e-9)


def test_arguments_that_are_tensors_agree_with_those_that_are_not(clips: Clips) -> None:
    @tf.function
    def decode(
        contents: tf.Tensor, indices: tf.Tensor, size: tf.Tensor, crop: tf.Tensor
    ) -> tf.Tensor:
        return nvc.decode_frames_at(contents, indices, size=size, crop=crop).frames

    data = clips.data("h264.mp4")
    arguments = ([5, 2, -1], (20, 30), (2, 4, 60, 80))
    inside = decode(tf.constant(data), *(tf.constant(argument) for argument in arguments))
    indices, size, crop = arguments
    outside = nvc.decode_frames_at(data, indices, size=size, crop=crop).frames
    np.testing.assert_array_equal(inside, outside)


@pytest.mark.parametrize(("calls", "threads"), [(tf.data.AUTOTUNE, 0), (8, 1), (None, 0)])
def test_in_a_pipeline(clips: Clips, calls: int | None, threads: int) -> None:
    paths = [str(clips.path(name)) for name in NAMES] * 4

    def load(path: tf.Tensor) -> tf.Tensor:
        contents = tf.io.read_file(path)
        decoded = nvc.decode_video(contents, pixel_format="native", num_threads=threads)
        return decoded.frames

    dataset = tf.data.Dataset.from_tensor_slices(paths).map(load, calls).prefetch(2)
    count = 0
    for path, frames in zip(paths, dataset):
        check_frames(frames.numpy(), clips.frames(Path(path).name).md5, path)
        count += 1
    assert count == len(paths)


def test_a_pipeline_that_batches_clips(clips: Clips) -> None:
    paths = [str(clips.path(name)) for name in ("h264.mp4", "h264.mkv", "h264.ts", "h264.flv")]
    dataset = (
        tf.data.Dataset.from_tensor_slices(paths)
        .map(lambda path: nvc.decode_video(tf.io.read_file(path), stop=8, size=(32, 48)))
        .map(lambda decoded: tf.ensure_shape(decoded.frames, [8, 32, 48, 3]))
        .batch(4)
    )
    batch = dataset.get_single_element().numpy()
    assert batch.shape == (4, 8, 32, 48, 3)
    for other in batch[1:]:
        np.testing.assert_array_equal(other, batch[0])


@pytest.mark.parametrize("indices", [[100], [0, -49]])
def test_bad_indices_do_not_end_a_pipeline_quietly(clips: Clips, indices: list[int]) -> None:
    """tf.data takes an OutOfRange error as the end of the data, so bad indices must give another
    error."""
    data = clips.data("h264.mp4")
    dataset = tf.data.Dataset.range(3).map(
        lambda _: nvc.decode_frames_at(data, indices).frames, num_parallel_calls=2
    )
    for pipeline in (dataset, tf.data.Dataset.range(3).flat_map(lambda _: dataset)):
        with pytest.raises(tf.errors.OpError, match="frame index"):
            list(pipeline)


def test_errors_can_be_ignored_by_a_pipeline(clips: Clips) -> None:
    paths = [str(clips.path(name)) for name in ("h264.mp4", "broken_h264.mp4", "h264.mkv")]
    dataset = (
        tf.data.Dataset.from_tensor_slices(paths)
        .map(lambda path: native(tf.io.read_file(path)), tf.data.AUTOTUNE)
        .ignore_errors()
    )
    found = [digests(frames) for frames in dataset.as_numpy_iterator()]
    assert found == [clips.frames("h264.mp4").md5] * 2


class Model(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([], tf.string, "contents")])
    def serve(self, contents: tf.Tensor) -> dict[str, tf.Tensor]:
        frames, pts, valid = nvc.decode_video(
            contents, 1, -1, 2, pixel_format="native", return_valid=True
        )
        small, _ = nvc.decode_frames_at(contents, [0, 3], size=(8, 12), dtype=tf.float32)
        info = nvc.probe(contents)
        return {
            "frames": frames,
            "pts": pts,
            "valid": valid,
            "small": small,
            "count": info.num_frames,
        }


_LOAD = """
import hashlib, json, sys
import tensorflow as tf
import tf_nvcodec
model = tf.saved_model.load(sys.argv[1])
result = model.signatures["serving_default"](contents=tf.io.read_file(sys.argv[2]))
print(json.dumps({
    "md5": [hashlib.md5(frame.tobytes()).hexdigest() for frame in result["frames"].numpy()],
    "pts": result["pts"].numpy().tolist(),
    "valid": result["valid"].numpy().tolist(),
    "small": result["small"].numpy().tolist(),
    "count": int(result["count"]),
}))
"""


def test_saved_model_in_a_fresh_process(clips: Clips, tmp_path: Path) -> None:
    model = Model()
    folder = str(tmp_path / "model")
    tf.saved_model.save(model, folder, signatures={"serving_default": model.serve})
    clip = clips.path("h264.mp4")
    result = json.loads(printed_by("-c", _LOAD, folder, clip).splitlines()[-1])
    golden = clips.frames("h264.mp4")
    assert result["md5"] == golden.md5[1:-1:2]
    np.testing.assert_allclose(result["pts"], golden.pts[1:-1:2], atol=1e-9)
    assert all(result["valid"])
    assert result["count"] == len(golden)
    small, _ = nvc.decode_frames_at(clips.data("h264.mp4"), [0, 3], size=(8, 12), dtype=tf.float32)
    np.testing.assert_array_equal(np.array(result["small"], np.float32), small)


# So many copies of a raw stream are joined end to end. They are seconds of work in a few megabytes.
JOINED = 600


def long_work(clips: Clips) -> tf.Tensor:
    return tf.constant(clips.data("h264_joined.h264") * JOINED)


@pytest.mark.serial
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(("threads", "delay"), [(1, 0.6), (4, 0.05)])
def test_cancelling_stops_soon(clips: Clips, threads: int, delay: float, batch: bool) -> None:
    """The test cancels one call early, while it indexes packets, and one call later, while it
    decodes frames."""
    contents = long_work(clips)

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def decode(contents: tf.Tensor) -> tf.Tensor:
        how: dict[str, Any] = {"size": (4, 4), "num_threads": threads}
        if batch:
            return nvc.decode_clips([contents] * 3, 1, clips_per_video=10_000, **how).frames
        return nvc.decode_video(contents, **how).frames

    manager = cancellation.CancellationManager()
    cancellable = manager.get_cancelable_function(decode.get_concrete_function())
    ended: list[tuple[float, BaseException | None]] = []

    def work() -> None:
        error = None
        try:
            cancellable(contents)
        except tf.errors.OpError as caught:
            error = caught
        ended.append((time.monotonic(), error))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(delay)
    assert thread.is_alive(), "the work is too short to be cancelled"
    cancelled = time.monotonic()
    manager.start_cancel()
    thread.join(60)
    assert not thread.is_alive()
    end, error = ended[0]
    assert isinstance(error, tf.errors.CancelledError)
    assert end - cancelled < 20
    assert native(clips.data("h264.mp4")).shape == (48, 160 * 96 * 3 // 2)
