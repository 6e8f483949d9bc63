"""Uses NVDEC in VideoDataset and Dataset.map, and on bytes that tf.data passes on."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from gpu_checks import GPU, check_equal, on_cpu
from gpu_clips import data, folder

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

NAMES = ["h264.mp4", "h264_open_gop.mp4", "h264_cropped.mp4"]


def elements(backend: str, **options: object) -> list[dict[str, np.ndarray]]:
    paths = [str(folder() / name) for name in NAMES]
    dataset = nvc.VideoDataset(paths, clip_length=8, backend=backend, index_cache=False, **options)
    return list(dataset.as_numpy_iterator())


@pytest.mark.parametrize("num_parallel_calls", [1, 8])
@pytest.mark.parametrize("choice", [{}, {"clip_at": [0.6, 0.2, 0.4, 0.0]}])  # passes; single clips
def test_clips_are_the_cpus(choice: dict[str, list[float]], num_parallel_calls: int) -> None:
    options = {"pixel_format": "native", **choice}
    got = elements("nvdec", num_parallel_calls=num_parallel_calls, **options)
    want = elements("cpu", **options)
    assert len(got) == len(want) > 10
    for ours, theirs in zip(got, want):
        check_equal(ours["frames"], theirs["frames"], str(theirs["filename"]))
        for part in ("pts", "mask", "video_index", "clip_index"):
            np.testing.assert_array_equal(ours[part], theirs[part])


def test_resized_clips_are_close() -> None:
    for ours, theirs in zip(
        elements("nvdec", size=(56, 56), stride=2), elements("cpu", size=(56, 56), stride=2)
    ):
        off = np.abs(ours["frames"].astype(int) - theirs["frames"].astype(int))
        assert off.max() <= 1


def test_clips_with_frames_of_zeros() -> None:
    options = {"size": (32, 32), "pad": "zero", "stride": 7}
    for ours, theirs in zip(elements("nvdec", **options), elements("cpu", **options)):
        np.testing.assert_array_equal(ours["mask"], theirs["mask"])
        assert not ours["frames"][~ours["mask"]].any()


def test_in_a_map() -> None:
    contents = [data(name) for name in NAMES] * 8
    dataset = tf.data.Dataset.from_tensor_slices(contents).map(
        lambda c: nvc.decode_video(c, stop=16, size=(64, 64), backend="nvdec").frames,
        num_parallel_calls=8,
    )
    for one, frames in zip(contents, dataset.as_numpy_iterator()):
        want = on_cpu(one, stop=16, size=(64, 64)).frames.numpy()
        assert np.abs(frames.astype(int) - want.astype(int)).max() <= 1


def test_bytes_in_the_pipeline_frames_in_the_model() -> None:
    """tf.data only passes the bytes on. The training step decodes them on the GPU."""

    @tf.function
    def step(contents: tf.Tensor) -> tf.Tensor:
        def decode(one: tf.Tensor) -> tf.Tensor:
            return nvc.decode_video(one, stop=4, size=(32, 32), dtype=tf.float32).frames

        with tf.device(GPU):
            frames = tf.map_fn(
                decode, contents, fn_output_signature=tf.TensorSpec([4, 32, 32, 3], tf.float32)
            )
            return tf.reduce_mean(frames, [1, 2, 3, 4])

    batches = tf.data.Dataset.from_tensor_slices([data(name) for name in NAMES]).batch(3)
    for batch in batches:
        means = step(batch).numpy()
        for mean, one in zip(means, batch.numpy()):
            want = on_cpu(one, stop=4, size=(32, 32), dtype=tf.float32).frames.numpy().mean()
            assert mean == pytest.approx(want, abs=1e-4)


def test_a_stream_that_nvdec_cannot_take_is_an_error_of_its_clip() -> None:
    path = str(folder() / "h264_yuv422p10le.mp4")
    dataset = nvc.VideoDataset([path], clip_length=4, backend="nvdec", index_cache=False)
    with pytest.raises(tf.errors.UnimplementedError, match="h264_yuv422p10le.mp4"):
        next(iter(dataset))


@pytest.mark.parametrize(
    "choice",
    [
        {"random_resized_crop": (0.2, 0.9), "flip": 0.5, "size": (56, 72), "seed": 1},
        {"random_crop": (40, 60), "dtype": tf.float16, "seed": 2},
        {"flip": 1.0},
        {"size": 50, "antialias": True, "resize_method": "lanczos3"},
        {"size": (48, 48), "center_crop": 0.7, "antialias": True},
    ],
    ids=str,
)
def test_augmented_clips_are_close(choice: dict[str, object]) -> None:
    got, want = elements("nvdec", **choice), elements("cpu", **choice)
    assert len(got) == len(want) > 10
    top = 1 / 255 if want[0]["frames"].dtype == np.float16 else 1
    for ours, theirs in zip(got, want):
        off = np.abs(ours["frames"].astype(np.float64) - theirs["frames"].astype(np.float64))
        assert off.max() <= top * 1.001
        if "crop" in theirs:
            np.testing.assert_array_equal(ours["crop"], theirs["crop"])
            assert ours["flipped"] == theirs["flipped"]
