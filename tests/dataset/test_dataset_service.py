"""tf.data service over a VideoDataset: its workers divide the clips, none lost, none doubled."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import tensorflow as tf
from golden_datasets import COUNTS, dataset, ids

import tf_nvcodec as nvc

service = tf.data.experimental.service
Policy = service.ShardingPolicy


class Cluster:
    """A dispatcher and two workers in this process."""

    def __init__(self) -> None:
        workers = ["localhost:%port%"] * 2
        self.dispatcher = service.DispatchServer(
            service.DispatcherConfig(port=0, worker_addresses=workers)
        )
        address = self.dispatcher.target.split("://")[1]
        config = service.WorkerConfig(address, heartbeat_interval_ms=50)
        self.workers = [service.WorkerServer(config) for _ in workers]

    def distribute(self, whole: tf.data.Dataset, policy: Policy, **options) -> tf.data.Dataset:
        if policy not in (
            Policy.OFF,
            Policy.DYNAMIC,
        ):  # The other policies read from local workers only.
            options["target_workers"] = "LOCAL"
        return whole.apply(service.distribute(policy, self.dispatcher.target, **options))


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster()


@pytest.mark.parametrize("shuffle", [False, True], ids=["in_order", "shuffled"])
@pytest.mark.parametrize("counts", COUNTS)
def test_dynamic_sharding(clips, tmp_path, cluster, counts, shuffle):
    whole = dataset(clips, tmp_path, counts, shuffle=shuffle)
    expected = sorted(ids(whole))
    before = whole.statistics().clips
    # gRPC transfers the elements as from another machine.
    read = cluster.distribute(whole, Policy.DYNAMIC, data_transfer_protocol="grpc")
    assert sorted(ids(read)) == expected
    assert whole.statistics().clips - before == len(expected)


def test_compressed_clips_are_decoded_by_the_client(clips, tmp_path, cluster):
    want = {
        (int(e["video_index"]), int(e["clip_index"])): e["frames"]
        for e in dataset(clips, tmp_path, "per_video").as_numpy_iterator()
    }
    packed = dataset(clips, tmp_path, "per_video", size=None, decode=False, shuffle=True)
    read = cluster.distribute(packed.batch(4), Policy.DYNAMIC, data_transfer_protocol="grpc")
    count = 0
    for batch in read:
        frames = nvc.decode_packets(batch["packets"], size=(16, 16)).frames.numpy()
        for video, clip, ours in zip(batch["video_index"], batch["clip_index"], frames):
            np.testing.assert_array_equal(ours, want[int(video), int(clip)])
            count += 1
    assert count == len(want)


def test_the_split_order_is_drawn_for_each_epoch(clips, tmp_path, cluster):
    whole = dataset(clips, tmp_path, "per_video", shuffle=True)
    read = cluster.distribute(whole, Policy.DYNAMIC)
    epochs = [ids(read) for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == sorted(ids(whole))
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize("counts", ["unknown", "indexed"])
def test_repeat_before_the_service(clips, tmp_path, cluster, counts):
    """One worker reads what came to it in order: the epochs of a seed differ, by the same rule."""
    whole = dataset(clips, tmp_path, counts, shuffle=True, seed=6, shuffle_group=2)
    read = cluster.distribute(whole.repeat(3), Policy.DYNAMIC)
    times = collections.Counter(ids(read))
    assert times == collections.Counter(ids(whole) * 3)


def split_orders(whole: tf.data.Dataset, epochs: int) -> list[list[tuple[int, int]]]:
    """What a dispatcher deals out to a single worker, epoch by epoch."""
    dispatcher = service.DispatchServer()
    address = dispatcher.target.split("://")[1]
    worker = service.WorkerServer(service.WorkerConfig(address, heartbeat_interval_ms=50))
    read = whole.repeat(epochs).apply(service.distribute(Policy.DYNAMIC, dispatcher.target))
    came = ids(read)
    del worker
    size = len(came) // epochs
    return [came[i * size : (i + 1) * size] for i in range(epochs)]


@pytest.mark.parametrize("reshuffle", [True, False], ids=["reshuffled", "kept"])
def test_seeds_reach_the_splits(clips, tmp_path, reshuffle):
    options = {"shuffle": True, "seed": 6, "reshuffle_each_iteration": reshuffle}
    first = split_orders(dataset(clips, tmp_path, "per_video", **options), 2)
    again = split_orders(dataset(clips, tmp_path, "per_video", **options), 2)
    assert first == again
    assert sorted(first[0]) == sorted(first[1])
    assert (first[0] != first[1]) == reshuffle


def test_random_clips_are_drawn_for_each_epoch(clips, tmp_path, cluster):
    whole = dataset(clips, tmp_path, clips_per_video=2, sampling="random")

    def times() -> dict[tuple[int, int], float]:
        read = cluster.distribute(whole, Policy.DYNAMIC)
        return {
            (int(e["video_index"]), int(e["clip_index"])): float(e["pts"][0])
            for e in read.as_numpy_iterator()
        }

    first, second = times(), times()
    assert set(first) == set(second) == set(ids(whole))
    assert first != second


def test_without_sharding_each_worker_reads_everything(clips, tmp_path, cluster):
    whole = dataset(clips, tmp_path, shuffle=True)
    read = cluster.distribute(whole, Policy.OFF)
    assert sorted(ids(read)) == sorted(ids(whole) * 2)


@pytest.mark.parametrize(
    "policy", [Policy.DATA, Policy.FILE_OR_DATA, Policy.HINT], ids=lambda policy: policy.name
)
@pytest.mark.parametrize(
    ("counts", "options"),
    [
        ("unknown", {}),
        ("unknown", {"shuffle": True, "seed": 3}),
        ("unknown", {"shuffle": True}),
        ("indexed", {}),
    ],
    ids=["unknown", "seeded", "unseeded", "indexed"],
)
def test_static_sharding(clips, tmp_path, cluster, policy, counts, options):
    """tf.data cuts behind the shuffle. All workers shuffle alike, because they get the same seed:
    the user's, or one that was drawn when the dataset was made."""
    whole = dataset(clips, tmp_path, counts, **options)
    hint = tf.data.experimental.SHARD_HINT
    cut = whole.shard(hint, hint) if policy is Policy.HINT else whole
    assert sorted(ids(cluster.distribute(cut, policy))) == sorted(ids(whole))


