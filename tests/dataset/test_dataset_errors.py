"""Broken files among sound ones, files that change, and a frame-index cache that doesn't work."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fork_server
import numpy as np
import pytest
import tensorflow as tf
from golden_clips import Clips
from small_videos import read_frame, small_video, write_small_videos

import tf_nvcodec as nvc

COUNT = 40
BROKEN = (7, 30)  # 5 %
CLIP = 5  # frames; four clips a file
SOUND_CLIPS = [(v, c) for v in range(COUNT) if v not in BROKEN for c in range(4)]


def damage_packet(path: Path, number: int) -> None:
    """Zeros in place of a packet's coefficients."""
    ask = ["ffprobe", "-v", "quiet", "-of", "json", "-show_packets", str(path)]
    packets = json.loads(subprocess.run(ask, check=True, capture_output=True).stdout)["packets"]
    position, size = int(packets[number]["pos"]), int(packets[number]["size"])
    data = bytearray(path.read_bytes())
    data[position + 9 : position + size] = bytes(size - 9)
    path.write_bytes(bytes(data))


def cut_in_two(path: Path) -> None:
    whole = small_video(3, faststart=False)  # its index is at the end
    path.write_bytes(whole[: len(whole) // 2])


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


# How to break a file, the reason for which it is skipped, and how many of its clips are.
KINDS: dict[str, tuple[Callable[[Path], Any], str, int]] = {
    "truncated": (cut_in_two, "index: INVALID_ARGUMENT", 4),
    "garbage": (
        lambda p: p.write_bytes(bytes(random.Random(1).choices(range(256), k=5000))),
        "index: INVALID_ARGUMENT",
        4,
    ),
    "missing": (lambda p: p.unlink(), "open: NOT_FOUND", 4),
    "empty": (lambda p: p.write_bytes(b""), "index: INVALID_ARGUMENT", 4),
    "a folder": (make_folder, "open: INVALID_ARGUMENT", 4),
    "text": (lambda p: p.write_text("#EXTM3U\nnone.mp4\n" * 50), "index: INVALID_ARGUMENT", 4),
    "damaged frame": (lambda p: damage_packet(p, 13), "decode: DATA_LOSS", 2),
}
PAIRS = [
    ("truncated", "garbage"),
    ("missing", "empty"),
    ("a folder", "text"),
    ("damaged frame", "missing"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "videos").mkdir()
    write_small_videos(tmp_path / "videos", COUNT)
    return tmp_path / "videos"


def break_files(folder: Path, kinds: tuple[str, str]) -> list[str]:
    paths = [str(folder / f"{i:03d}.mp4") for i in range(COUNT)]
    for place, kind in zip(BROKEN, kinds):
        KINDS[kind][0](Path(paths[place]))
    return paths


def dataset_of(paths: Any, **arguments: Any) -> nvc.VideoDataset:
    """Of four clips a file, in order."""
    return nvc.VideoDataset(
        paths,
        CLIP,
        **{"clips_per_video": 4, "index_cache": False, "num_parallel_calls": 2, **arguments},
    )


def places(elements: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(int(e["video_index"]), int(e["clip_index"])) for e in elements]


def check_content(elements: list[dict[str, Any]]) -> None:
    """Each sound clip shows what its file and its place in it say."""
    for element in elements:
        video, clip = int(element["video_index"]), int(element["clip_index"])
        if element["mask"].all():
            want = [(video, CLIP * clip + i) for i in range(CLIP)]
            assert [read_frame(frame) for frame in element["frames"]] == want


def lost_clips(kinds: tuple[str, str]) -> dict[tuple[int, int], str]:
    """The clips that can't be decoded whole, and why."""
    lost = {}
    for place, kind in zip(BROKEN, kinds):
        _, reason, clips = KINDS[kind]
        lost.update({(place, clip): reason for clip in range(4 - clips, 4)})
    return lost


def count_reasons(lost: dict[tuple[int, int], str]) -> dict[str, int]:
    reasons = list(lost.values())
    return {reason: reasons.count(reason) for reason in set(reasons)}


EVERY_CLIP = [(video, clip) for video in range(COUNT) for clip in range(4)]


@pytest.mark.parametrize("kinds", PAIRS, ids="+".join)
def test_raise_names_file_and_clip_and_goes_on(folder: Path, kinds: tuple[str, str]) -> None:
    paths, lost = break_files(folder, kinds), lost_clips(kinds)
    iterator = iter(dataset_of(paths))
    seen: list[dict[str, Any]] = []
    for video, clip in EVERY_CLIP:
        if (video, clip) not in lost:
            element = next(iterator)
            seen.append({name: value.numpy() for name, value in element.items()})
            continue
        with pytest.raises(tf.errors.OpError) as caught:
            next(iterator)
        assert f"{paths[video]}, clip {clip}: " in caught.value.message
        assert not isinstance(caught.value, (tf.errors.OutOfRangeError, tf.errors.InternalError))
    with pytest.raises(StopIteration):
        next(iterator)
    assert places(seen) == [place for place in EVERY_CLIP if place not in lost]
    check_content(seen)


@pytest.mark.parametrize("kinds", PAIRS, ids="+".join)
def test_skip_leaves_out_the_broken_ones_alone(folder: Path, kinds: tuple[str, str]) -> None:
    paths, lost = break_files(folder, kinds), lost_clips(kinds)
    dataset = dataset_of(paths, on_error="skip")
    elements = list(dataset.as_numpy_iterator())
    assert places(elements) == [place for place in EVERY_CLIP if place not in lost]
    assert all(element["mask"].all() for element in elements)
    check_content(elements)
    found = dataset.statistics()
    assert found.skipped == count_reasons(lost)
    assert found.clips == len(elements)
    assert found.frames == CLIP * len(elements)
    assert len(found.messages) == len(lost)
    for (video, clip), message in zip(sorted(lost), sorted(found.messages)):
        assert f"{paths[video]}, clip {clip}: " in message
    openable = [v for v in range(COUNT) if "open" not in lost.get((v, 3), "")]
    indexable = [v for v in openable if "index" not in lost.get((v, 3), "")]
    # One pass reads the four clips of a video. Each clip tries a file anew that can't be indexed.
    assert found.files_opened == len(indexable) + 4 * (len(openable) - len(indexable))
    assert found.files_indexed == len(indexable)
    assert found.index_seconds > 0 < found.decode_seconds
    assert 0 < found.wait_seconds <= found.active_seconds
    assert 0 <= found.wait_fraction <= 1
    assert found.bytes_read > 0
    assert found.frames_per_second == pytest.approx(found.frames / found.active_seconds)
    assert f"{len(lost)} clips skipped" in str(found)


@pytest.mark.parametrize("kinds", PAIRS, ids="+".join)
def test_repeat_masks_damaged_frames(folder: Path, kinds: tuple[str, str]) -> None:
    paths, lost = break_files(folder, kinds), lost_clips(kinds)
    dataset = dataset_of(paths, on_error="repeat")
    elements = list(dataset.as_numpy_iterator())
    check_content(elements)
    # Clip 2 has frames 10 to 14, and three of them are good. Clip 3 has no good frame.
    unreadable = {p for p in lost if lost[p] != "decode: DATA_LOSS" or p[1] == 3}
    assert places(elements) == [place for place in EVERY_CLIP if place not in unreadable]
    masked = [element for element in elements if not element["mask"].all()]
    assert places(masked) == [p for p in lost if p not in unreadable]
    for element in masked:
        assert element["mask"].tolist() == [True] * 3 + [False] * 2
        video = int(element["video_index"])
        shown = [read_frame(frame) for frame in element["frames"]]
        assert shown == [(video, 10), (video, 11)] + [(video, 12)] * 3
    found = dataset.statistics()
    assert found.skipped == count_reasons({p: lost[p] for p in unreadable})
    assert found.frames == sum(int(element["mask"].sum()) for element in elements)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("build_index", [False, True])
def test_all_clips_of_a_folder_with_broken_files(
    folder: Path, shuffle: bool, build_index: bool
) -> None:
    """Where the number of clips is known only from the files."""
    paths = break_files(folder, ("garbage", "missing"))
    dataset = dataset_of(
        paths,
        clips_per_video=None,
        shuffle=shuffle,
        build_index=build_index,
        on_error="skip",
        seed=3,
    )
    for _ in range(2):
        elements = list(dataset.as_numpy_iterator())
        assert sorted(places(elements)) == SOUND_CLIPS
        assert (places(elements) == SOUND_CLIPS) != shuffle
        check_content(elements)
    # A broken file counts as one skipped clip in each of the two epochs.
    assert dataset.statistics().skipped == {"index: INVALID_ARGUMENT": 2, "open: NOT_FOUND": 2}


def test_build_index_names_what_is_broken(folder: Path) -> None:
    paths = break_files(folder, ("garbage", "missing"))
    with pytest.raises(ValueError, match=r"2 of 40 files can't be indexed") as caught:
        dataset_of(paths, clips_per_video=None, build_index=True)
    assert paths[BROKEN[0]] in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"shuffle": True}, {"clips_per_video": None}, {"clips_per_video": None, "shuffle": True}],
    ids=str,
)
@pytest.mark.parametrize("policy", ["skip", "repeat"])
def test_nothing_but_broken_files(tmp_path: Path, arguments: dict[str, Any], policy: str) -> None:
    paths = []
    for i, kind in enumerate(("truncated", "garbage", "missing", "empty", "a folder", "text")):
        path = tmp_path / f"{i}.mp4"
        path.write_bytes(small_video(i))
        KINDS[kind][0](path)
        paths.append(str(path))
    dataset = dataset_of(paths, on_error=policy, **arguments)
    assert not list(dataset)
    assert not list(dataset.repeat())
    assert not list(dataset.repeat(3).batch(2))
    in_memory = dataset_of(None, contents=[b"", b"nothing"], on_error=policy, **arguments)
    assert not list(in_memory.repeat())


