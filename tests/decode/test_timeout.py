"""A call that has a timeout ends in time: while it opens, indexes or decodes. Nothing goes on then,
and the next call works."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bombs
import numpy as np
import pytest
import tensorflow as tf
from golden_clips import Clips

import tf_nvcodec as nvc

REAL = Path(__file__).parents[1] / "golden" / "media" / "bigbuckbunny_720p.mp4"
AT_ONCE = 1e-6
MOST_SECONDS = 5.0  # what a busy machine may add
Late = tf.errors.DeadlineExceededError

CALLS: dict[str, Callable[..., Any]] = {
    "decode_video": lambda path, **o: nvc.decode_video(path.read_bytes(), **o),
    "decode_frames_at": lambda path, **o: nvc.decode_frames_at(path.read_bytes(), [131, 0], **o),
    "decode_frames_at times": lambda path, **o: nvc.decode_frames_at(
        path.read_bytes(), timestamps=[4.0], **o
    ),
    "decode_clips": lambda path, **o: nvc.decode_clips([path.read_bytes()], on_error="raise", **o),
    "probe": lambda path, **o: nvc.probe(path.read_bytes(), **o),
    "iter_video": lambda path, **o: list(nvc.iter_video(path, 132, index_cache=False, **o)),
    "iter_video of bytes": lambda path, **o: list(nvc.iter_video(path.read_bytes(), 132, **o)),
    "VideoDataset": lambda path, **o: list(nvc.VideoDataset([str(path)], index_cache=False, **o)),
    "VideoDataset of one clip": lambda path, **o: list(
        nvc.VideoDataset([str(path)], 100, clips_per_video=1, index_cache=False, **o)
    ),
    "VideoDataset of bytes": lambda path, **o: list(
        nvc.VideoDataset(contents=[path.read_bytes()], **o)
    ),
}


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A file whose index nobody has in memory."""
    path = tmp_path / "clip.mp4"
    path.write_bytes(REAL.read_bytes())
    return path


@pytest.mark.parametrize("name", CALLS)
def test_every_call_ends_in_time(name: str, real: Path) -> None:
    call = CALLS[name]
    with pytest.raises(Late, match=r"the time limit of 1e-06 s was over while .*raise timeout"):
        call(real, timeout=AT_ONCE)
    # The time is enough to index the video on most machines, but never to decode it.
    begin = time.monotonic()
    if name != "probe":
        with pytest.raises(Late, match=r"0\.004 s was over while"):
            call(real, timeout=0.004, num_threads=1)
    assert time.monotonic() - begin < MOST_SECONDS
    call(real, timeout=300)
    for none in (None, 0):
        call(real, timeout=none)


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def test_no_thread_goes_on(real: Path) -> None:
    data = real.read_bytes()
    wanted = nvc.decode_video(data, 60, 70, num_threads=3)
    list(nvc.iter_video(real, 132, num_threads=3))  # starts TensorFlow's own threads
    before = threads()
    for seconds in (1e-6, 0.001, 0.005, 0.02, 0.03):
        for call in (CALLS["decode_video"], CALLS["iter_video"]):
            with pytest.raises(Late):
                call(real, timeout=seconds, num_threads=3)
    end = time.monotonic() + MOST_SECONDS
    while threads() > before and time.monotonic() < end:
        time.sleep(0.02)
    assert threads() <= before
    again = nvc.decode_video(data, 60, 70, num_threads=3)
    np.testing.assert_array_equal(again.frames, wanted.frames)


def test_an_index_that_came_too_late_is_not_kept(tmp_path: Path, real: Path) -> None:
    """Neither in memory nor on disk, so that the next reader does not see a part of the video."""
    cache = tmp_path / "cache"
    names, errors = [str(real)], []
    for seconds in (1e-6, 1e-4, 1e-3, 2e-3):
        report = nvc.index_videos(names, index_cache=cache, progress=False, timeout=seconds)
        errors.append(report.errors.get(0, ""))
        assert int(report.num_frames[0]) in (0, 132)
    assert "index: DEADLINE_EXCEEDED" in errors[0]
    assert "1e-06 s" in errors[0]
    report = nvc.index_videos(names, index_cache=cache, progress=False)
    assert report.num_frames.tolist() == [132]


@pytest.mark.serial
def test_a_dataset_goes_on_without_the_late_video(tmp_path: Path, clips: Clips) -> None:
    late = tmp_path / "late.mkv"
    late.write_bytes(bombs.clusters(1_000_000, b"x"))
    good = str(clips.path("h264.mp4"))
    names = [good, str(late), good]
    options = {"timeout": 0.3, "index_cache": False, "size": (16, 16), "clips_per_video": 2}
    nvc.index_videos([good], index_cache=False, progress=False)  # keeps the good index in memory
    dataset = nvc.VideoDataset(names, 4, on_error="skip", **options)
    assert [int(e["video_index"]) for e in dataset] == [0, 0, 2, 2]
    skipped = dataset.statistics()
    assert any("DEADLINE_EXCEEDED" in reason for reason in skipped.skipped), skipped
    with pytest.raises(Late, match=r"late\.mkv, clip 0: the time limit of 0\.3 s"):
        list(nvc.VideoDataset(names, 4, **options))


@pytest.mark.serial
def test_a_late_video_costs_its_row_of_a_batch(clips: Clips) -> None:
    good, late = clips.data("h264.mp4"), bombs.clusters(1_000_000, b"x")
    batch = nvc.decode_clips([good, late, good], 4, size=(16, 16), timeout=0.3)
    assert batch.status[0] == batch.status[2] == b""
    assert b"the time limit of 0.3 s was over while" in batch.status[1].numpy()
    assert not batch.mask[1].numpy().any()
    assert not batch.frames[1].numpy().any()
    np.testing.assert_array_equal(batch.frames[0], batch.frames[2])


@pytest.mark.serial
def test_the_time_between_chunks_does_not_count(real: Path) -> None:
    """The limit is for the waits, so a slow reader of a long video is never late."""
    frames = 0
    with nvc.iter_video(real, 20, size=(36, 64), timeout=1.0) as chunks:
        for chunk in chunks:
            frames += len(chunk.pts)
            time.sleep(0.25)
    assert frames == 132


def test_in_graphs(real: Path) -> None:
    data = real.read_bytes()

    @tf.function
    def decode(contents: tf.Tensor) -> tf.Tensor:
        return nvc.decode_video(contents, timeout=AT_ONCE).frames

    with pytest.raises(Late, match="while opening contents"):
        decode(tf.constant(data))
    mapped = tf.data.Dataset.from_tensors(data).map(decode)
    with pytest.raises(Late, match="while opening contents"):
        list(mapped)


def test_graphs_from_before_the_argument(real: Path) -> None:
    """A model that was saved before has no such attributes."""

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def decode(contents: tf.Tensor) -> tf.Tensor:
        return nvc.decode_video(contents, 0, 3, size=(8, 8)).frames

    concrete = decode.get_concrete_function()
    graph = concrete.graph.as_graph_def()
    (node,) = (node for node in graph.node if node.op == "VideoDecode")
    for name in ("timeout", "max_packets"):
        del node.attr[name]
    fetch = concrete.graph.outputs[0].name

    @tf.function
    def old(contents: tf.Tensor) -> tf.Tensor:
        feed = {concrete.graph.inputs[0].name: contents}
        return tf.import_graph_def(graph, feed, [fetch])[0]

    data = tf.constant(real.read_bytes())
    np.testing.assert_array_equal(old(data), decode(data))
