"""Compressed clips: decoded elsewhere, they are the clips of the dataset, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from clip_table import SOUND
from golden_clips import Clips

import tf_nvcodec as nvc

# These get a new description of their stream in the middle. A packed clip has one.
DESCRIBED_TWICE = {"h264_two_descriptions.mp4", "h264_two_lengths.mp4", "hevc_two_descriptions.mp4"}
CHOICE: dict[str, Any] = {"clips_per_video": 2, "clip_length": 7, "stride": 2, "pad": "wrap"}


def packed(video: bytes, **choice: Any) -> list[dict[str, Any]]:
    made = nvc.VideoDataset(contents=[video], decode=False, **choice)
    return list(made.as_numpy_iterator())


def whole(video: bytes, **choice: Any) -> list[dict[str, Any]]:
    return list(nvc.VideoDataset(contents=[video], **choice).as_numpy_iterator())


def check_same(got: list[dict[str, Any]], want: list[dict[str, Any]], **options: Any) -> None:
    assert len(got) == len(want)
    decoded = nvc.decode_packets([clip.pop("packets") for clip in got], **options)
    assert not any(decoded.status.numpy())
    for row, (clip, wanted) in enumerate(zip(got, want)):
        for name in ("frames", "pts", "mask"):
            np.testing.assert_array_equal(getattr(decoded, name)[row], wanted[name])
        for name in set(wanted) - {"frames"}:
            np.testing.assert_array_equal(clip[name], wanted[name])


@pytest.mark.parametrize("name", sorted(set(SOUND) - DESCRIBED_TWICE))
def test_the_frames_are_those_of_the_dataset(clips: Clips, name: str) -> None:
    video = clips.data(name)
    got = packed(video, **CHOICE)
    # A clip needs no more than the video, but a description of its packets.
    assert all(len(clip["packets"]) < len(video) + 20_000 for clip in got)
    check_same(got, whole(video, **CHOICE, pixel_format="native"), pixel_format="native")


@pytest.mark.parametrize(
    "choice",
    [
        {"clip_length": 5, "clip_step": 3},
        {"clip_length": 9, "clips_per_video": 3, "fps": 9.5, "pad": "zero"},
        {"clip_length": 250, "clips_per_video": 1, "pad": "zero"},
        {"clip_length": 4, "clip_at": [0.3, 1.1, 0.7]},
    ],
    ids=str,
)
def test_all_clips_of_a_video(clips: Clips, choice: dict[str, Any]) -> None:
    for name in ("h264.mp4", "hevc_open_gop.mkv", "av1.mp4"):
        video = clips.data(name)
        options: dict[str, Any] = {"size": (40, 56), "dtype": tf.float16, "layout": "tchw"}
        check_same(packed(video, **choice), whole(video, **choice, **options), **options)


def test_a_clip_holds_only_what_its_frames_need(clips: Clips) -> None:
    for name in ("h264.mp4", "av1.mp4", "vp9.webm"):
        video = clips.data(name)
        one = packed(video, clip_length=1, clips_per_video=1, sampling="start")[0]["packets"]
        assert len(one) < len(video) / 2, name


def test_shuffled_shards_and_labels(clips: Clips, tmp_path: Path) -> None:
    names = [str(clips.path(name)) for name in ("h264.mp4", "vp9.webm", "hevc.mp4")]
    options: dict[str, Any] = {
        "clip_length": 4,
        "clips_per_video": 3,
        "shuffle": True,
        "seed": 3,
        "labels": [5, 6, 7],
        "index_cache": tmp_path,
    }
    for index in range(2):
        got = nvc.VideoDataset(names, decode=False, **options).shard(2, index)
        want = nvc.VideoDataset(names, **options, size=(32, 32)).shard(2, index)
        check_same(list(got.as_numpy_iterator()), list(want.as_numpy_iterator()), size=(32, 32))


def test_a_checkpoint_in_the_middle(clips: Clips, tmp_path: Path) -> None:
    made = nvc.VideoDataset(
        [str(clips.path("h264.mp4"))], 4, clip_step=5, decode=False, index_cache=tmp_path / "index"
    )
    all_clips = [clip["packets"] for clip in made.as_numpy_iterator()]
    iterator = iter(made)
    for _ in range(3):
        next(iterator)
    saved = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "saved"))
    restored = iter(made)
    tf.train.Checkpoint(iterator=restored).restore(saved)
    assert [clip["packets"].numpy() for clip in restored] == all_clips[3:]


def test_by_tfrecord(clips: Clips, tmp_path: Path) -> None:
    name = str(tmp_path / "clips.tfrecord")
    made = nvc.VideoDataset([str(clips.path("h264.mp4"))], 8, decode=False, index_cache=False)
    with tf.io.TFRecordWriter(name) as writer:
        for clip in made.as_numpy_iterator():
            writer.write(clip["packets"])
    read = tf.data.TFRecordDataset(name).batch(3).map(lambda p: nvc.decode_packets(p).frames)
    want = nvc.VideoDataset([str(clips.path("h264.mp4"))], 8, index_cache=False)
    got = np.concatenate(list(read.as_numpy_iterator()))
    np.testing.assert_array_equal(got, [clip["frames"] for clip in want.as_numpy_iterator()])


def test_a_damaged_clip_costs_its_row_only(clips: Clips) -> None:
    good = packed(clips.data("h264.mp4"), clip_length=8, clips_per_video=2)
    bad = packed(clips.data("broken_h264.mp4"), clip_length=8, clip_step=8)
    with pytest.raises(tf.errors.DataLossError, match="clip 0: "):
        nvc.decode_packets([bad_one(bad)])
    flipped = bytearray(good[0]["packets"])
    flipped[len(flipped) // 2] ^= 1
    rows = [bytes(flipped), good[0]["packets"], b"no clip", good[1]["packets"][:-9], bad_one(bad)]
    decoded = nvc.decode_packets(rows, on_error="skip")
    says = ["checksum", "", "no packed clip", "checksum", "damaged|can't be decoded|conceal"]
    for row, words in enumerate(says):
        status = decoded.status[row].numpy().decode()
        assert bool(status) == bool(words)
        assert not words or any(word in status for word in words.split("|")), status
        assert decoded.mask[row].numpy().any() == (not words)
    replaced = nvc.decode_packets([bad_one(bad)], on_error="repeat")
    assert replaced.status[0] == b""
    assert 0 < replaced.mask[0].numpy().sum() < 8


def bad_one(clips_of_bad: list[dict[str, Any]]) -> bytes:
    """Returns a clip in which a frame is damaged, but not all."""
    for clip in clips_of_bad:
        mask = nvc.decode_packets([clip["packets"]], on_error="repeat").mask.numpy()
        if 0 < mask.sum() < mask.size:
            return clip["packets"]
    raise AssertionError("no such clip")


def test_clips_of_other_lengths_and_sizes_are_refused(clips: Clips) -> None:
    short, long = (
        packed(clips.data("h264.mp4"), clip_length=n, clips_per_video=1)[0]["packets"]
        for n in (4, 5)
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="has 5 frames, but the first .* 4"):
        nvc.decode_packets([short, long])
    other = packed(clips.data("av1_odd.mkv"), clip_length=4, clips_per_video=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="pass size="):
        nvc.decode_packets([short, other[0]["packets"]])
    with pytest.raises(tf.errors.ResourceExhaustedError, match="max_pixels"):
        nvc.decode_packets([short], max_pixels=100)
    with pytest.raises(TypeError, match="pass a batch"):
        nvc.decode_packets(short)


def test_a_new_description_inside_a_clip_names_the_way_round(clips: Clips) -> None:
    with pytest.raises(tf.errors.UnimplementedError, match="decode it from the file"):
        packed(clips.data("h264_two_descriptions.mp4"), clip_length=100, clips_per_video=1)


@pytest.mark.parametrize("option", [{"size": (2, 2)}, {"dtype": "float32"}, {"backend": "cpu"}])
def test_options_of_the_decode_are_refused(clips: Clips, option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"pass {next(iter(option))} to decode_packets"):
        nvc.VideoDataset(contents=[clips.data("h264.mp4")], decode=False, **option)
