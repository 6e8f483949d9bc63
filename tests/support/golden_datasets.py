"""Makes VideoDatasets over five golden clips, and tells which of their clips they gave."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

import tf_nvcodec as nvc

VIDEOS = ("h264.mp4", "h264_vfr.mp4", "one_frame.mp4", "mpeg4.avi", "vp9.webm")
# A dataset may learn the number of a video's clips in three ways: when it opens the file, from its
# arguments, or from an index that it makes before.
COUNTS = {"unknown": {}, "per_video": {"clips_per_video": 3}, "indexed": {"build_index": True}}


def dataset(clips, folder: Path, counts: str = "unknown", **options) -> nvc.VideoDataset:
    names = [str(clips.path(name)) for name in VIDEOS]
    chosen = {"filenames": names, "size": (16, 16), "index_cache": folder}
    return nvc.VideoDataset(clip_length=8, **{**chosen, **COUNTS[counts], **options})


def ids(part: tf.data.Dataset) -> list[tuple[int, int]]:
    """Returns (video_index, clip_index) of each element."""
    return [(int(e["video_index"]), int(e["clip_index"])) for e in part.as_numpy_iterator()]


def without_prefetch(made: tf.data.Dataset) -> tf.data.Dataset:
    """Keeps tf.data from adding a prefetch, which would change positions and counts."""
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return made.with_options(options)
