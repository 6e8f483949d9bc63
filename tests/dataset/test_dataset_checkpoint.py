"""VideoDataset's iterators: saved and restored at any place, also after a kill of their process."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from fork_server import Child, start
from golden_datasets import without_prefetch

import tf_nvcodec as nvc

VIDEOS = ("h264.mp4", "hevc.mp4", "vp9.webm")


@pytest.fixture
def files(clips) -> list[str]:
    return [str(clips.path(name)) for name in VIDEOS]


def dataset(files: list[str], tmp_path: Path, **arguments: Any) -> nvc.VideoDataset:
    return nvc.VideoDataset(
        files, clip_length=4, size=(32, 32), index_cache=tmp_path / "index", **arguments
    )


MODES: dict[str, dict[str, Any]] = {
    "in order": {"clip_step": 9},
    "shuffled groups": {"clip_step": 9, "shuffle": True, "seed": 5, "shuffle_group": 2},
    "shuffled clips": {"clips_per_video": 4, "shuffle": True, "seed": 5},
    "random places": {"clips_per_video": 4, "sampling": "random", "seed": 5},
    "skip": {"clip_step": 9, "on_error": "skip", "shuffle": True, "seed": 5},
    "out of order": {"clip_step": 9, "deterministic": False},
}


def key(element: dict[str, Any]) -> tuple[int, int, bytes, bytes]:
    return (
        int(element["video_index"]),
        int(element["clip_index"]),
        element["pts"].tobytes(),
        element["frames"].tobytes(),
    )


def take(iterator: Any, count: int) -> list[tuple]:
    return [key({k: v.numpy() for k, v in next(iterator).items()}) for _ in range(count)]


@pytest.mark.parametrize("mode", MODES)
def test_restores_at_any_element(files, tmp_path, mode) -> None:
    made = dataset(files, tmp_path, num_parallel_calls=3, **MODES[mode])
    whole = [key(element) for element in made.as_numpy_iterator()]
    assert len(whole) >= 8
    if mode == "out of order":
        whole.sort()
    for place in {0, 1, 2, len(whole) // 2, len(whole) - 1, len(whole)}:
        source = dataset(files, tmp_path, num_parallel_calls=3, **MODES[mode])
        iterator = iter(source)
        before = take(iterator, place)
        path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / f"at{place}"))
        # To save an iterator does not change what it gives next.
        rest = take(iterator, len(whole) - place)
        fresh = iter(dataset(files, tmp_path, num_parallel_calls=2, **MODES[mode]))
        tf.train.Checkpoint(iterator=fresh).restore(path).assert_consumed()
        after = take(fresh, len(whole) - place)
        with pytest.raises(StopIteration):
            next(fresh)
        if mode == "out of order":
            assert sorted(before + after) == whole
        else:
            assert before + after == whole
            assert rest == after


def test_restores_across_epochs(files, tmp_path) -> None:
    """The epochs after the restored one are those that would have come."""
    arguments = {"clips_per_video": 3, "sampling": "random", "shuffle": True, "seed": 2}

    def epochs() -> Any:
        return iter(dataset(files, tmp_path, **arguments).repeat(3))

    iterator = epochs()
    whole = take(iterator, 27)
    assert len({tuple(k[:2] for k in whole[i : i + 9]) for i in (0, 9, 18)}) == 3
    iterator = epochs()
    take(iterator, 13)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "c"))
    fresh = epochs()
    tf.train.Checkpoint(iterator=fresh).restore(path)
    assert take(fresh, 14) == whole[13:]


def test_restores_behind_other_transformations(files, tmp_path) -> None:
    def pipeline() -> Any:
        made = dataset(files, tmp_path, clip_step=9, shuffle=True, seed=1)
        return iter(made.batch(2).prefetch(2))

    whole = [b["clip_index"].numpy().tolist() for b in pipeline()]
    iterator = pipeline()
    for _ in range(2):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "c"))
    fresh = pipeline()
    tf.train.Checkpoint(iterator=fresh).restore(path)
    assert [b["clip_index"].numpy().tolist() for b in fresh] == whole[2:]


def test_a_checkpoint_is_small(files, tmp_path) -> None:
    """Positions, not frames: what was decoded ahead is decoded again."""
    made = nvc.VideoDataset(files, clip_length=16, size=(512, 512), clip_step=4)
    iterator = iter(without_prefetch(made))
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "c"))
    size = sum(file.stat().st_size for file in tmp_path.glob("c-1*"))
    assert Path(path + ".index").exists()
    assert size < 20_000, size


@pytest.mark.parametrize(
    ("saved", "other"),
    [
        ({"clip_step": 9}, {"clip_step": 8}),
        ({"clip_step": 9}, {"clip_step": 9, "shuffle": True}),
        ({"clip_step": 9}, {"clips_per_video": 4}),
        ({"clip_step": 9}, {"clip_step": 9, "fps": 10}),
        ({"clip_step": 9}, {"clip_step": 9, "pad": "drop"}),
        ({"clips_per_video": 4}, {"clips_per_video": 4, "sampling": "random"}),
        # Six videos in two groups, either way.
        ({"shuffle": True, "shuffle_group": 3}, {"shuffle": True, "shuffle_group": 4}),
    ],
)
def test_refuses_another_datasets_checkpoint(files, tmp_path, saved, other) -> None:
    iterator = iter(dataset(2 * files, tmp_path, **saved))
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "c"))
    fresh = iter(dataset(2 * files, tmp_path, **other))
    with pytest.raises(tf.errors.InvalidArgumentError, match="belongs to another VideoDataset"):
        tf.train.Checkpoint(iterator=fresh).restore(path)


def test_a_clip_that_other_times_do_not_have_is_an_error(files, tmp_path) -> None:
    """Two datasets with as many clips of as many videos, divided in another way."""
    times = [[0.0], [0.0, 0.1, 0.2]]
    iterator = iter(without_prefetch(dataset(files[:2], tmp_path, clip_at=times)))
    next(iterator)
    time.sleep(0.3)  # the next clips are decoded ahead
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "c"))
    fresh = iter(without_prefetch(dataset(files[:2], tmp_path, clip_at=times[::-1])))
    tf.train.Checkpoint(iterator=fresh).restore(path)
    with pytest.raises(tf.errors.InvalidArgumentError, match="clip_at has 1 times"):
        list(fresh)


def test_checks_positions_against_changed_files(clips, tmp_path) -> None:
    """A file that has become shorter since the checkpoint was made."""
    video = tmp_path / "video.mp4"
    video.write_bytes(clips.data("h264.mp4"))

    def clips_of_the_file() -> Any:
        return iter(without_prefetch(dataset([str(video)], tmp_path, clip_step=4)))

    iterator = clips_of_the_file()
    take(iterator, 3)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "c"))
    first = nvc.decode_video(clips.data("h264.mp4"), stop=8).frames
    video.write_bytes(nvc.encode_video(first, fps=25).numpy())
    fresh = clips_of_the_file()
    tf.train.Checkpoint(iterator=fresh).restore(path)
    # The message depends on whether the decoding of the next clip had begun.
    told = "clip 3 does not exist: the video now has 2 |is clip 3 of unit 0, .* files have changed"
    with pytest.raises(tf.errors.InvalidArgumentError, match=told):
        next(fresh)


TRAINING = """
import sys
import time
import tensorflow as tf
import tf_nvcodec as nvc

