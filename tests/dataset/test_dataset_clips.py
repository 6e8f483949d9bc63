"""Which frames a VideoDataset's clips have, for every way to choose them."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from clip_reference import Wanted, Whole, check_clip, frame_numbers, wanted_clips
from golden_clips import Clips

import tf_nvcodec as nvc

# B-frames, variable rates, a first frame that is not at 0, edit lists, a stream without an index,
# hidden frames, a rotation, odd sizes, and next to no frames.
NAMES = [
    "h264.mp4",
    "h264_vfr.mp4",
    "h264_edit_list.mp4",
    "h264_start_delay.mkv",
    "h264.ts",
    "hevc_open_gop.mkv",
    "vp9_altref.webm",
    "vp9_vfr.webm",
    "av1.mp4",
    "av1_odd.mkv",
    "mpeg2.ts",
    "mjpeg.avi",
    "h264_rotate_90.mp4",
    "h264_ntsc.mp4",
    "one_frame.mp4",
]
CHOICES: list[dict[str, Any]] = [
    {"clip_length": 8},
    {"clip_length": 1},
    {"clip_length": 8, "stride": 3},
    {"clip_length": 8, "clip_step": 3},
    {"clip_length": 4, "stride": 2, "clip_step": 1},
    {"clip_length": 4, "clip_step": 100},
    {"clip_length": 6, "stride": 0.1},
    {"clip_length": 6, "stride": 0.013, "clip_step": 9},
    {"clip_length": 6, "fps": 10},
    {"clip_length": 6, "fps": 25},
    {"clip_length": 6, "fps": 60.0, "clip_step": 4},
    {"clip_length": 4, "fps": 30000 / 1001, "stride": 2},
    {"clip_length": 3, "fps": 0.5},
    {"clip_length": 8, "clips_per_video": 1},
    {"clip_length": 8, "clips_per_video": 2},
    {"clip_length": 4, "stride": 2, "clips_per_video": 5, "sampling": "uniform"},
    {"clip_length": 4, "fps": 12.5, "clips_per_video": 3, "sampling": "uniform"},
    {"clip_length": 8, "sampling": "center"},
    {"clip_length": 7, "stride": 2, "sampling": "center", "fps": 24},
    {"clip_length": 8, "sampling": "start"},
    {"clip_length": 8, "stride": 0.2, "sampling": "start"},
    {"clip_length": 70, "clips_per_video": 2},
    {"clip_length": 70, "sampling": "center"},
    {"clip_length": 35, "stride": 3, "fps": 50},
]
PADS = ["repeat", "wrap", "zero", "drop"]


@pytest.fixture(scope="module")
def wholes(clips: Clips) -> list[Whole]:
    return [Whole.read(clips.path(name), pixel_format="native") for name in NAMES]


def check_dataset(
    dataset: tf.data.Dataset, videos: list[Whole], want: list[list[Wanted]]
) -> list[dict[str, Any]]:
    elements = list(dataset.as_numpy_iterator())
    places = [(int(e["video_index"]), int(e["clip_index"])) for e in elements]
    assert places == [(v, clip.clip) for v, of_video in enumerate(want) for clip in of_video]
    every = [(videos[v], clip) for v, of_video in enumerate(want) for clip in of_video]
    for element, (video, clip) in zip(elements, every):
        check_clip(element, video, clip)
    return elements


def describe(choice: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in choice.items())


# Each choice is tried with two ways to pad videos that are too short.
@pytest.mark.parametrize(
    ("choice", "pad"),
    [(choice, PADS[(i + k) % 4]) for i, choice in enumerate(CHOICES) for k in (0, 1)],
    ids=lambda value: value if isinstance(value, str) else describe(value),
)
def test_chosen_frames(wholes: list[Whole], choice: dict[str, Any], pad: str) -> None:
    names = [whole.name for whole in wholes]
    dataset = nvc.VideoDataset(
        names, pad=pad, pixel_format="native", num_parallel_calls=2, index_cache=False, **choice
    )
    reference = {"sampling": "uniform" if "clips_per_video" in choice else None, **choice}
    want = [wanted_clips(whole, pad=pad, **reference) for whole in wholes]
    check_dataset(dataset, wholes, want)


@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize("rate", [{}, {"fps": 20}, {"stride": 3}, {"stride": 0.07}], ids=describe)
def test_given_times(wholes: list[Whole], rate: dict[str, Any], pad: str) -> None:
    """A list for each video, ragged: its ends, in between, none at all, out of order."""
    times = []
    for i, whole in enumerate(wholes):
        begin, length = float(whole.pts[0]), whole.end - float(whole.pts[0])
        row = [begin + length * part for part in (0.5, 0.0, 0.31, 0.999)]
        times.append([*row[: i % 5], float(whole.pts[-1])] if i % 3 else [])
    dataset = nvc.VideoDataset(
        [whole.name for whole in wholes],
        6,
        clip_at=tf.ragged.constant(times, tf.float64),
        pad=pad,
        pixel_format="native",
        index_cache=False,
        **rate,
    )
    want = [
        wanted_clips(whole, 6, clip_at=row, pad=pad, **rate) for whole, row in zip(wholes, times)
    ]
    check_dataset(dataset, wholes, want)


@pytest.mark.parametrize("form", [list, np.array, tf.constant])
def test_times_for_all_videos(wholes: list[Whole], form: Any) -> None:
    videos = [wholes[NAMES.index(name)] for name in ("h264.mp4", "av1.mp4", "h264_vfr.mp4")]
    times = [0.3, 0.0, 1.0, 0.3]
    dataset = nvc.VideoDataset(
        [video.name for video in videos],
        4,
        clip_at=form(times),
        pixel_format="native",
        index_cache=False,
    )
    assert dataset.cardinality() == 12
    check_dataset(dataset, videos, [wanted_clips(video, 4, clip_at=times) for video in videos])


def test_times_in_rows_of_one_length(wholes: list[Whole]) -> None:
    videos = wholes[:2]
    times = [[0.2, 0.5], [0.1, 0.0]]
    for rows in (times, np.array(times), tf.constant(times)):
        dataset = nvc.VideoDataset(
            [video.name for video in videos],
            3,
            clip_at=rows,
            pixel_format="native",
            index_cache=False,
        )
        # A tensor of float32 holds rounded times.
        exact = [[0.2, 0.5], [0.1, 0.0]] if not isinstance(rows, tf.Tensor) else rows.numpy()
        want = [
            wanted_clips(video, 3, clip_at=[float(s) for s in row])
            for video, row in zip(videos, exact)
        ]
        check_dataset(dataset, videos, want)


@pytest.mark.parametrize("rate", [{}, {"fps": 25}], ids=describe)
@pytest.mark.parametrize("rows", [False, True])
def test_float32_times_begin_with_their_frame(
    wholes: list[Whole], rate: dict[str, Any], rows: bool
) -> None:
    video = wholes[NAMES.index("h264.mp4")]
    numbers = np.arange(45)
    times = numbers.astype(np.float32) / 25
    assert np.any(times < video.pts[numbers])
    forms = [times, list(times), tf.constant(times)]
    for form in [[list(times)], tf.ragged.constant([times])] if rows else forms:
        dataset = nvc.VideoDataset(
            [video.name],
            3,
            clip_at=form,
            pixel_format="native",
            index_cache=False,
            **rate,
        )
        want = wanted_clips(video, 3, clip_at=list(video.pts[numbers]), **rate)
        check_dataset(dataset, [video], [want])


@pytest.mark.parametrize("seconds", [-0.1, 2.0, 1e9, float("nan")])
def test_times_outside_a_video(clips: Clips, seconds: float) -> None:
    path = str(clips.path("h264.mp4"))
    dataset = nvc.VideoDataset([path], 4, clip_at=[0.0, seconds, 0.5], index_cache=False)
    iterator = iter(dataset)
    next(iterator)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        next(iterator)
    assert f"{path}, clip 1" in caught.value.message
    assert "outside the video" in caught.value.message
    assert int(next(iterator)["clip_index"]) == 2


LOOKS: list[dict[str, Any]] = [
    {},
    {"size": (64, 64)},
    {"size": (48, 80), "layout": "tchw", "dtype": "float32"},
    {"size": (64, 64), "dtype": tf.float16, "resize_method": "area"},
    {"crop": (8, 4, 32, 40)},
    {"size": (30, 50), "crop": (8, 4, 32, 40), "dtype": "float32", "mean": 0.5, "std": 0.25},
    {"pixel_format": "gray", "size": (64, 64)},
    {"layout": "tchw"},
    {"apply_rotation": False},
    {"num_threads": 2},
]


@pytest.mark.parametrize("look", LOOKS, ids=describe)
@pytest.mark.parametrize("pad", ["zero", "wrap"])
def test_frames_look_as_decode_video_makes_them(
    clips: Clips, look: dict[str, Any], pad: str
) -> None:
    names = ["h264.mp4", "h264_rotate_90.mp4", "av1_odd.mkv", "two_frames.mkv"]
    videos = [Whole.read(clips.path(name), **look) for name in names]
    dataset = nvc.VideoDataset(
        [video.name for video in videos], 9, 2, 11, pad=pad, index_cache=False, **look
    )
    want = [wanted_clips(video, 9, 2, 11, pad=pad) for video in videos]
    check_dataset(dataset, videos, want)


def draws(dataset: tf.data.Dataset, video: Whole) -> list[list[int | None]]:
    return [frame_numbers(element, video) for element in dataset.as_numpy_iterator()]


@pytest.fixture(scope="module")
def h264(wholes: list[Whole]) -> Whole:
    return wholes[NAMES.index("h264.mp4")]


def random_clips(video: Whole, *, clips_per_video: int = 6, **arguments: Any) -> nvc.VideoDataset:
    return nvc.VideoDataset(
        [video.name],
        arguments.pop("clip_length", 5),
        clips_per_video=clips_per_video,
        sampling="random",
        pixel_format="native",
        index_cache=False,
        **arguments,
    )


@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize(
    "choice",
    [
        {"clip_length": 5},
        {"clip_length": 5, "stride": 4},
        {"clip_length": 5, "fps": 15},
        {"clip_length": 48},
        {"clip_length": 60},
    ],
    ids=describe,
)
def test_random_clips_are_possible_ones(h264: Whole, choice: dict[str, Any], pad: str) -> None:
    possible = wanted_clips(h264, sampling="random", pad=pad, **choice)
    dataset = random_clips(h264, seed=3, pad=pad, **choice)
    elements = list(dataset.as_numpy_iterator())
    assert [int(e["clip_index"]) for e in elements] == (list(range(6)) if possible else [])
    for element in elements:
        numbers = frame_numbers(element, h264)
        found = [clip for clip in possible if clip.numbers == numbers]
        assert found, numbers
        check_clip(element, h264, Wanted(int(element["clip_index"]), numbers, found[0].own))


def test_random_epochs(h264: Whole) -> None:
    twice = draws(random_clips(h264, seed=3).repeat(2), h264)
    assert twice[:6] != twice[6:]
    assert len({tuple(clip) for clip in twice[:6]}) > 1
    assert draws(random_clips(h264, seed=3).repeat(2), h264) == twice
    assert draws(random_clips(h264, seed=3), h264) == twice[:6]
    assert draws(random_clips(h264, seed=4), h264) != twice[:6]
    assert draws(random_clips(h264, seed=0), h264) == draws(random_clips(h264, seed=0), h264)
    assert draws(random_clips(h264), h264) != draws(random_clips(h264), h264)


def test_random_epochs_one_by_one(h264: Whole) -> None:
    """A loop `for epoch: for clip in dataset` draws anew as well."""
    dataset = random_clips(h264, seed=3)
    assert draws(dataset, h264) != draws(dataset, h264)
    unseeded = random_clips(h264)
    assert draws(unseeded, h264) != draws(unseeded, h264)


def test_random_epochs_that_repeat(h264: Whole) -> None:
    for seed in (3, None):
        dataset = random_clips(h264, seed=seed, reshuffle_each_iteration=False)
        thrice = draws(dataset.repeat(3), h264)
        assert thrice[:6] == thrice[6:12] == thrice[12:] == draws(dataset, h264)


def test_random_is_tensorflows_global_seed_s(h264: Whole) -> None:
    drawn = []
    try:
        for _ in range(2):
            tf.random.set_seed(17)
            drawn.append(draws(random_clips(h264), h264))
    finally:
        tf.random.set_seed(None)
    assert drawn[0] == drawn[1]


def test_random_videos_are_drawn_apart(h264: Whole) -> None:
    dataset = nvc.VideoDataset(
        [h264.name] * 20,
        5,
        sampling="random",
        seed=1,
        pixel_format="native",
        index_cache=False,
    )
    assert len({tuple(clip) for clip in draws(dataset, h264)}) > 5


def test_random_starts_are_uniform(h264: Whole) -> None:
    """48 places, 2400 draws over 12 epochs: chi-square with 47 degrees of freedom."""
    dataset = nvc.VideoDataset(
        [h264.name],
        1,
        clips_per_video=200,
        sampling="random",
        seed=5,
        pixel_format="native",
        index_cache=False,
    )
    times = [e["pts"][0] for e in dataset.repeat(12).as_numpy_iterator()]
    counts = collections.Counter(times)
    assert set(counts) <= set(h264.pts)
    chi_square = sum((counts[time] - 50) ** 2 / 50 for time in h264.pts)
    assert chi_square < 47 + 4 * np.sqrt(2 * 47)


def test_passed_through(clips: Clips) -> None:
    names = ["h264.mp4", "av1.mp4", "one_frame.mp4"]
    paths = [str(clips.path(name)) for name in names]
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(3, 4, 2)).astype(np.float32)
    dataset = nvc.VideoDataset(
        paths,
        16,
        size=(8, 8),
        labels=[5, 6, 7],
        aligned={
            "zebra": [b"a", b"b", b"c"],
            "box": {"inner": (vectors, np.array([1.5, 2.5, 3.5])), "flag": [True, False, True]},
            "a_name_before_clip_index": np.arange(3, dtype=np.int16),
        },
        index_cache=False,
    )
    elements = list(dataset.as_numpy_iterator())
    assert [int(e["video_index"]) for e in elements] == [0, 0, 0, 1, 1, 2]
    for element in elements:
        assert sorted(element) == sorted(dataset.element_spec)
        video = int(element["video_index"])
        assert element["filename"] == paths[video].encode()
        assert element["label"] == 5 + video
        assert element["zebra"] == [b"a", b"b", b"c"][video]
        np.testing.assert_array_equal(element["box"]["inner"][0], vectors[video])
        assert element["box"]["inner"][1] == 1.5 + video
        assert element["box"]["flag"] == (video != 1)
        assert element["a_name_before_clip_index"] == video
        assert element["a_name_before_clip_index"].dtype == np.int16
        assert element["frames"].shape == (16, 8, 8, 3)


def test_what_is_in_memory_is_cut_alike(clips: Clips, wholes: list[Whole]) -> None:
    chosen = {"clip_length": 6, "clips_per_video": 2, "pad": "wrap", "pixel_format": "native"}
    data = [Path(whole.name).read_bytes() for whole in wholes]
    want = [wanted_clips(w, 6, clips_per_video=2, sampling="uniform", pad="wrap") for w in wholes]
    unnamed = [Whole("", w.frames, w.pts, w.end) for w in wholes]
    check_dataset(nvc.VideoDataset(contents=data, **chosen), unnamed, want)
    streamed = tf.data.Dataset.from_tensor_slices(data)
    check_dataset(nvc.VideoDataset(contents=streamed, **chosen), unnamed, want)