def test_a_truncated_file_with_its_index_in_front_is_a_shorter_video(tmp_path: Path) -> None:
    """The frame inside which it ends is damaged."""
    path = tmp_path / "cut.mp4"
    path.write_bytes(small_video(3)[: len(small_video(3)) * 9 // 10])
    want = nvc.decode_video(path.read_bytes(), on_error="repeat").frames
    (element,) = nvc.VideoDataset([str(path)], 20, index_cache=False, on_error="repeat")
    assert element["mask"].numpy().sum() == len(want) - 1 < 20
    np.testing.assert_array_equal(element["frames"][: len(want)], want)
    with pytest.raises(tf.errors.DataLossError, match="its bytes are missing"):
        list(nvc.VideoDataset([str(path)], 20, index_cache=False))


def test_statistics_while_iterating(folder: Path) -> None:
    paths = break_files(folder, ("missing", "garbage"))
    dataset = dataset_of(paths, on_error="skip")
    assert dataset.statistics().clips == 0
    assert dataset.statistics().frames_per_second == 0
    assert dataset.statistics().wait_fraction == 0
    for i, _ in enumerate(dataset):
        # tf.data reads ahead; how far depends on the machine's load.
        assert i + 1 <= dataset.statistics().clips <= len(SOUND_CLIPS)
    assert dataset.statistics().clips == len(SOUND_CLIPS)
    assert sum(dataset.statistics().skipped.values()) == 8
    # Shards and epochs add to the dataset's own statistics. Another dataset has others.
    for part in (dataset.shard(2, 0), dataset.shard(2, 1)):
        list(part)
    assert dataset.statistics().clips == 2 * len(SOUND_CLIPS)
    assert sum(dataset.statistics().skipped.values()) == 2 * 8
    assert dataset_of(paths).statistics().clips == 0


def shown_videos(dataset: tf.data.Dataset) -> list[int]:
    """By the frames themselves."""
    return [read_frame(e["frames"][0])[0] for e in dataset.as_numpy_iterator()]


def padded(data: bytes, size: int) -> bytes:
    """With an empty box at its end, which says nothing."""
    return data + (size - len(data)).to_bytes(4, "big") + b"free" + bytes(size - len(data) - 8)


@pytest.mark.parametrize("cached", [False, True])
def test_a_file_that_changes_between_epochs(tmp_path: Path, cached: bool) -> None:
    path = tmp_path / "video.mp4"
    cache = str(tmp_path / "index") if cached else False
    size = max(len(small_video(i)) for i in range(5)) + 100
    path.write_bytes(padded(small_video(1), size))
    dataset = dataset_of([str(path)], index_cache=cache, on_error="skip")
    assert shown_videos(dataset) == [1] * 4
    path.write_bytes(padded(small_video(2), size))  # of the same size
    assert shown_videos(dataset) == [2] * 4
    path.write_bytes(small_video(3))
    assert shown_videos(dataset) == [3] * 4
    other = tmp_path / "other.mp4"
    other.write_bytes(small_video(4))
    other.replace(path)
    assert shown_videos(dataset) == [4] * 4
    path.write_bytes(b"nothing of use")
    assert shown_videos(dataset) == []
    path.unlink()
    assert shown_videos(dataset) == []
    path.write_bytes(small_video(0))
    assert shown_videos(dataset) == [0] * 4
    assert dataset.statistics().files_indexed == 5


# The process keeps indexes in memory, by file and max_pixels. A new value makes it read the disk.
def limits() -> Callable[[], int]:
    numbers = iter(range(1 << 20, 1 << 21))
    return lambda: next(numbers)


next_limit = limits()


def indexed_now(paths: list[str], cache: Any) -> int:
    """How many files an epoch indexed by reading them; checks what it showed."""
    dataset = dataset_of(paths, index_cache=cache, max_pixels=next_limit())
    elements = list(dataset.as_numpy_iterator())
    assert places(elements) == [(v, c) for v in range(len(paths)) for c in range(4)]
    check_content(elements)
    return dataset.statistics().files_indexed


def test_indexes_are_kept_on_disk(folder: Path, tmp_path: Path) -> None:
    paths, cache = break_files(folder, ("missing", "missing"))[:6], tmp_path / "a" / "cache"
    assert indexed_now(paths, cache) == 6
    assert len(list(cache.rglob("*"))) >= 6
    assert indexed_now(paths, str(cache)) == 0
    os.utime(paths[2])
    assert indexed_now(paths, cache) == 1
    assert indexed_now(paths, cache) == 0


def test_index_videos(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    paths, cache = break_files(folder, ("garbage", "missing")), tmp_path / "cache"
    report = nvc.index_videos(paths, index_cache=cache, progress=True)
    sound = [i not in BROKEN for i in range(COUNT)]
    assert report.num_frames.tolist() == [20 * good for good in sound]
    assert sorted(report.errors) == list(BROKEN)
    assert "not a video container" in report.errors[BROKEN[0]]
    assert "No such file" in report.errors[BROKEN[1]]
    assert "40/40" in capfd.readouterr().err
    assert indexed_now([path for path, good in zip(paths, sound) if good][:7], cache) == 0
    nvc.index_videos(paths, index_cache=cache, progress=False)
    assert "indexing" not in capfd.readouterr().err


def test_index_videos_takes_what_a_dataset_takes(clips: Clips, tmp_path: Path) -> None:
    for name, clip in (("b", "h264.mp4"), ("a", "mjpeg.avi")):
        shutil.copy(clips.path(clip), tmp_path / f"{name}.video")
    one, two = tmp_path / "a.video", tmp_path / "b.video"
    counts = [len(clips.frames("mjpeg.avi")), len(clips.frames("h264.mp4"))]
    for names in (tmp_path / "*.video", str(tmp_path / "[ab].video"), [one, two]):
        report = nvc.index_videos(names, index_cache=False, progress=False)
        assert report.num_frames.tolist() == counts
    for name in (one, str(one), os.fsencode(one), tf.data.Dataset.from_tensors(str(one))):
        report = nvc.index_videos(name, index_cache=False, progress=False)
        assert report.num_frames.tolist() == counts[:1]
    with pytest.raises(ValueError, match="no file matches"):
        nvc.index_videos(str(tmp_path / "*.mp4"), progress=False)


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "garbage": lambda data: bytes(random.Random(2).choices(range(256), k=len(data))),
    "half": lambda data: data[: len(data) // 2],
    "bit": lambda data: data[:-9] + bytes([data[-9] ^ 4]) + data[-8:],
    "more": lambda data: data + b"\0" * 9,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_cache_entries_are_made_anew(folder: Path, tmp_path: Path, damage: str) -> None:
    paths, cache = [str(folder / f"{i:03d}.mp4") for i in range(4)], tmp_path / "cache"
    indexed_now(paths, cache)
    for path in files_in(cache):
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert indexed_now(paths, cache) == 4
    assert indexed_now(paths, cache) == 0


def test_cache_entries_of_other_files(folder: Path, tmp_path: Path) -> None:
    """Swapped with each other: an index belongs to the file that it names."""
    paths, cache = [str(folder / f"{i:03d}.mp4") for i in range(2)], tmp_path / "cache"
    indexed_now(paths, cache)
    first, second = files_in(cache)
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    assert indexed_now(paths, cache) == 2


def test_no_cache(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, cache = [str(folder / f"{i:03d}.mp4") for i in range(4)], tmp_path / "cache"
    monkeypatch.setenv("TF_NVCODEC_INDEX_CACHE", str(cache))
    assert indexed_now(paths, False) == 4
    assert not cache.exists()
    assert indexed_now(paths, None) == 4
    assert len(files_in(cache)) == 4
    # A file is where the folder should be, or nobody can write to the folder.
    (tmp_path / "file").write_text("here first")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/self/index")):
        assert indexed_now(paths, place) == 4
    assert (tmp_path / "file").read_text() == "here first"
    # A folder is where the cache entry should be.
    for path in files_in(cache):
        path.unlink()
        path.mkdir()
    assert indexed_now(paths, None) == 4


_PROCESS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from test_dataset_errors import dataset_of
from golden_clips import Clips
from small_videos import read_frame
dataset = dataset_of(sys.argv[3:], index_cache=sys.argv[2])
seen = [[list(read_frame(f)) for f in e["frames"]] for e in dataset.as_numpy_iterator()]
print(json.dumps([seen, dataset.statistics().files_indexed]))
"""


def test_two_processes_on_one_cache(folder: Path, tmp_path: Path) -> None:
    paths, cache = [str(folder / f"{i:03d}.mp4") for i in range(COUNT)], tmp_path / "cache"
    command = ["-c", _PROCESS, Path(__file__).parent, cache, *paths]
    with fork_server.start(*command) as first, fork_server.start(*command) as second:
        printed = [child.communicate()[0] for child in (first, second)]
    answers = [json.loads(text.splitlines()[-1]) for text in printed]
    want = [[[v, CLIP * c + i] for i in range(CLIP)] for v, c in EVERY_CLIP]
    assert [seen for seen, _ in answers] == [want, want]
    assert COUNT <= sum(indexed for _, indexed in answers) <= 2 * COUNT
    assert indexed_now(paths, cache) == 0
    assert len(files_in(cache)) == COUNT


@pytest.mark.parametrize("cached", [False, True])
def test_max_pixels(tmp_path: Path, cached: bool) -> None:
    (path,) = write_small_videos(tmp_path, 1)
    cache = tmp_path / "cache"
    if cached:
        indexed_now([path], cache)
    dataset = dataset_of([path], index_cache=cache, max_pixels=64 * 64 - 1)
    with pytest.raises(tf.errors.OpError, match="max_pixels") as caught:
        next(iter(dataset))
    assert path in caught.value.message
    skipping = dataset_of([path], index_cache=cache, max_pixels=64 * 64 - 1, on_error="skip")
    assert not list(skipping)
    assert sum(skipping.statistics().skipped.values()) == 4
    assert len(list(dataset_of([path], index_cache=cache, max_pixels=64 * 64))) == 4


def test_a_video_that_cannot_be_counted_is_opened_once(tmp_path: Path) -> None:
    """If it opened at a second time, only the first of its clips would come."""
    (tmp_path / "bad.mp4").write_bytes(b"no video" * 100)
    made = nvc.VideoDataset([str(tmp_path / "bad.mp4")], CLIP, on_error="skip", index_cache=False)
    assert list(made) == []
    found = made.statistics()
    assert (found.files_opened, found.skipped) == (1, {"index: INVALID_ARGUMENT": 1})
