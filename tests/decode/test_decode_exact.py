"""Frames equal those of FFmpeg's sequential decode bit for bit: whole clips, ranges, any order and
any number of threads. probe says what ffprobe says."""

from __future__ import annotations

import concurrent.futures
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from clip_frames import ClipFrames
from clip_table import CLIPS, RANGES, SOUND
from frame_checks import check_frames, check_pts
from golden_clips import Clips
from reference import parse_format

import tf_nvcodec as nvc

SLICES = [
    (0, 1, 1),
    (0, 5, 1),
    (3, None, 2),
    (-7, None, 1),
    (-10, -2, 3),
    (1, -1, 1),
    (11, 14, 1),
    (5, 1 << 40, 4),
    (-(1 << 40), 2, 1),
]
MOST_FRAMES_ONE_BY_ONE = 16


def check_slice(data: tf.Tensor, golden: ClipFrames, name: str, part: tuple[Any, ...]) -> None:
    chosen = range(len(golden))[slice(*part)]
    what = f"{name}[{part[0]}:{part[1]}:{part[2]}]"
    frames, pts = nvc.decode_video(data, *part, pixel_format="native")
    check_frames(frames.numpy(), [golden.md5[i] for i in chosen], what)
    check_pts(pts.numpy(), golden, chosen, what)


def check_indices(
    data: tf.Tensor, golden: ClipFrames, name: str, asked: list[int], **options: Any
) -> None:
    chosen = [i % len(golden) for i in asked]
    what = f"{name} at {asked}, {options}"
    frames, pts = nvc.decode_frames_at(data, asked, pixel_format="native", **options)
    check_frames(frames.numpy(), [golden.md5[i] for i in chosen], what)
    check_pts(pts.numpy(), golden, chosen, what)


def check_probe(data: tf.Tensor, golden: ClipFrames, name: str) -> None:
    info = {
        field: value.numpy().decode() if value.dtype == tf.string else value.numpy()
        for field, value in nvc.probe(data)._asdict().items()
    }
    assert info["num_frames"] == len(golden)
    assert (info["width"], info["height"]) == (golden.width, golden.height)
    assert info["codec"] == golden.stream["codec_name"]
    assert info["pixel_format"] == golden.pixel_format
    if "palette" not in CLIPS[name].tags:
        assert info["bit_depth"] == parse_format(golden.pixel_format).depth
    ratio = Fraction(golden.stream.get("sample_aspect_ratio", "1:1").replace(":", "/"))
    assert info["sample_aspect_ratio"] == pytest.approx(float(ratio) or 1.0)
    assert (info["rotation"], info["mirrored"]) == orientation(golden)
    assert info["has_audio"] == ("audio" in name or name == "bbb.mp4")
    for field in ("color_space", "color_primaries", "color_transfer"):
        assert info[field] == golden.frame.get(field, "unknown"), field
    ranges = {tag: name for name, tag in RANGES.items()}
    assert info["color_range"] == ranges.get(golden.frame.get("color_range", ""), "unknown")
    check_rate(info["fps"], info["duration"], golden, name)


def orientation(golden: ClipFrames) -> tuple[int, bool]:
    """Returns rotation and mirror by the matrix that ffprobe prints, or (0, False) if the matrix is
    none of the eight."""
    sides = golden.stream.get("side_data_list", [])
    printed = next((side["displaymatrix"] for side in sides if "displaymatrix" in side), "")
    rows = [line.partition(":")[2].split()[:2] for line in printed.strip().splitlines()[:2]]
    signs = np.sign(np.array(rows or np.eye(2), int))
    turn, mirror = np.array([[0, 1], [-1, 0]]), np.diag([-1, 1])
    for turns in range(4):
        turned = np.linalg.matrix_power(turn, turns)
        for mirrored in (False, True):
            if np.array_equal(signs, mirror @ turned if mirrored else turned):
                return 90 * turns, mirrored
    return 0, False