def test_static_sharding_by_file_is_refused(clips, tmp_path, cluster):
    whole = dataset(clips, tmp_path)
    with pytest.raises(tf.errors.NotFoundError, match="shardable source"):
        ids(cluster.distribute(whole, Policy.FILE))


def test_a_pipeline_behind_it(clips, tmp_path, cluster):
    whole = dataset(clips, tmp_path, labels=[10, 11, 12, 13, 14], dtype="float32")
    batches = whole.map(lambda e: (e["frames"] * 2, e["label"], e["clip_index"])).batch(4)
    read = cluster.distribute(batches.prefetch(2), Policy.DYNAMIC).unbatch()
    came = sorted((int(label), int(clip)) for _, label, clip in read)
    assert came == sorted((video + 10, clip) for video, clip in ids(whole))


def test_broken_files_are_skipped(clips, tmp_path, cluster):
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no video at all")
    names = [str(clips.path("h264.mp4")), str(broken), str(clips.path("mpeg4.avi"))]
    whole = dataset(clips, tmp_path, on_error="skip", filenames=names)
    expected = sorted(ids(whole))
    assert {video for video, _ in expected} == {0, 2}
    assert sorted(ids(cluster.distribute(whole, Policy.DYNAMIC))) == expected


def test_an_error_reaches_the_reader(clips, tmp_path, cluster):
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no video at all")
    whole = dataset(clips, tmp_path, filenames=[str(broken)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="broken.mp4"):
        ids(cluster.distribute(whole, Policy.DYNAMIC))


def test_a_dispatcher_started_again_goes_on(clips, tmp_path):
    """It deals out once more from the seed, so a shuffle needs one."""
    options = {"work_dir": str(tmp_path / "work"), "fault_tolerant_mode": True}
    first = service.DispatchServer(service.DispatcherConfig(**options))
    port = int(first.target.rsplit(":", 1)[1])
    config = service.WorkerConfig(f"localhost:{port}", heartbeat_interval_ms=50)
    workers = [service.WorkerServer(config) for _ in range(2)]
    whole = dataset(clips, tmp_path, clips_per_video=20, shuffle=True, seed=3, num_parallel_calls=1)
    read = whole.apply(service.distribute(Policy.DYNAMIC, first.target)).as_numpy_iterator()
    came = [next(read) for _ in range(20)]
    first.stop()
    again = service.DispatchServer(service.DispatcherConfig(port=port, **options))
    came += list(read)
    assert sorted((e["video_index"], e["clip_index"]) for e in came) == sorted(ids(whole))
    del read, workers, again
