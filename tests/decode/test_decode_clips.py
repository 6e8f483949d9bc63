"""Clips of a batch of videos: which frames, what a broken video costs, and the shapes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from clip_table import SOUND
from golden_clips import Clips

import tf_nvcodec as nvc

GARBAGE = b"this is no video"
CHOICES: list[dict[str, Any]] = [
    {"clip_length": 16},
    {"clip_length": 1, "clips_per_video": 7},
    {"clip_length": 9, "clips_per_video": 4, "stride": 3, "pad": "zero"},
    {"clip_length": 12, "clips_per_video": 3, "fps": 9.5, "pad": "wrap"},
    {"clip_length": 5, "stride": 0.11, "sampling": "center"},
    {"clip_length": 300, "sampling": "start"},
    {"clip_length": 400, "clips_per_video": 2, "pad": "zero"},
]


def from_dataset(contents: list[bytes], choice: dict[str, Any], **options: Any) -> list[Any]:
    """Returns the clips of each video as VideoDataset gives them, for comparison."""
    choice = {"clips_per_video": 1, **choice}
    made = nvc.VideoDataset(contents=contents, **choice, **options)
    clips = list(made.as_numpy_iterator())
    count = choice["clips_per_video"]
    assert len(clips) == count * len(contents)
    return [clips[i : i + count] for i in range(0, len(clips), count)]


def check_row(decoded: nvc.DecodedClips, row: int, wanted: list[dict[str, Any]]) -> None:
    assert decoded.status[row] == b""
    for clip, want in enumerate(wanted):
        np.testing.assert_array_equal(decoded.frames[row, clip], want["frames"])
        np.testing.assert_array_equal(decoded.pts[row, clip], want["pts"])
        np.testing.assert_array_equal(decoded.mask[row, clip], want["mask"])


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_the_clips_are_those_of_a_dataset(clips: Clips, choice: dict[str, Any]) -> None:
    chosen = random.Random(str(choice)).sample(SOUND, 8)
    contents = [clips.data(name) for name in chosen]
    decoded = nvc.decode_clips(contents, **choice, size=(48, 64))
    for row, wanted in enumerate(from_dataset(contents, choice, size=(48, 64))):
        check_row(decoded, row, wanted)


@pytest.mark.parametrize("name", ["h264.mp4", "hevc_open_gop.mkv", "av1.mp4", "vp9_altref.webm"])
def test_stored_samples_of_a_few_threads_or_many(clips: Clips, name: str) -> None:
    choice = {"clip_length": 7, "clips_per_video": 3, "stride": 2}
    contents = [clips.data(name)] * 3
    wanted = from_dataset(contents[:1], choice, pixel_format="native")[0]
    for threads in (0, 1, 2, 5, 16):
        decoded = nvc.decode_clips(contents, **choice, pixel_format="native", num_threads=threads)
        for row in range(3):
            check_row(decoded, row, wanted)


def test_a_broken_video_costs_its_row_only(clips: Clips) -> None:
    sound, damaged = clips.data("h264.mp4"), clips.data("broken_h264.mp4")
    contents = [GARBAGE, sound, b"", damaged, sound[:200], sound]
    decoded = nvc.decode_clips(contents, clip_length=250, size=(32, 32))
    broken = [0, 2, 3, 4]
    for row in broken:
        assert decoded.status[row].numpy()
        assert not decoded.mask[row].numpy().any()
        assert not decoded.frames[row].numpy().any()
        assert not decoded.pts[row].numpy().any()
    assert b"can't be decoded" in decoded.status[3].numpy()
    wanted = from_dataset([sound], {"clip_length": 250}, size=(32, 32))[0]
    for row in (1, 5):
        check_row(decoded, row, wanted)


def test_repeat_fills_damaged_frames_and_says_so(clips: Clips) -> None:
    damaged = clips.data("broken_h264.mp4")
    choice: dict[str, Any] = {"clip_length": 250, "sampling": "start", "pad": "zero"}
    decoded = nvc.decode_clips([damaged, GARBAGE], **choice, size=(32, 32), on_error="repeat")
    check_row(decoded, 0, from_dataset([damaged], choice, size=(32, 32), on_error="repeat")[0])
    good = nvc.decode_video(damaged, on_error="repeat", return_valid=True).valid.numpy()
    assert not good.all()
    np.testing.assert_array_equal(decoded.mask[0, 0].numpy()[: len(good)], good)
    assert decoded.status[1].numpy()


def test_raise_names_the_first_bad_video(clips: Clips) -> None:
    sound = clips.data("h264.mp4")
    with pytest.raises(tf.errors.InvalidArgumentError, match="video 2: "):
        nvc.decode_clips([sound, sound, GARBAGE, sound, GARBAGE], on_error="raise", size=(8, 8))
    with pytest.raises(tf.errors.DataLossError, match="video 1: frame "):
        nvc.decode_clips([sound, clips.data("broken_h264.mp4")], 250, on_error="raise", size=(8, 8))


def test_the_first_readable_video_sets_the_size(clips: Clips) -> None:
    small, large = clips.data("h264.mp4"), clips.data("h264_rotate_90.mp4")
    shapes = [nvc.decode_video(data, 0, 1).frames.shape[1:] for data in (small, large)]
    assert shapes[0] != shapes[1]
    for threads in (1, 8):
        decoded = nvc.decode_clips([GARBAGE, small, large, small], 4, num_threads=threads)
        assert decoded.frames.shape == (4, 1, 4, *shapes[0])
        assert [bool(status.numpy()) for status in decoded.status] == [True, False, True, False]
        assert b"pass size=(height, width)" in decoded.status[2].numpy()


def test_a_damaged_first_video_does_not_set_the_size(clips: Clips) -> None:
    damaged, sound = clips.data("broken_h264.mp4"), clips.data("h264_rotate_90.mp4")
    shapes = [nvc.decode_video(data, 0, 1).frames.shape[1:] for data in (damaged, sound)]
    assert shapes[0] != shapes[1]
    decoded = nvc.decode_clips([damaged, sound, sound], 250)
    assert [bool(status.numpy()) for status in decoded.status] == [True, False, False]
    assert decoded.frames.shape[3:] == shapes[1]
    assert not decoded.frames[0].numpy().any()
    alone = nvc.decode_clips([damaged], 250)
    assert alone.frames.shape == (1, 1, 250, 0, 0, 3)


@pytest.mark.parametrize(
    "options",
    [
        {"crop": (0, 0, 10, 12)},
        {"size": (8, 10), "pixel_format": "nv12"},
        {"size": (8, 10), "pixel_format": "yuv420p"},
        {"size": (7, 9), "pixel_format": "yuv444p"},
        {"size": (8, 10), "pixel_format": "p010"},
        {"size": (7, 9), "pixel_format": "gray", "dtype": tf.uint16},
    ],
    ids=str,
)
def test_a_known_shape_holds_without_a_video(clips: Clips, options: dict[str, Any]) -> None:
    broken = nvc.decode_clips([GARBAGE], 2, **options)
    sound = nvc.decode_clips([clips.data("h264.mp4")], 2, **options)
    assert sound.status[0] == b""
    assert broken.frames.shape == sound.frames.shape
    assert not broken.frames.numpy().any()


def test_too_short_without_padding(clips: Clips) -> None:
    decoded = nvc.decode_clips([clips.data("h264.mp4")], clip_length=999, pad="drop", size=(8, 8))
    assert b"999" in decoded.status[0].numpy()


def test_random_clips_follow_the_seed(clips: Clips) -> None:
    contents = [clips.data("h264.mp4")] * 6

    def begins(seed: Any) -> list[list[float]]:
        decoded = nvc.decode_clips(contents, 2, clips_per_video=5, sampling="random", seed=seed)
        assert not any(status.numpy() for status in decoded.status)
        return decoded.pts[:, :, 0].numpy().tolist()

    first = begins(1)
    assert begins(tf.constant(1)) == first != begins(2)
    assert len({tuple(row) for row in first}) > 1
    many = {time for seed in range(20) for row in begins(seed) for time in row}
    assert len(many) > 30


@pytest.mark.parametrize("size", [(64, 64), (40, 90), (90, 40)])
@pytest.mark.parametrize("part", [1.0, 0.875])
def test_center_crop(clips: Clips, size: tuple[int, int], part: float) -> None:
    for name in ("h264.mp4", "h264_rotate_90.mp4"):
        contents = clips.data(name)
        height, width = nvc.decode_video(contents, 0, 1).frames.shape[1:3]
        scale = min(height / size[0], width / size[1]) * part
        cut = [min(round(side * scale), whole) for side, whole in zip(size, (height, width))]
        crop = ((height - cut[0]) // 2, (width - cut[1]) // 2, *cut)
        wanted = nvc.decode_video(contents, 0, 3, crop=crop, size=size).frames
        decoded = nvc.decode_clips([contents], 3, sampling="start", size=size, center_crop=part)
        np.testing.assert_array_equal(decoded.frames[0, 0], wanted)


def test_no_video_at_all(clips: Clips) -> None:
    assert nvc.decode_clips(tf.zeros([0], tf.string), 4).frames.shape == (0, 1, 4, 0, 0, 3)
    empty = nvc.decode_clips(tf.zeros([0], tf.string), 4, size=(8, 9))
    assert empty.frames.shape == (0, 1, 4, 8, 9, 3)
    broken = nvc.decode_clips([GARBAGE, b""], 4, clips_per_video=2)
    assert broken.frames.shape == (2, 2, 4, 0, 0, 3)
    assert nvc.decode_clips([GARBAGE], 4, pixel_format="nv12").frames.shape == (1, 1, 4, 0)
    known = nvc.decode_clips([GARBAGE], 4, size=(8, 9), layout="tchw", dtype=tf.float16)
    assert known.frames.shape == (1, 1, 4, 3, 8, 9)
    assert not known.frames.numpy().any()


def test_shapes_are_known_in_a_graph(clips: Clips) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def run(contents: tf.Tensor) -> nvc.DecodedClips:
        decoded = nvc.decode_clips(
            contents, 4, clips_per_video=3, size=(8, 9), mean=0.5, std=0.5, dtype=tf.float32
        )
        assert decoded.frames.shape.as_list() == [None, 3, 4, 8, 9, 3]
        assert decoded.pts.shape.as_list() == decoded.mask.shape.as_list() == [None, 3, 4]
        assert decoded.status.shape.as_list() == [None]
        return decoded

    decoded = run(tf.constant([clips.data("h264.mp4"), GARBAGE]))
    assert decoded.frames.shape == (2, 3, 4, 8, 9, 3)
    assert decoded.frames[0].numpy().min() < 0


def test_limits(clips: Clips) -> None:
    contents = [clips.data("h264.mp4")] * 3
    assert nvc.decode_clips(contents, 5, size=(8, 8), max_frames=15).frames.shape[0] == 3
    with pytest.raises(tf.errors.ResourceExhaustedError, match="max_frames is 14"):
        nvc.decode_clips(contents, 5, size=(8, 8), max_frames=14)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="more than max_bytes, 2879"):
        nvc.decode_clips(contents, 5, size=(8, 8), max_bytes=2879)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="more than max_bytes"):
        nvc.decode_clips(contents, 5, max_bytes=2879)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="max_frames is 100000000"):
        nvc.decode_clips(contents, 1 << 20, clips_per_video=1 << 20, size=(8, 8), max_bytes=0)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="max_frames is 100000000"):
        nvc.decode_clips([], 1 << 30, clips_per_video=1 << 30, size=(224, 224), max_bytes=0)
    refused = nvc.decode_clips(contents, 5, size=(8, 8), max_pixels=100)
    assert b"max_pixels" in refused.status[0].numpy()


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"contents": b"one video"}, TypeError, r"one video: pass a batch of them, \[contents\]"),
        ({"contents": ["a.mp4"]}, TypeError, "contents.0. is of type str, not bytes"),
        ({"contents": [1]}, TypeError, "contents.0. is of type int, not bytes"),
        ({"contents": tf.constant([1])}, TypeError, "contents must be a string"),
        ({"contents": tf.constant("x")}, tf.errors.InvalidArgumentError, "vector of strings"),
        ({"clip_length": 0}, ValueError, "clip_length must be at least 1"),
        ({"sampling": "all"}, ValueError, "sampling is 'all'"),
        ({"pad": "mirror"}, ValueError, "pad must be"),
        ({"on_error": "ignore"}, ValueError, "on_error must be"),
        ({"fps": 5.0, "stride": 0.5}, ValueError, "both set the time"),
        ({"seed": 0.5}, TypeError, "seed must be integers"),
        ({"center_crop": 0.0, "size": (8, 8)}, ValueError, "center_crop must be above 0"),
        ({"center_crop": "all"}, TypeError, "center_crop must be a number"),
        ({"center_crop": 1}, tf.errors.InvalidArgumentError, "pass size, and no crop"),
        ({"colour": 1}, TypeError, "unknown keyword 'colour'; the keywords are: center_crop"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_wrong_arguments(
    clips: Clips, arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    arguments = {"contents": [clips.data("h264.mp4")], **arguments}
    with pytest.raises(error, match=says):
        nvc.decode_clips(**arguments)


def test_in_a_saved_model_and_in_a_pipeline(clips: Clips, tmp_path: Any) -> None:
    class Server(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def serve(self, contents: tf.Tensor) -> dict[str, tf.Tensor]:
            return nvc.decode_clips(contents, 3, size=(8, 8))._asdict()

    contents = [clips.data("h264.mp4"), GARBAGE]
    tf.saved_model.save(Server(), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    got = loaded.serve(tf.constant(contents))
    want = nvc.decode_clips(contents, 3, size=(8, 8))
    np.testing.assert_array_equal(got["frames"], want.frames)
    mapped = tf.data.Dataset.from_tensor_slices(contents).batch(2)
    mapped = mapped.map(lambda batch: nvc.decode_clips(batch, 3, size=(8, 8)).frames)
    np.testing.assert_array_equal(next(iter(mapped)), want.frames)