def check_rate(fps: float, duration: float, golden: ClipFrames, name: str) -> None:
    times = [time for time in golden.pts if time is not None]
    assert fps > 0
    assert duration > 0
    if len(times) < max(2, len(golden)):
        return
    span = times[-1] - times[0]
    # The last frame lasts about as long as the others. It may last longer in a file that was cut.
    longest, shortest = np.diff(times).max(), np.diff(times).min()
    # In an MP4 of field pictures, ffmpeg gives the last frame the length of one field.
    least = 0.49 if "paff" in name else 0.99
    assert span + shortest * least <= duration <= span + longest * 2
    if longest - shortest < 0.0011:  # The rate is constant, but for the container's rounding.
        assert fps == pytest.approx((len(times) - 1) / span, rel=2e-3)


@pytest.mark.parametrize("name", SOUND)
def test_clip(clips: Clips, name: str) -> None:
    """Decodes the whole clip, one slice, and indices among which are duplicates and negative ones.
    Compares probe too."""
    data, golden = tf.constant(clips.data(name)), clips.frames(name)
    draw = random.Random(name)
    check_probe(data, golden, name)
    frames, pts = nvc.decode_video(data, pixel_format="native")
    check_frames(frames.numpy(), golden.md5, name)
    check_pts(pts.numpy(), golden, range(len(golden)), name)
    check_slice(data, golden, name, SLICES[SOUND.index(name) % len(SLICES)])
    asked = [draw.randrange(-len(golden), len(golden)) for _ in range(5)]
    check_indices(data, golden, name, [*asked, asked[0]], num_threads=draw.choice((1, 2, 8)))


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_every_access(clips: Clips, name: str) -> None:
    """Decodes all slices, more indices, single frames, and with three numbers of threads."""
    data, golden = tf.constant(clips.data(name)), clips.frames(name)
    draw = random.Random(name)
    for part in SLICES:
        check_slice(data, golden, name, part)
    for count in (1, 4, 12):
        asked = [draw.randrange(-len(golden), len(golden)) for _ in range(count)]
        check_indices(data, golden, name, asked)
    for i in draw.sample(range(len(golden)), min(len(golden), MOST_FRAMES_ONE_BY_ONE)):
        check_indices(data, golden, name, [i])
    for threads in (1, 2, 8):
        frames, _ = nvc.decode_video(data, pixel_format="native", num_threads=threads)
        check_frames(frames.numpy(), golden.md5, f"{name}, num_threads={threads}")
        third = list(range(len(golden)))[1::3] or [0]
        check_indices(data, golden, name, third, num_threads=threads)


@pytest.mark.parametrize("name", ["h264.mp4", "hevc_open_gop.mkv", "vp9_altref.webm", "h264.ts"])
def test_backwards_shuffled_and_one_by_one(clips: Clips, name: str) -> None:
    data, golden = tf.constant(clips.data(name)), clips.frames(name)
    everything = list(range(len(golden)))
    shuffled = everything * 2
    random.Random(7).shuffle(shuffled)
    for asked in (everything[::-1], shuffled, *([i] for i in everything[::5])):
        check_indices(data, golden, name, asked)
    for part in SLICES:
        check_slice(data, golden, name, part)


def test_empty_ranges(clips: Clips) -> None:
    """A range without frames gives an empty batch, not an error, like Python's slices."""
    data = clips.data("h264.mp4")
    for start, stop in ((5, 5), (20, 10), (48, None), (100, 200), (0, -48), (-3, -5)):
        frames, pts = nvc.decode_video(data, start, stop)
        assert frames.shape == (0, 96, 160, 3), (start, stop)
        assert pts.shape == (0,)
    frames, _ = nvc.decode_video(data, 5, 5, pixel_format="native")
    assert frames.shape == (0, 160 * 96 * 3 // 2)
    frames, pts = nvc.decode_frames_at(data, np.zeros([0], np.int64))
    assert frames.shape == (0, 96, 160, 3)
    assert pts.shape == (0,)


@pytest.mark.parametrize("stride", [0, -1, -(1 << 40)])
def test_stride_below_one_is_refused(clips: Clips, stride: int) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="stride"):
        nvc.decode_video(clips.data("h264.mp4"), stride=stride)


