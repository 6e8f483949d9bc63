"""What tf.data asks of a source: skipping, options, tuning, cancellation, statistics."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from golden_datasets import without_prefetch
from small_videos import write_small_videos
from tensorflow.python.eager import cancellation  # has no public name

import tf_nvcodec as nvc
from tf_nvcodec.python import loader

LARGE = Path(__file__).parents[1] / "golden" / "media" / "bigbuckbunny_720p.mp4"


@pytest.fixture
def files(clips) -> list[str]:
    return [str(clips.path(name)) for name in ("h264.mp4", "hevc.mp4", "vp9.webm")]


def dataset(files: list[str], **arguments: Any) -> nvc.VideoDataset:
    keywords = {"clip_length": 4, "size": (32, 32), "index_cache": False, **arguments}
    return nvc.VideoDataset(files, **keywords)


def ids(made: tf.data.Dataset) -> list[tuple[int, int]]:
    return [(int(e["video_index"]), int(e["clip_index"])) for e in made.as_numpy_iterator()]


@pytest.mark.parametrize("count", [1, 5, 13, 1000])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_skip(files, count, on_error) -> None:
    same = {"shuffle": True, "seed": 3, "reshuffle_each_iteration": False}
    made = dataset(files, clip_step=6, on_error=on_error, **same)
    assert ids(made.skip(count)) == ids(made)[count:]


def test_skipped_clips_are_not_decoded(files) -> None:
    made = dataset(files, clips_per_video=100, sampling="random", seed=1, num_parallel_calls=2)
    assert len(ids(without_prefetch(made.skip(280)))) == 20
    assert made.statistics().clips == 20
    assert made.statistics().frames == 20 * 4
    assert made.statistics().files_opened == 20


def test_a_broken_clip_that_is_skipped_raises_nothing(files, tmp_path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no video")
    made = dataset([files[0], str(broken), files[1]], clips_per_video=2)
    assert ids(made.skip(4)) == [(2, 0), (2, 1)]


def test_order_follows_the_options(files) -> None:
    """Out of order, a clip deep in a large picture's GOP lets others pass; in order it does not."""
    videos = [str(LARGE), *files * 3]
    middles: dict[str, Any] = {"clips_per_video": 1, "sampling": "uniform"}
    in_order = ids(dataset(videos, **middles))
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 8  # The default on one core is one thread.
    seen = set()
    for _ in range(20):
        free = dataset(videos, **middles, num_parallel_calls=8)
        got = ids(free.with_options(options))
        assert sorted(got) == in_order
        seen.add(tuple(got))
        forced = dataset(videos, **middles, num_parallel_calls=8, deterministic=True)
        assert ids(forced.with_options(options)) == in_order
        if len(seen) > 1:
            break
    assert seen != {tuple(in_order)}, "deterministic=False never changed the order"


@pytest.mark.parametrize("threads", [1, 2])
def test_keeps_to_the_thread_pool(files, threads) -> None:
    """AUTOTUNE decodes no more clips at once than the pool has threads."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.autotune.cpu_budget = threads
    made = dataset(files, clip_step=2)
    assert ids(made.with_options(options)) == ids(made)


def test_autotune_is_off(files) -> None:
    options = tf.data.Options()
    options.autotune.enabled = False
    made = dataset(files, clip_step=6)
    assert ids(made.with_options(options)) == ids(made)


@pytest.mark.serial
def test_abandoned_iterators_stop_at_once(clips) -> None:
    """An iterator that goes away in the middle of decoding waits for a packet, not for a clip."""
    made = nvc.VideoDataset(
        [str(clips.path("h264.mp4"))] * 4,
        clip_length=48,
        clips_per_video=50,
        size=(720, 1280),
        num_parallel_calls=8,
        index_cache=False,
    )
    threads = threading.active_count()
    for _ in range(5):
        iterator = iter(without_prefetch(made))
        next(iterator)
        begin = time.monotonic()
        del iterator
        # TensorFlow's autotuner may delay the deletion by two of its periods of 10.24 s.
        assert time.monotonic() - begin < 60
    assert threading.active_count() <= threads


def test_more_calls_than_a_thread_pool_keeps(tmp_path) -> None:
    """A pool whose queue of 1024 is full does the next call's work in the thread that asks."""
    [path] = write_small_videos(tmp_path, 1)
    made = dataset(
        [path], clip_length=1, clips_per_video=6000, sampling="random", num_parallel_calls=5000
    )
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    assert len(ids(made.with_options(options))) == 6000