files, folder, seen, last = sys.argv[1].split(","), sys.argv[2], sys.argv[3], int(sys.argv[4])
dataset = nvc.VideoDataset(
    files, clip_length=4, size=(32, 32), clips_per_video=8, sampling="random", shuffle=True,
    seed=7, index_cache=folder + "/index")
iterator = iter(dataset.repeat(2))
step = tf.Variable(0, dtype=tf.int64)
manager = tf.train.CheckpointManager(
    tf.train.Checkpoint(iterator=iterator, step=step), folder + "/ckpt", max_to_keep=2)
manager.restore_or_initialize()
with open(seen, "a") as log:
    for element in iterator:
        log.write(f"{int(step)} {int(element['video_index'])} {int(element['clip_index'])} "
                  f"{float(element['pts'][0]):.6f} {int(element['frames'].numpy().sum())}\\n")
        log.flush()
        step.assign_add(1)
        if int(step) % 5 == 0:
            manager.save()
        if int(step) == last:
            time.sleep(1000)
"""


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "out of order"])
def test_symbolic_checkpoints_hold_no_frames(files, tmp_path, mode) -> None:
    def pipeline() -> tf.data.Dataset:
        made = dataset(files, tmp_path, num_parallel_calls=3, **MODES[mode])
        options = tf.data.Options()
        options.experimental_symbolic_checkpoint = True
        return made.repeat(2).batch(3).prefetch(2).with_options(options)

    def batches(iterator: Any) -> list[tuple]:
        return [key({k: v.numpy() for k, v in batch.items()}) for batch in iterator]

    def key(batch: dict[str, Any]) -> tuple[bytes, ...]:
        return tuple(batch[name].tobytes() for name in ("video_index", "clip_index", "frames"))

    whole = batches(pipeline())
    for place in (1, len(whole) // 2 + 1, len(whole) - 1):
        again = pipeline()
        iterator = iter(again)
        assert [key({k: v.numpy() for k, v in next(iterator).items()}) for _ in range(place)] == (
            whole[:place]
        )
        saved = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "saved"))
        size = sum(file.stat().st_size for file in tmp_path.glob(Path(saved).name + ".*"))
        assert size < 10_000
        restored = iter(again)
        tf.train.Checkpoint(iterator=restored).restore(saved)
        assert batches(restored) == whole[place:]


def train(files: list[str], folder: Path, seen: Path, stay_at: int = 0) -> Child:
    return start("-c", TRAINING, ",".join(files), folder, seen, stay_at)


def test_goes_on_after_kill_9(files, tmp_path) -> None:
    whole, parts = tmp_path / "whole.txt", tmp_path / "parts.txt"
    assert train(files, tmp_path / "a", whole).wait() == 0
    expected = whole.read_text().splitlines()
    assert len(expected) == 48

    killed = train(files, tmp_path / "b", parts, stay_at=18)
    while not parts.exists() or len(parts.read_text().splitlines()) < 17:
        assert killed.poll() is None
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    before = parts.read_text().splitlines()
    assert 17 <= len(before) <= 18
    assert train(files, tmp_path / "b", parts).wait() == 0
    lines = parts.read_text().splitlines()
    # A killed process may leave half a line. Steps after the last checkpoint come again.
    by_step = {line.split()[0]: line for line in lines if len(line.split()) == 5}
    assert [by_step[str(step)] for step in range(48)] == expected
    again = len(lines) - 48
    assert 0 <= again <= 6, "the second run went on from the last checkpoint"
    assert np.all(np.diff([int(line.split()[0]) for line in lines[len(before) :]]) == 1)
