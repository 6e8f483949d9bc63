"""Seeds of a VideoDataset that a function or a graph makes: drawn at each run, or a tensor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from small_videos import write_small_videos

import tf_nvcodec as nvc

FILES, CLIPS = 4, 3
COUNT = FILES * CLIPS
CHOICES: list[dict[str, Any]] = [{"shuffle": True}, {"sampling": "random"}]

Place = tuple[int, int, float]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_small_videos(tmp_path_factory.mktemp("seeds"), FILES)


def made(paths: list[str], **arguments: Any) -> nvc.VideoDataset:
    return nvc.VideoDataset(
        paths, 2, size=(8, 8), clips_per_video=CLIPS, index_cache=False, **arguments
    )


def place(element: dict[str, Any]) -> Place:
    return int(element["video_index"]), int(element["clip_index"]), float(element["pts"][0])


def places(dataset: tf.data.Dataset) -> list[Place]:
    return [place(element) for element in dataset.as_numpy_iterator()]


def parts(listed: list[Place]) -> list[list[Place]]:
    return [listed[i : i + COUNT] for i in range(0, len(listed), COUNT)]


def all_differ(orders: list[list[Place]]) -> bool:
    return len({tuple(order) for order in orders}) == len(orders)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("reshuffle", [True, False])
def test_a_mapped_function_draws_for_each_element(paths, choice, reshuffle) -> None:
    def one(_: tf.Tensor) -> tf.data.Dataset:
        return made(paths, reshuffle_each_iteration=reshuffle, **choice)

    for whole in (
        tf.data.Dataset.range(3).flat_map(one),
        tf.data.Dataset.range(3).interleave(one, cycle_length=2, block_length=COUNT),
    ):
        assert all_differ(parts(places(whole)) + parts(places(whole)))


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("reshuffle", [True, False])
def test_a_function_draws_at_each_call(paths, choice, reshuffle) -> None:
    @tf.function
    def firsts() -> tf.Tensor:
        found = tf.TensorArray(tf.float64, 0, dynamic_size=True, element_shape=[])
        for clip in made(paths, reshuffle_each_iteration=reshuffle, **choice).repeat(2):
            video = tf.cast(clip["video_index"], tf.float64)
            found = found.write(found.size(), 100 * video + clip["pts"][0])
        return found.stack()

    calls = [firsts().numpy().tolist() for _ in range(2)]
    assert calls[0] != calls[1]
    for call in calls:
        assert (call[:COUNT] != call[COUNT:]) == reshuffle


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_a_graph_of_tensorflow_1_draws_at_each_beginning(paths, choice) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        iterator = tf.compat.v1.data.make_initializable_iterator(made(paths, **choice))
        following = iterator.get_next()
        epochs = []
        for _ in range(2):
            session.run(iterator.initializer)
            epochs.append([place(session.run(following)) for _ in range(COUNT)])
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_a_number_is_the_same_for_each_element(paths, choice) -> None:
    """As of Dataset.shuffle; a repeat within the function goes on."""
    whole = tf.data.Dataset.range(2).flat_map(lambda _: made(paths, seed=5, **choice).repeat(2))
    first, second, again, last = parts(places(whole))
    assert (first, second) == (again, last) == tuple(parts(places(whole))[:2])
    assert first != second
    assert first == places(made(paths, seed=5, **choice))


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_a_tensor_tells_elements_apart(paths, choice) -> None:
    expected = [places(made(paths, seed=i, **choice)) for i in range(3)]
    assert all_differ(expected)
    for dtype in (tf.int64, tf.int32, tf.uint8):
        whole = tf.data.Dataset.range(3).flat_map(
            lambda epoch, dtype=dtype: made(paths, seed=tf.cast(epoch, dtype), **choice)
        )
        assert parts(places(whole)) == expected


def test_a_tensor_for_bytes_and_shards(paths) -> None:
    videos = tf.data.Dataset.from_tensor_slices([Path(path).read_bytes() for path in paths])
    drawn = {"clips_per_video": CLIPS, "sampling": "random", "index_cache": False}

    def streamed(epoch: tf.Tensor) -> tf.data.Dataset:
        return nvc.VideoDataset(contents=videos, clip_length=2, seed=epoch, **drawn)

    whole = tf.data.Dataset.range(2).flat_map(streamed)
    assert all_differ(parts(places(whole)))
    assert places(whole) == places(whole)
    halves = [
        tf.data.Dataset.range(2).flat_map(
            lambda epoch, half=half: made(paths, seed=epoch, shuffle=True).shard(2, half)
        )
        for half in range(2)
    ]
    both = sorted(places(halves[0]) + places(halves[1]))
    assert both == sorted(places(made(paths)) * 2)


@pytest.mark.parametrize(
    "seed",
    [
        np.int32(3),
        np.array(3),
        tf.constant(3),
        tf.constant(3, tf.int64),
        tf.constant(3, tf.uint8),
        tf.Variable(3),
    ],
    ids=repr,
)
def test_integers_of_many_kinds(paths, seed) -> None:
    assert places(made(paths, shuffle=True, seed=seed)) == places(made(paths, shuffle=True, seed=3))


@pytest.mark.parametrize(
    ("seed", "kind", "says"),
    [
        ("a", TypeError, r"seed must be an integer, .* got 'a' \(str\)"),
        (1.5, TypeError, r"seed must be an integer, .* got 1.5 \(float\)"),
        (True, TypeError, "seed must be an integer, .* got True"),
        ([1], TypeError, r"seed must be an integer, .* got \[1\]"),
        (tf.constant(1.5), TypeError, "seed must be an integer, .* float32: cast it to tf.int64"),
        (tf.constant("a"), TypeError, "seed must be an integer, got a tensor of string"),
        (tf.constant([1, 2]), ValueError, r"seed must be a scalar, got shape \(2,\)"),
    ],
    ids=repr,
)
def test_other_kinds_are_named(paths, seed, kind, says) -> None:
    with pytest.raises(kind, match=says):
        made(paths, shuffle=True, seed=seed)


def test_a_checkpoint_keeps_what_a_function_drew(paths, tmp_path) -> None:
    """TensorFlow saves no iterator of functions whose datasets reshuffle."""
    whole = tf.data.Dataset.range(2).flat_map(
        lambda _: made(paths, shuffle=True, reshuffle_each_iteration=False)
    )
    iterator = iter(whole)
    for _ in range(5):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "c"))
    fresh = iter(whole)
    tf.train.Checkpoint(iterator=fresh).restore(path)
    rest = [[place(next(it)) for _ in range(COUNT - 5)] for it in (iterator, fresh)]
    assert rest[0] == rest[1]


@pytest.mark.parametrize("choice", CHOICES)
def test_a_tensor_beside_a_global_seed_of_zero(paths: list[str], choice: dict[str, Any]) -> None:
    """Which TensorFlow compares with a pair of zeros."""
    tf.random.set_seed(0)
    try:
        whole = tf.data.Dataset.range(3).flat_map(lambda i: made(paths, seed=i, **choice))
        found = places(whole)
    finally:
        tf.random.set_seed(None)
    parts = [found[i : i + COUNT] for i in range(0, 3 * COUNT, COUNT)]
    assert parts[0] != parts[1] != parts[2]