@pytest.mark.serial
def test_cancelled_while_waiting(files) -> None:
    """A function that is cancelled while it waits for a clip ends."""
    made = dataset(files, clip_step=1, clip_length=200, pad="wrap", size=(512, 512)).repeat()

    @tf.function
    def consume() -> tf.Tensor:
        total = tf.constant(0, tf.int64)
        # If tf.data's prefetch is cancelled while its buffer is full, it reports the end of the
        # data.
        for element in without_prefetch(made):
            total += element["clip_index"]
        return total

    manager = cancellation.CancellationManager()
    call = manager.get_cancelable_function(consume.get_concrete_function())
    ended: list[Any] = []

    def run() -> None:
        try:
            ended.append(call())
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(1)
    assert thread.is_alive()
    manager.start_cancel()
    thread.join(60)
    assert not thread.is_alive()
    assert isinstance(ended[0], tf.errors.CancelledError), ended


def test_statistics_while_it_runs(files) -> None:
    made = dataset(files, clip_step=4, clip_length=4)
    assert made.statistics().clips == 0
    assert made.statistics().frames_per_second == 0
    iterator = iter(without_prefetch(made))
    for count in range(1, 6):
        next(iterator)
        assert made.statistics().clips == count
    time.sleep(0.3)  # The consumer is slower than the decoding.
    next(iterator)
    used = made.statistics()
    assert used.frames == 6 * 4
    assert 0.3 < used.active_seconds < 30
    assert 0 <= used.wait_fraction < 1
    assert used.decode_seconds > 0
    assert used.bytes_read > 0
    assert "clips" in str(used)
    assert used.skipped == {}
    assert used.messages == []


def test_a_file_is_indexed_once(files, tmp_path) -> None:
    copy = tmp_path / "copy.mp4"
    copy.write_bytes(Path(files[0]).read_bytes())
    made = dataset([str(copy)] * 3, clip_step=4, num_parallel_calls=4)
    count = len(ids(made))
    assert made.statistics().files_indexed == 1
    # Twice for each video: to count its clips, and for the pass that reads them.
    assert made.statistics().files_opened == 6 and count > 6
    assert made.statistics().index_seconds > 0


def test_the_largest_numbers_mean_all(files) -> None:
    shuffled: dict[str, Any] = {"clip_step": 6, "shuffle": True, "seed": 3}
    most = dataset(files, shuffle_group=sys.maxsize, num_parallel_calls=sys.maxsize, **shuffled)
    assert sorted(ids(most)) == sorted(ids(dataset(files, **shuffled)))


def test_two_datasets_do_not_share_statistics(files) -> None:
    one, two = dataset(files), dataset(files)
    ids(one)
    assert one.statistics().clips > 0
    assert two.statistics().clips == 0


def test_used_by_many_iterators_at_once(files) -> None:
    made = dataset(files, clip_step=6, shuffle=True, seed=1, reshuffle_each_iteration=False)
    expected = ids(made)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(ids(made))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 6


def test_any_file_system(files) -> None:
    """ram:// stands for schemes that plugins register; gs:// has test_gcs.py."""
    names = []
    for i, file in enumerate(files):
        names.append(f"ram://folder/{i}.mp4")
        with tf.io.gfile.GFile(names[-1], "wb") as copy:
            copy.write(Path(file).read_bytes())
    whole = [e["frames"].tobytes() for e in dataset(files, clip_step=9).as_numpy_iterator()]
    for videos in (names, "ram://folder/*.mp4"):
        made = dataset(videos, clip_step=9)
        assert [e["frames"].tobytes() for e in made.as_numpy_iterator()] == whole


def test_next_to_other_sources(files) -> None:
    """Zipped, interleaved and chosen from, as any dataset."""
    made = dataset(files, clip_step=12)
    total = len(ids(made))
    numbered = tf.data.Dataset.zip((tf.data.Dataset.range(1000), made))
    assert [int(n) for n, _ in numbered] == list(range(total))
    each = tf.data.Dataset.range(3).interleave(
        lambda i: nvc.VideoDataset(
            tf.gather(files, [i]), clip_length=4, clip_step=12, size=(32, 32), index_cache=False
        ),
        cycle_length=3,
    )
    assert len(list(each)) == total
    mixed = tf.data.Dataset.sample_from_datasets([made, made], seed=1)
    assert len(ids(mixed)) == 2 * total


def test_the_counting_op_refuses_a_vector_of_periods(files) -> None:
    """Called by its raw name, without the wrapper's checks: an error, not an abort."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="period must be a scalar"):
        loader.ops.video_clip_counts(
            videos=files, period=[0.0, 1.0], segments=tf.zeros([0, 2], tf.float64)
        )