@pytest.mark.parametrize("index", [48, -49, 1 << 40, -(1 << 40)])
def test_an_index_out_of_range_raises(clips: Clips, index: int) -> None:
    with pytest.raises((tf.errors.OutOfRangeError, tf.errors.InvalidArgumentError)) as caught:
        nvc.decode_frames_at(clips.data("h264.mp4"), [0, index, 1])
    assert str(index) in str(caught.value)
    assert "48" in str(caught.value)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integer_types(clips: Clips, dtype: type) -> None:
    golden = clips.frames("h264.mp4")
    asked = tf.constant([3, 1], dtype)
    frames, _ = nvc.decode_frames_at(clips.data("h264.mp4"), asked, pixel_format="native")
    check_frames(frames.numpy(), [golden.md5[3], golden.md5[1]], str(dtype))


def test_exactly_one_of_indices_and_timestamps(clips: Clips) -> None:
    data = clips.data("h264.mp4")
    for arguments in ({}, {"indices": [0], "timestamps": [0.0]}):
        with pytest.raises((ValueError, TypeError), match=r"indices|timestamps"):
            nvc.decode_frames_at(data, **arguments)


@pytest.mark.parametrize("indices", [[0.7], [1.0], [True], ["1"]])
def test_indices_are_integers(clips: Clips, indices: list[object]) -> None:
    """A fraction is probably a time in seconds, so it is an error. It must not become frame 0."""
    with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
        nvc.decode_frames_at(clips.data("h264.mp4"), indices)


def test_ranges_are_integers(clips: Clips) -> None:
    for arguments in ((1.7,), (0, 2.5), (0, 5, 1.5)):
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
            nvc.decode_video(clips.data("h264.mp4"), *arguments)


def test_a_long_clip(clips: Clips) -> None:
    golden = clips.frames("long.mp4")
    data = tf.constant(clips.data("long.mp4"))
    assert len(golden) == CLIPS["long.mp4"].frames
    for start in range(0, len(golden), 500):
        frames, _ = nvc.decode_video(data, start, start + 500, pixel_format="native")
        check_frames(frames.numpy(), golden.md5[start : start + 500], f"long.mp4 from {start}")


def test_frames_of_another_size_need_a_size(clips: Clips) -> None:
    """The stream goes from 160x96 to 64x48 after frame 47."""
    data = clips.data("size_change.h264")
    changes = "frame 48 gives 64x48, frame 47 160x96; pass size="
    for threads in (1, 2, 3, 4):
        with pytest.raises(tf.errors.InvalidArgumentError, match=changes):
            nvc.decode_video(data, num_threads=threads)
    with pytest.raises(tf.errors.InvalidArgumentError, match=changes):
        list(nvc.iter_video(data, 60))
    frames, pts = nvc.decode_video(data, size=(48, 64))
    assert frames.shape == (60, 48, 64, 3)
    assert pts.shape == (60,)
    small, _ = nvc.decode_video(clips.data("h264_small.h264"))
    assert (frames[48:].numpy() == small.numpy()).all()
    first, _ = nvc.decode_video(data, stop=48, pixel_format="native")
    check_frames(first.numpy(), clips.frames("h264.h264").md5, "size_change.h264[:48]")


def test_many_callers_at_once(clips: Clips) -> None:
    names = ["h264.mp4", "hevc.mp4", "av1.mp4", "vp9.webm", "mpeg2.ts", "h264_long_gop.mp4"] * 5
    data = {name: clips.data(name) for name in names}

    def decode(name: str) -> None:
        frames, _ = nvc.decode_video(data[name], pixel_format="native")
        check_frames(frames.numpy(), clips.frames(name).md5, name)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(decode, name) for name in names]:
            done.result()
