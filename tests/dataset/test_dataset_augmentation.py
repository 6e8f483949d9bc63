"""Random crops and flips of clips: what is drawn, and that the frames show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from golden_clips import ORIENTED, Clips

import tf_nvcodec as nvc

PART: dict[str, Any] = {"random_resized_crop": (0.2, 0.9), "flip": 0.5, "size": (40, 56)}
CHOICE: dict[str, Any] = {"clip_length": 3, "clip_step": 2}


def dataset(clips: Clips, folder: Path, *names: str, **options: Any) -> nvc.VideoDataset:
    files = [str(clips.path(name)) for name in names or ("h264.mp4",)]
    return nvc.VideoDataset(files, **{"index_cache": folder, **CHOICE, **options})


def drawn(made: tf.data.Dataset) -> list[tuple]:
    return [
        (int(e["video_index"]), int(e["clip_index"]), *e["crop"], bool(e["flipped"]))
        for e in made.as_numpy_iterator()
    ]


def check_frames(clip: dict[str, Any], video: bytes, **options: Any) -> None:
    """Compares a clip with a decode of its crop that numpy mirrors."""
    plain = nvc.decode_frames_at(
        video, timestamps=clip["pts"], crop=[int(side) for side in clip["crop"]], **options
    ).frames.numpy()
    if not clip["flipped"]:
        np.testing.assert_array_equal(clip["frames"], plain)
        return
    # A mirrored resize adds the same terms in another order.
    np.testing.assert_allclose(
        clip["frames"].astype(np.float64), plain[:, :, ::-1].astype(np.float64), atol=1.01, rtol=0
    )


@pytest.mark.parametrize(
    "name", ["h264.mp4", "hevc_open_gop.mkv", "av1_odd.mkv", "mjpeg.avi", *sorted(ORIENTED)[::2]]
)
@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_frames_show_the_crop(clips: Clips, tmp_path: Path, name: str, shuffle: bool) -> None:
    made = dataset(clips, tmp_path, name, shuffle=shuffle, seed=1, **PART)
    elements = list(made.take(12).as_numpy_iterator())
    assert {bool(e["flipped"]) for e in elements} == {True, False}
    assert len({tuple(e["crop"]) for e in elements}) > len(elements) / 2
    for element in elements:
        check_frames(element, clips.data(name), size=PART["size"])


def test_crops_of_one_size(clips: Clips, tmp_path: Path) -> None:
    made = dataset(clips, tmp_path, random_crop=(30, 50), dtype=tf.float32, seed=2)
    assert made.element_spec["frames"].shape == [3, 30, 50, 3]
    elements = list(made.as_numpy_iterator())
    assert all(tuple(e["crop"][2:]) == (30, 50) and not e["flipped"] for e in elements)
    assert len({tuple(e["crop"]) for e in elements}) > 5
    for element in elements[:6]:
        check_frames(element, clips.data("h264.mp4"), dtype=tf.float32)


def test_flips_alone_are_exact(clips: Clips, tmp_path: Path) -> None:
    want = list(dataset(clips, tmp_path).as_numpy_iterator())
    got = list(dataset(clips, tmp_path, flip=1.0).as_numpy_iterator())
    for element, plain in zip(got, want):
        assert element["flipped"]
        np.testing.assert_array_equal(element["crop"], [0, 0, *plain["frames"].shape[1:3]])
        np.testing.assert_array_equal(element["frames"], plain["frames"][:, :, ::-1])


def test_the_seed_decides(clips: Clips, tmp_path: Path) -> None:
    def made(seed: int, **options: Any) -> nvc.VideoDataset:
        return dataset(clips, tmp_path, "h264.mp4", "vp9.webm", seed=seed, **PART, **options)

    first, second = drawn(made(5).repeat(2)), drawn(made(5))
    half = len(first) // 2
    assert first[:half] == second
    assert first[half:] != first[:half]  # another epoch
    again = drawn(made(5, reshuffle_each_iteration=False).repeat(2))
    assert again[:half] == again[half:]
    assert drawn(made(6)) != second
    # A shuffle and shards change no draw.
    parts = [drawn(made(5, shuffle=True).shard(2, i)) for i in range(2)]
    assert sorted(parts[0] + parts[1]) == sorted(second)


def test_a_restored_iterator_goes_on_alike(clips: Clips, tmp_path: Path) -> None:
    made = dataset(clips, tmp_path / "index", **PART)
    iterator = iter(made)
    for _ in range(3):
        next(iterator)
    saved = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "saved"))
    want = [tuple(e["crop"].numpy()) for e in iterator]
    restored = iter(made)
    tf.train.Checkpoint(iterator=restored).restore(saved)
    assert [tuple(e["crop"].numpy()) for e in restored] == want


def test_packed_clips_bring_their_crops(clips: Clips, tmp_path: Path) -> None:
    want = list(dataset(clips, tmp_path, seed=3, **PART).as_numpy_iterator())
    packed = {name: value for name, value in PART.items() if name != "size"}
    made = dataset(clips, tmp_path, seed=3, decode=False, **packed).batch(4)

    def decode(e: dict[str, tf.Tensor]) -> tf.Tensor:
        return nvc.decode_packets(
            e["packets"], PART["size"], crop=e["crop"], flip=e["flipped"]
        ).frames

    got = np.concatenate(list(made.map(decode).as_numpy_iterator()))
    np.testing.assert_array_equal(got, [e["frames"] for e in want])
    with pytest.raises(tf.errors.InvalidArgumentError, match="a row of 4 for each of the 4"):
        element = next(iter(made))
        nvc.decode_packets(element["packets"], crop=element["crop"][:3])


def test_drawn_areas_and_shapes_are_spread_evenly(clips: Clips, tmp_path: Path) -> None:
    made = dataset(
        clips, tmp_path, random_resized_crop=(0.3, 1.0), decode=False, clip_step=1, clip_length=1
    )
    crops = np.array([draw[2:6] for draw in drawn(made.repeat(40))], np.float64)
    height, width = 96, 160
    area = crops[:, 2] * crops[:, 3] / (height * width)
    assert 0.28 < area.min() < 0.35
    assert area.max() > 0.78  # the largest crop of this shape has 0.8
    assert np.all(crops[:, 0] + crops[:, 2] <= height)
    assert np.all(crops[:, 1] + crops[:, 3] <= width)
    shape = crops[:, 3] / crops[:, 2]
    assert 0.7 < shape.min() < 0.8
    assert 1.25 < shape.max() < 1.4


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"random_resized_crop": (0.3, 1.0)}, tf.errors.InvalidArgumentError, "pass size="),
        ({**PART, "size": 40}, tf.errors.InvalidArgumentError, "pass size="),
        ({**PART, "random_resized_crop": (0, 1)}, tf.errors.InvalidArgumentError, "0 < low"),
        ({**PART, "random_crop": (4, 4)}, tf.errors.InvalidArgumentError, "pass one"),
        ({**PART, "crop": (0, 0, 9, 9)}, tf.errors.InvalidArgumentError, "pass one"),
        ({**PART, "ratio": (2, 1)}, tf.errors.InvalidArgumentError, "width / height"),
        ({"flip": 1.5}, tf.errors.InvalidArgumentError, "probability"),
        ({"flip": "often"}, TypeError, "flip must be a number"),
        ({"random_crop": 4}, TypeError, "random_crop must be two integers"),
        ({"flip": 0.5, "pixel_format": "nv12"}, tf.errors.InvalidArgumentError, "rgb"),
    ],
    ids=str,
)
def test_what_does_not_fit(clips, tmp_path, options, error, words) -> None:
    with pytest.raises(error, match=words):
        dataset(clips, tmp_path, **options)


def test_a_crop_larger_than_the_frames(clips: Clips, tmp_path: Path) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="h264.mp4.*take a smaller crop"):
        next(iter(dataset(clips, tmp_path, random_crop=(1000, 10))))


def test_center_crop_is_that_of_decode_clips(clips: Clips, tmp_path: Path) -> None:
    cut: dict[str, Any] = {"center_crop": 0.8, "size": (30, 30)}
    made = dataset(clips, tmp_path, clip_step=None, clips_per_video=2, **cut)
    want = nvc.decode_clips([clips.data("h264.mp4")], 3, clips_per_video=2, **cut).frames
    np.testing.assert_array_equal([e["frames"] for e in made.as_numpy_iterator()], want[0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="pass size"):
        dataset(clips, tmp_path, center_crop=0.8)
    with pytest.raises(ValueError, match="pass center_crop to decode_packets"):
        dataset(clips, tmp_path, center_crop=0.8, decode=False)
