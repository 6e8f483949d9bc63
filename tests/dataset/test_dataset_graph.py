"""A VideoDataset as a graph: serialized, in a SavedModel, and in TensorFlow 1's graph mode."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf
from fork_server import printed_by
from golden_datasets import VIDEOS, dataset, ids

import tf_nvcodec as nvc


def through_a_graph(whole: tf.data.Dataset) -> tf.data.Dataset:
    graph = tf.raw_ops.DatasetToGraphV2(
        input_dataset=whole._variant_tensor, external_state_policy=0, strip_device_assignment=True
    )
    assert b"VideoDataset" in graph.numpy()
    again = tf.raw_ops.DatasetFromGraph(graph_def=graph)
    return tf.data.experimental.from_variant(again, whole.element_spec)


OPTIONS = {
    "plain": {},
    "shuffled": {"shuffle": True, "seed": 4},
    "random": {"clips_per_video": 3, "sampling": "random", "seed": 4},
    "at": {"clip_at": [[0.1], [], [0.0], [0.2, 0.3], [0.1]], "fps": 10.0},
    "passed_through": {"labels": [1, 2, 3, 4, 5], "aligned": {"more": (tf.eye(5), ["a"] * 5)}},
    "skipping": {"on_error": "skip", "pad": "drop", "dtype": "float32", "mean": 0.5, "std": 2.0},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_round_trip_through_a_graph(clips, tmp_path, options):
    whole = dataset(clips, tmp_path, **options)
    twice = through_a_graph(through_a_graph(whole))
    elements = list(twice.as_numpy_iterator())
    # Each epoch of a dataset is another, so a new dataset with the same seed gives what is
    # expected.
    expected = list(dataset(clips, tmp_path, **options).as_numpy_iterator())
    assert len(elements) == len(expected) > 3
    tf.nest.map_structure(np.testing.assert_array_equal, elements, expected)
    assert int(twice.cardinality()) == int(whole.cardinality())


def test_a_shard_through_a_graph(clips, tmp_path):
    whole = dataset(clips, tmp_path, "indexed", shuffle=True)
    parts = [ids(through_a_graph(whole.shard(3, index))) for index in range(3)]
    assert sorted(itertools.chain(*parts)) == sorted(ids(whole))


def test_from_variant(clips, tmp_path):
    whole = dataset(clips, tmp_path)
    variant = tf.data.experimental.to_variant(whole)
    assert ids(tf.data.experimental.from_variant(variant, whole.element_spec)) == ids(whole)


class Reader(tf.Module):
    """Mean colours of all clips of the files it is given, or of its own."""

    def __init__(self, own: tf.data.Dataset) -> None:
        super().__init__()
        self.own = own

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def of(self, names: tf.Tensor) -> tf.Tensor:
        return mean_colors(nvc.VideoDataset(names, 8, size=(16, 16), index_cache=False))

    @tf.function(input_signature=[])
    def of_own(self) -> tf.Tensor:
        return mean_colors(self.own)


def mean_colors(clips: tf.data.Dataset) -> tf.Tensor:
    means = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[3])
    for clip in clips:
        mean = tf.reduce_mean(tf.cast(clip["frames"], tf.float32), [0, 1, 2])
        means = means.write(means.size(), mean)
    return means.stack()


LOAD = """
import sys
import numpy as np
import tensorflow as tf
import tf_nvcodec
model = tf.saved_model.load(sys.argv[1])
np.save(sys.argv[2], np.stack([model.of(sys.argv[3:]), model.of_own()]))
"""


def test_saved_model_in_a_fresh_process(clips, tmp_path):
    names = [str(clips.path(name)) for name in VIDEOS]
    own = nvc.VideoDataset(names, 8, size=(16, 16), index_cache=tmp_path / "cache")
    tf.saved_model.save(Reader(own), str(tmp_path / "model"))
    printed_by("-c", LOAD, tmp_path / "model", tmp_path / "means.npy", *names)
    frames = [element["frames"] for element in own.as_numpy_iterator()]
    expected = [np.mean(clip.astype(np.float32), (0, 1, 2)) for clip in frames]
    for means in np.load(tmp_path / "means.npy"):
        np.testing.assert_allclose(means, expected, rtol=1e-4)


GRAPH_MODE = """
import sys
import tensorflow.compat.v1 as tf
import tf_nvcodec as nvc
tf.disable_v2_behavior()

def read(session, following):
    while True:
        try:
            element = session.run(following)
        except tf.errors.OutOfRangeError:
            return
        print(element["video_index"], element["clip_index"], int(element["frames"].sum()))

names = tf.placeholder(tf.string, [None])
fed = nvc.VideoDataset(names, 8, size=(16, 16), index_cache=sys.argv[1])
again = tf.data.make_initializable_iterator(fed)
whole = nvc.VideoDataset(sys.argv[2:], 8, size=(16, 16), index_cache=sys.argv[1])
mixed = nvc.VideoDataset(sys.argv[2:], 8, size=(16, 16), shuffle=True, index_cache=sys.argv[1])
once = tf.data.make_one_shot_iterator(whole)
with tf.Session() as session:
    read(session, once.get_next())
    print()
    following = again.get_next()
    for _ in range(2):
        session.run(again.initializer, {names: sys.argv[2:]})
        read(session, following)
        print()
    shuffled = tf.data.make_initializable_iterator(mixed)
    following = shuffled.get_next()
    session.run(shuffled.initializer)
    read(session, following)
"""


def test_graph_mode(clips, tmp_path):
    names = [str(clips.path(name)) for name in VIDEOS]
    printed = printed_by("-c", GRAPH_MODE, tmp_path / "cache", *names)
    whole = dataset(clips, tmp_path / "cache")
    expected = [
        f"{e['video_index']} {e['clip_index']} {int(e['frames'].sum())}"
        for e in whole.as_numpy_iterator()
    ]
    once, first, second, mixed = (part.split("\n") for part in printed.strip().split("\n\n"))
    assert once == first == second == expected
    assert sorted(mixed) == sorted(expected) != mixed
