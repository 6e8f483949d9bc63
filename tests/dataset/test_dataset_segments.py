"""Rows of annotations: each names a part of a file, and several may name the same file."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from clip_reference import Wanted, Whole, check_clip, frame_numbers, wanted_clips
from golden_clips import Clips
from golden_datasets import without_prefetch
from small_videos import read_frame, small_video, write_small_videos

import tf_nvcodec as nvc

# Variable rates, a first frame that is not at 0, edit lists, an open GOP, no index in the file.
NAMES = ["h264.mp4", "h264_vfr.mp4", "h264_edit_list.mp4", "h264_start_delay.mkv", "h264.ts",
         "hevc_open_gop.mkv", "vp9_altref.webm"]  # fmt: skip
CHOICES: list[dict[str, Any]] = [
    {"clip_length": 4},
    {"clip_length": 4, "stride": 2, "clip_step": 3},
    {"clip_length": 6, "fps": 12.5, "clip_step": 2},
    {"clip_length": 3, "stride": 0.1},
    {"clip_length": 4, "clips_per_video": 3},
    {"clip_length": 8, "sampling": "center"},
    {"clip_length": 30, "sampling": "start"},
]


@pytest.fixture(scope="module")
def wholes(clips: Clips) -> list[Whole]:
    return [Whole.read(clips.path(name), pixel_format="native") for name in NAMES]


@pytest.fixture(scope="module")
def rows(wholes: list[Whole]) -> list[tuple[Whole, float, float | None]]:
    """Three rows for each file, not sorted by file: parts that overlap, and the rest of a file."""
    begin = [float(whole.pts[0]) for whole in wholes]
    parts = [(0.301, 0.9), (0.5, 1.16), (0.7, None)]
    return [
        (whole, first + start, None if end is None else first + end)
        for start, end in parts
        for whole, first in zip(wholes, begin)
    ]


def check(dataset: tf.data.Dataset, parts: list[Whole], want: list[list[Wanted]]) -> None:
    every = [(row, clip) for row, of_row in enumerate(want) for clip in of_row]
    elements = list(dataset.as_numpy_iterator())
    assert [(e["video_index"], e["clip_index"]) for e in elements] == [
        (row, clip.clip) for row, clip in every
    ]
    for element, (row, clip) in zip(elements, every):
        check_clip(element, parts[row], clip)


@pytest.mark.parametrize("pad", ["repeat", "wrap", "zero", "drop"])
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_clips_are_those_of_a_video_of_these_frames(
    wholes: list[Whole], rows: Any, choice: dict[str, Any], pad: str
) -> None:
    dataset = nvc.VideoDataset(
        [whole.name for whole, _, _ in rows],
        segments=[(start, end) for _, start, end in rows],
        pad=pad,
        pixel_format="native",
        index_cache=False,
        **choice,
    )
    parts = [whole.part(start, end) for whole, start, end in rows]
    reference = {"sampling": "uniform" if "clips_per_video" in choice else None, **choice}
    check(dataset, parts, [wanted_clips(part, pad=pad, **reference) for part in parts])


@pytest.mark.parametrize("rate", [{}, {"fps": 20}], ids=str)
def test_clip_at_counts_from_the_beginning_of_the_file(rows: Any, rate: dict[str, Any]) -> None:
    parts = [whole.part(start, end) for whole, start, end in rows]
    times = [[float(part.pts[2]), float(part.pts[-1])] for part in parts]
    dataset = nvc.VideoDataset(
        [whole.name for whole, _, _ in rows],
        5,
        clip_at=times,
        segments=[(start, end) for _, start, end in rows],
        pixel_format="native",
        index_cache=False,
        **rate,
    )
    check(dataset, parts, [wanted_clips(p, 5, clip_at=t, **rate) for p, t in zip(parts, times)])


def test_random_places_are_in_the_segment(rows: Any) -> None:
    dataset = nvc.VideoDataset(
        [whole.name for whole, _, _ in rows],
        3,
        clips_per_video=6,
        sampling="random",
        segments=[(start, end) for _, start, end in rows],
        pixel_format="native",
        index_cache=False,
        shuffle=True,
        seed=3,
    )
    drawn: dict[int, set[int]] = {row: set() for row in range(len(rows))}
    for element in dataset.as_numpy_iterator():
        row = int(element["video_index"])
        numbers = frame_numbers(element, rows[row][0].part(*rows[row][1:]))
        assert None not in numbers
        drawn[row].add(numbers[0])
    assert all(len(firsts) > 1 for firsts in drawn.values())
    # Rows of one file draw places of their own.
    assert len({tuple(sorted(firsts)) for firsts in drawn.values()}) > len(NAMES)


# Ten videos of 2 s, and annotations as those of Kinetics and AVA: 25 rows of seven files.
PARTS = [(i % 7, 0.1 * (i % 5), 0.1 * (i % 5) + 0.3 + 0.1 * (i % 3)) for i in range(25)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_small_videos(tmp_path_factory.mktemp("videos"), 10)


def annotated(files: list[str], parts: Any = PARTS, **arguments: Any) -> nvc.VideoDataset:
    keywords = {"clip_length": 2, "index_cache": False, **arguments}
    names = [files[video] for video, _, _ in parts]
    return nvc.VideoDataset(names, segments=[part[1:] for part in parts], **keywords)


def ids(dataset: tf.data.Dataset) -> list[tuple[int, int]]:
    return [(int(e["video_index"]), int(e["clip_index"])) for e in dataset.as_numpy_iterator()]


# At ten frames a second: 3, 4 or 5 frames, so one clip of two frames, or two.
EXPECTED = [(row, clip) for row in range(25) for clip in range((1, 2, 2)[row % 3])]


def test_counts_are_those_of_the_segments(files: list[str]) -> None:
    assert ids(annotated(files)) == EXPECTED
    indexed = annotated(files, build_index=True, shuffle=True, seed=1)
    assert int(indexed.cardinality()) == len(EXPECTED)
    order = ids(indexed)
    assert sorted(order) == EXPECTED
    assert order != EXPECTED
    shards = [indexed.shard(3, i) for i in range(3)]
    assert [int(shard.cardinality()) for shard in shards] == [
        len(EXPECTED) // 3 + (i < 2) for i in range(3)
    ]
    assert sorted(clip for shard in shards for clip in ids(shard)) == EXPECTED
    halves = [annotated(files, shuffle=True).shard(2, i) for i in (0, 1)]
    assert sorted(clip for half in halves for clip in ids(half)) == EXPECTED
    short = annotated(files, clip_length=4, clips_per_video=1, pad="drop", build_index=True)
    assert ids(short) == [(row, 0) for row in range(25) if row % 3]
    assert int(short.cardinality()) == len(ids(short))


def test_elements_show_their_files_frames(files: list[str]) -> None:
    labels = [f"class {row}" for row in range(25)]
    for element in annotated(files, labels=labels, shuffle=True).as_numpy_iterator():
        row, clip = int(element["video_index"]), int(element["clip_index"])
        video, start, _ = PARTS[row]
        first = round(10 * start) + 2 * clip
        assert [read_frame(frame) for frame in element["frames"]] == [
            (video, first),
            (video, first + 1),
        ]
        assert element["label"] == labels[row].encode()
        assert element["filename"] == files[video].encode()


def test_rows_of_a_file_share_its_index(tmp_path: Path, files: list[str]) -> None:
    copies = [shutil.copy(name, tmp_path / f"copy{i}.mp4") for i, name in enumerate(files)]
    dataset = annotated(copies)
    assert len(ids(dataset)) == len(EXPECTED)
    assert dataset.statistics().files_indexed == 7


def test_compressed_clips(files: list[str]) -> None:
    decoded = list(annotated(files).as_numpy_iterator())
    packed = list(annotated(files, decode=False).as_numpy_iterator())
    assert len(packed) == len(decoded)
    for whole, clip in zip(decoded, packed):
        assert clip["pts"].tolist() == whole["pts"].tolist()
        (frames,) = nvc.decode_packets([clip["packets"]]).frames.numpy()
        assert np.array_equal(frames, whole["frames"])


def test_contents(files: list[str]) -> None:
    dataset = nvc.VideoDataset(
        contents=[small_video(4), small_video(4)], clip_length=2, segments=[(0.2, 0.4), (1.5, None)]
    )
    seen = [[read_frame(f) for f in e["frames"]] for e in dataset.as_numpy_iterator()]
    assert seen == [[(4, 2), (4, 3)], [(4, 15), (4, 16)], [(4, 17), (4, 18)]]


FORMS: dict[str, Callable[[], Any]] = {
    "list": lambda: [[0.3, 0.5], (1, None)],
    "array": lambda: np.array([[0.3, 0.5], [1, math.inf]]),
    "float32": lambda: np.array([[0.3, 0.5], [1, math.inf]], np.float32),
    "rows of float32": lambda: [np.float32([0.3, 0.5]), np.float32([1, math.inf])],
    "integers": lambda: np.array([[1, 2], [0, 1]]),
    "tensor": lambda: tf.constant([[0.3, 0.5], [1, math.inf]], tf.float64),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(files: list[str], form: str) -> None:
    want = (
        [list(range(10, 20)), list(range(10))]
        if form == "integers"
        else [[3, 4], list(range(10, 20))]
    )
    dataset = nvc.VideoDataset(files[:2], 1, segments=FORMS[form](), index_cache=False)
    seen: list[list[int]] = [[], []]
    for element in dataset.as_numpy_iterator():
        seen[element["video_index"]].append(read_frame(element["frames"][0])[1])
    assert seen == want


def test_rounded_times_mean_the_frames_that_they_are_made_of(tmp_path: Path) -> None:
    """Of a float32 time that is later than its pts, by more than clocks differ."""
    (tmp_path / "slow.mp4").write_bytes(
        nvc.encode_video(np.zeros([20, 16, 16, 3], np.uint8), 0.03).numpy()
    )
    pts = nvc.decode_video((tmp_path / "slow.mp4").read_bytes()).pts.numpy()
    rounded = pts.astype(np.float32)
    (later,) = np.nonzero(rounded - pts > 2e-6)
    assert len(later) > 3
    for frame in later[:-1]:
        segment = np.array([[rounded[frame], rounded[later[-1]]]])
        dataset = nvc.VideoDataset(tmp_path / "slow.mp4", 1, segments=segment, index_cache=False)
        shown = [float(element["pts"][0]) for element in dataset.as_numpy_iterator()]
        assert shown == pts[frame : later[-1]].tolist()


def test_in_a_function(files: list[str]) -> None:
    """Names and segments are known only when the function runs."""
    rows = tf.data.Dataset.from_tensor_slices(
        ([files[v] for v, _, _ in PARTS], [part[1:] for part in PARTS])
    ).batch(5)
    clips = rows.flat_map(
        lambda names, parts: nvc.VideoDataset(names, 2, segments=parts, index_cache=False)
    )
    assert ids(clips) == [(row % 5, clip) for row, clip in EXPECTED]


def test_checkpoints(files: list[str], tmp_path: Path) -> None:
    same = {"shuffle": True, "seed": 4, "shuffle_group": 5}
    whole = ids(annotated(files, **same))
    iterator = iter(annotated(files, **same))
    for _ in range(9):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "c"))
    fresh = iter(annotated(files, **same))
    tf.train.Checkpoint(iterator=fresh).restore(path).assert_consumed()
    assert [(int(e["video_index"]), int(e["clip_index"])) for e in fresh] == whole[9:]
    moved = [*PARTS[:-1], (PARTS[-1][0], PARTS[-1][1], PARTS[-1][2] + 0.01)]
    others = [annotated(files, moved, **same), annotated(files, PARTS[::-1], **same)]
    others.append(nvc.VideoDataset([files[v] for v, _, _ in PARTS], 2, index_cache=False, **same))
    for other in others:
        with pytest.raises(tf.errors.InvalidArgumentError, match="belongs to another VideoDataset"):
            tf.train.Checkpoint(iterator=iter(other)).restore(path)


@pytest.mark.parametrize("build_index", [False, True])
def test_a_segment_without_a_frame_follows_on_error(files: list[str], build_index: bool) -> None:
    parts = [(0, 0.0, 0.2), (1, 7.0, 8.0), (2, 0.31, 0.39), (1, 1.5, None)]
    same = {"build_index": build_index}
    skipping = annotated(files, parts, on_error="skip", **same)
    assert ids(skipping) == [(0, 0), (3, 0), (3, 1)]
    assert skipping.statistics().skipped == {"short: NOT_FOUND": 2}
    told = "001.mp4, clip 0: the segment [7, 8) s has no frame: those of the video are in [0, 2) s"
    assert any(told in message for message in skipping.statistics().messages)
    raising = iter(without_prefetch(annotated(files, parts, num_parallel_calls=1, **same)))
    assert int(next(raising)["video_index"]) == 0
    for name in ("001.mp4", "002.mp4"):
        with pytest.raises(
            tf.errors.NotFoundError, match=f"{name}, clip 0: the segment .* no frame"
        ):
            next(raising)
    assert int(next(raising)["video_index"]) == 3
    dropping = annotated(files, parts, pad="drop", **same)
    assert ids(dropping) == [(0, 0), (3, 0), (3, 1)]


RANGE = "needs 0 <= start < end; an end of None is the video's"
OUT_OF_RANGE = {
    (2, 2): "[2, 2)",
    (3, 2): "[3, 2)",
    (0, math.nan): "[0, nan)",
    (math.nan, 1): "[nan, 1)",
    (-1, 1): "[-1, 1)",
    (math.inf, None): "[inf, inf)",
}


@pytest.mark.parametrize("segment", OUT_OF_RANGE, ids=str)
def test_what_is_no_segment(segment: Any) -> None:
    told = f"segments[1], of b.mp4: the segment {OUT_OF_RANGE[segment]} s {RANGE}"
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(told)):
        nvc.VideoDataset(["a.mp4", "b.mp4"], segments=[(0, 1), segment])


NOT_PAIRS: list[tuple[Any, type[Exception], str]] = [
    ([(0, 1)], ValueError, "a row (start, end) for each of the 2 videos, got shape (1, 2)"),
    ([], ValueError, "got shape (0, 2)"),
    (np.zeros([2, 3]), ValueError, "got shape (2, 3)"),
    ([(0, 1), (1, 2, 3)], TypeError, "segments[1] must be (start, end) in seconds, got (1, 2, 3)"),
    ([(0, 1), (None, 2)], TypeError, "segments[1] must be (start, end)"),
    ((0, 1), TypeError, "segments[0] must be (start, end) in seconds, got 0"),
]


@pytest.mark.parametrize(("segments", "kind", "says"), NOT_PAIRS, ids=str)
def test_refusals(segments: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=re.escape(says)):
        nvc.VideoDataset(["a.mp4", "b.mp4"], segments=segments)


def test_refusals_of_what_only_a_run_knows(files: list[str]) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float64)])
    def count(segments: tf.Tensor) -> tf.Tensor:
        dataset = nvc.VideoDataset(files[:2], 2, segments=segments, index_cache=False)
        return dataset.reduce(0, lambda total, _: total + 1)

    assert count([[0.0, 0.4], [0.0, 0.2]]) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="for each of the 2 videos, got shape"):
        count([[0.0, 1.0]])


def test_times_outside_the_segment_are_errors(files: list[str]) -> None:
    dataset = nvc.VideoDataset(
        files[0], 2, clip_at=[0.1, 0.5, 1.0], segments=[(0.5, 1)], on_error="skip"
    )
    assert ids(dataset) == [(0, 1)]
    messages = "\n".join(dataset.statistics().messages)
    assert dataset.statistics().skipped == {"select: INVALID_ARGUMENT": 2}
    assert "clip_at has 0.1 s, which is outside the row's segment [0.5, 1) s" in messages


def test_a_stream_of_contents_takes_none() -> None:
    contents = tf.data.Dataset.from_tensors(small_video(1))
    with pytest.raises(ValueError, match="segments needs filenames or a list of contents"):
        nvc.VideoDataset(contents=contents, segments=[(0, 1)])
