"""Epochs: the same clips whatever the parallelism, and steady memory over many of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from fork_server import printed_by
from small_videos import write_small_videos

import tf_nvcodec as nvc

FILES = 12


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("epochs")
    paths = write_small_videos(folder, FILES)
    Path(paths[5]).write_bytes(b"no video")
    return paths


CHOICES: list[dict[str, Any]] = [
    {},
    {"shuffle": True, "shuffle_group": 4},
    {"shuffle": True, "build_index": True},
    {"clips_per_video": 5, "sampling": "random"},
    {"clips_per_video": 5, "shuffle": True},
    {"clips_per_video": 5, "sampling": "random", "shuffle": True},
    {"clip_at": [0.0, 1.3, 0.5], "shuffle": True},
]


def epochs(
    paths: list[str], choice: dict[str, Any], parallel: int, deterministic: bool | None = None
) -> list[tuple[Any, ...]]:
    """Two of them, as what tells their clips apart."""
    dataset = nvc.VideoDataset(
        paths,
        4,
        size=(8, 8),
        seed=11,
        on_error="skip",
        index_cache=False,
        num_parallel_calls=parallel,
        deterministic=deterministic,
        **choice,
    )
    return [
        (int(e["video_index"]), int(e["clip_index"]), tuple(e["pts"]), e["frames"].tobytes())
        for e in dataset.repeat(2).as_numpy_iterator()
    ]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_parallelism_changes_nothing(paths: list[str], choice: dict[str, Any]) -> None:
    alone = epochs(paths, choice, 1)
    half = len(alone) // 2
    clips = 3 if "clip_at" in choice else 5
    assert half == (FILES - 1) * clips
    for epoch in (alone[:half], alone[half:]):
        places = [clip[:2] for clip in epoch]
        every = [(v, c) for v in range(FILES) if v != 5 for c in range(clips)]
        assert sorted(places) == every
        assert (places == every) == ("shuffle" not in choice)
    drawn = "shuffle" in choice or choice.get("sampling") == "random"
    assert (alone[:half] != alone[half:]) == drawn
    for parallel in (2, 8, tf.data.AUTOTUNE):
        assert epochs(paths, choice, parallel) == alone, parallel
    for parallel in (2, 8):
        loose = epochs(paths, choice, parallel, deterministic=False)
        assert sorted(loose) == sorted(alone), parallel


@pytest.mark.parametrize("choice", [{}, {"clips_per_video": 3}], ids=str)
@pytest.mark.parametrize("seed", [None, 0, 5])
def test_shuffles(paths: list[str], choice: dict[str, Any], seed: int | None) -> None:
    def made(reshuffle: bool) -> nvc.VideoDataset:
        return nvc.VideoDataset(
            paths,
            4,
            shuffle=True,
            seed=seed,
            reshuffle_each_iteration=reshuffle,
            on_error="skip",
            **choice,
        )

    def order(dataset: tf.data.Dataset) -> list[tuple[int, int]]:
        return [(int(e["video_index"]), int(e["clip_index"])) for e in dataset.as_numpy_iterator()]

    again, same = made(True), made(False)
    once = order(same)
    assert order(same) == once != sorted(once)
    assert order(same.repeat(2)) == once + once
    twice = order(again.repeat(2))
    first, second = twice[: len(once)], twice[len(once) :]
    assert sorted(first) == sorted(second) == sorted(once)
    assert first != second
    assert order(again) != order(again)
    assert (order(made(False)) == once) == (seed is not None)
    assert (order(made(True).repeat(2)) == twice) == (seed is not None)


def test_options_may_ask_for_any_order(paths: list[str]) -> None:
    options = tf.data.Options()
    options.deterministic = False
    dataset = nvc.VideoDataset(paths, 4, on_error="skip", index_cache=False, size=(8, 8))
    want = [(v, c) for v in range(FILES) if v != 5 for c in range(5)]
    for given in (dataset, dataset.with_options(options)):
        found = [(int(e["video_index"]), int(e["clip_index"])) for e in given]
        assert sorted(found) == want
        assert found == want or given is not dataset


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_iterators_left_alone(paths: list[str], choice: dict[str, Any]) -> None:
    """Given up before, at and after the first clip, while others are on their way."""
    dataset = nvc.VideoDataset(
        paths, 4, size=(8, 8), on_error="skip", index_cache=False, num_parallel_calls=8, **choice
    )
    for i in range(30):
        iterator = iter(dataset)
        for _ in range(i % 4):
            next(iterator)
        del iterator
    assert len(list(dataset)) == len(list(dataset))


def test_shards_of_one_seed_make_up_the_epoch(paths: list[str]) -> None:
    """Random clips, too, are those that the whole dataset has."""

    def clips(dataset: tf.data.Dataset) -> list[tuple[Any, ...]]:
        return sorted(
            (int(e["video_index"]), int(e["clip_index"]), *e["pts"])
            for e in dataset.as_numpy_iterator()
        )

    dataset = nvc.VideoDataset(
        paths, 4, clips_per_video=3, sampling="random", shuffle=True, seed=0, on_error="skip"
    )
    whole = clips(dataset)
    assert whole != clips(dataset), "another epoch"
    parts = [clips(dataset.shard(3, i)) for i in range(3)]
    assert sorted(parts[0] + parts[1] + parts[2]) == whole


_MANY = """
import ctypes, json, os, sys, time
import tensorflow as tf
import tf_nvcodec as nvc

def state():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return [
        int(lines["VmRSS"].split()[0]) / 1024,
        int(lines["Threads"]),
        len(os.listdir("/proc/self/fd")),
    ]

def least_state():
    # glibc before 2.38 can't reuse some freed aligned memory, so the size varies by 250 MB.
    ctypes.CDLL(None).malloc_trim(0)
    # Threads of a deleted iterator may still be ending.
    states = []
    for _ in range(10):
        states.append(state())
        time.sleep(0.1)
    return [min(values) for values in zip(*states)]

dataset = nvc.VideoDataset(
    sys.argv[4:], 4, size=(16, 16), clips_per_video=4, sampling="random", shuffle=True, seed=1,
    on_error="skip", num_parallel_calls=2, index_cache=sys.argv[1],
)
if sys.argv[2] == "one iterator":
    dataset = dataset.repeat()
states, clips, count = [], 0, int(sys.argv[3])
while clips < count:
    for element in dataset:
        clips += 1
        if clips % (count // 5) == 0:
            states.append(least_state())
        if clips == count:
            break
print(json.dumps(states))
"""


@pytest.mark.serial
@pytest.mark.parametrize(
    ("how", "count"),
    [
        ("many iterators", 2000),
        pytest.param("one iterator", 10000, marks=pytest.mark.slow),
        pytest.param("many iterators", 10000, marks=pytest.mark.slow),
    ],
)
def test_many_clips_keep_the_size(tmp_path: Path, how: str, count: int) -> None:
    """The clips are of 50 files, one of them broken."""
    paths = write_small_videos(tmp_path, 50)
    Path(paths[20]).write_bytes(b"no video")
    printed = printed_by("-c", _MANY, tmp_path / "index", how, count, *paths)
    states = json.loads(printed.splitlines()[-1])
    assert len(states) == 5
    (before, threads, files), (after, more_threads, more_files) = states[0], states[-1]
    print(f"{how}: MB, threads, files {states}")
    assert after - before < 20, f"from {before:.0f} to {after:.0f} MB in {count * 4 // 5} clips"
    assert more_threads <= threads + 2
    assert more_files <= files + 2
