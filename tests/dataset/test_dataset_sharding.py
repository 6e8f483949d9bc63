"""A VideoDataset cut into parts: each clip is in exactly one of them, and decoded only there."""

from __future__ import annotations

import itertools
import shutil

import pytest
import tensorflow as tf
from fork_server import printed_by
from golden_datasets import COUNTS, VIDEOS, dataset, ids
from tensorflow.python.data.experimental.ops.distribute import _AutoShardDataset

import tf_nvcodec as nvc

Policy = tf.data.experimental.AutoShardPolicy


def auto_shard(whole: tf.data.Dataset, policy: Policy, index: int) -> tf.data.Dataset:
    """As tf.distribute does on each of three machines."""
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    return _AutoShardDataset(whole.with_options(options), 3, index)


def assert_divided(parts: list[list[tuple[int, int]]], whole: tf.data.Dataset) -> None:
    expected = ids(whole)
    assert len(set(expected)) == len(expected) >= 15
    assert sorted(itertools.chain(*parts)) == sorted(expected)
    assert all(parts)


@pytest.mark.parametrize("shuffle", [False, True], ids=["in_order", "shuffled"])
@pytest.mark.parametrize("counts", COUNTS)
def test_shards(clips, tmp_path, counts, shuffle):
    """Without a seed each shard is mixed in its own way; they are cut before."""
    whole = dataset(clips, tmp_path, counts, shuffle=shuffle)
    shards = [whole.shard(3, index) for index in range(3)]
    parts = [ids(shard) for shard in shards]
    assert_divided(parts, whole)
    sizes = [len(part) for part in parts]
    if counts == "unknown":  # every third video
        assert [{video for video, _ in part} for part in parts] == [{0, 3}, {1, 4}, {2}]
    else:
        assert max(sizes) - min(sizes) <= 1
        assert [int(shard.cardinality()) for shard in shards] == sizes


@pytest.mark.parametrize("counts", COUNTS)
def test_a_shard_decodes_its_part_only(clips, tmp_path, counts):
    whole = dataset(clips, tmp_path, counts, shuffle=True, num_parallel_calls=1)
    ids(whole)
    everything = whole.statistics()
    done = [0, 0]
    for index in range(3):
        part = ids(whole.shard(3, index))
        statistics = whole.statistics()
        assert statistics.clips - everything.clips - done[0] == len(part)
        done = [statistics.clips - everything.clips, statistics.frames - everything.frames]
    assert done == [everything.clips, everything.frames]


def test_a_shard_opens_its_videos_only(clips, tmp_path):
    # The files are copies, because this process remembers the indexes of files that it has read.
    names = [shutil.copy(clips.path(name), tmp_path) for name in VIDEOS]
    whole = nvc.VideoDataset(names, 8, size=(16, 16), index_cache=False)
    ids(whole.shard(5, 2))
    assert whole.statistics().files_indexed == 1


@pytest.mark.parametrize("counts", COUNTS)
def test_shards_of_shards(clips, tmp_path, counts):
    whole = dataset(clips, tmp_path, counts)
    parts = [ids(whole.shard(2, i).shard(2, j)) for i in range(2) for j in range(2)]
    assert_divided(parts, whole)


def test_more_shards_than_clips(clips, tmp_path):
    whole = dataset(clips, tmp_path, "per_video")
    parts = [ids(whole.shard(20, index)) for index in range(20)]
    assert [len(part) for part in parts] == [1] * 15 + [0] * 5
    assert list(itertools.chain(*parts)) == ids(whole)


def test_single_clips_by_their_numbers(clips, tmp_path):
    """How examples/distributed.py reads again what was lost."""
    whole = dataset(clips, tmp_path, "indexed", shuffle=True)
    total = int(whole.cardinality())
    in_order = ids(dataset(clips, tmp_path, "indexed"))
    wanted = [total - 1, 0, 7]
    numbers = tf.data.Dataset.from_tensor_slices(tf.constant(wanted, tf.int64))
    again = numbers.flat_map(lambda number: whole.shard(total, number))
    before = whole.statistics().clips
    assert ids(again) == [in_order[number] for number in wanted]
    assert whole.statistics().clips - before == 3


def test_bad_shards_are_refused(clips, tmp_path):
    whole = dataset(clips, tmp_path)
    for count, index in ((3, 3), (2, -1), (0, 0)):
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="shard|index"):
            ids(whole.shard(count, index))


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("options", [{}, {"shuffle": True, "seed": 3}], ids=["in_order", "seeded"])
@pytest.mark.parametrize("policy", [Policy.AUTO, Policy.DATA], ids=lambda policy: policy.name)
def test_auto_shard(clips, tmp_path, policy, options, counts):
    """TensorFlow cuts behind the shuffle: all machines have to shuffle alike, by a seed."""
    machines = [dataset(clips, tmp_path, counts, **options) for _ in range(3)]
    parts = [ids(auto_shard(machines[i].prefetch(1), policy, i)) for i in range(3)]
    assert_divided(parts, machines[0])


def test_auto_shard_by_hint(clips, tmp_path):
    hint = tf.data.experimental.SHARD_HINT
    whole = dataset(clips, tmp_path)
    parts = [ids(auto_shard(whole.shard(hint, hint), Policy.HINT, index)) for index in range(3)]
    assert_divided(parts, whole)


def test_auto_shard_off_and_by_file(clips, tmp_path):
    whole = dataset(clips, tmp_path)
    assert ids(auto_shard(whole, Policy.OFF, 1)) == ids(whole)
    with pytest.raises(tf.errors.NotFoundError, match="shardable source"):
        ids(auto_shard(whole, Policy.FILE, 1))


MIRRORED = """
import collections, sys
import tensorflow as tf
import tf_nvcodec as nvc

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
assert strategy.num_replicas_in_sync == 2
for options in ({}, {"shuffle": True}, {"clips_per_video": 3, "shuffle": True}):
    whole = nvc.VideoDataset(sys.argv[2:], 8, size=(16, 16), index_cache=sys.argv[1], **options)
    expected = [(int(e["video_index"]), int(e["clip_index"])) for e in whole]
    for epoch in range(2):
        came = collections.Counter()
        replicas = collections.Counter()
        for batch in strategy.experimental_distribute_dataset(whole.batch(4)):
            for name in ("video_index", "clip_index"):
                assert len(strategy.experimental_local_results(batch[name])) == 2
            videos, numbers = (
                strategy.experimental_local_results(batch[name])
                for name in ("video_index", "clip_index")
            )
            for replica, (video, number) in enumerate(zip(videos, numbers)):
                came.update(zip(video.numpy().tolist(), number.numpy().tolist()))
                replicas[replica] += len(video)
        assert sorted(came.elements()) == sorted(expected), came
        assert min(replicas.values()) >= len(expected) // 3, replicas
print("divided", len(expected))
"""


def test_mirrored_strategy(clips, tmp_path):
    names = [str(clips.path(name)) for name in VIDEOS]
    assert printed_by("-c", MIRRORED, tmp_path / "cache", *names) == "divided 15\n"
