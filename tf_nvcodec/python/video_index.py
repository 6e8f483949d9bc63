"""Frame indexes of many files: where they are kept, and how to make them ahead of use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from tf_nvcodec.python import loader
from tf_nvcodec.python.arguments import shown, timeout_from
from tf_nvcodec.python.dataset_source import resolve
from tf_nvcodec.python.probe import MAX_PACKETS, MAX_PIXELS


class VideoIndexReport(NamedTuple):
    """The result of indexing, with a row for each file.

    Attributes:
      num_frames: int64 [N], the frames that a full decode shows; 0 for a file that cannot be
        indexed.
      clip_counts: int64 [N], the clips that the given arguments make; 0 likewise.
      errors: Why a file cannot be indexed, by the file's position in the list.
    """

    num_frames: np.ndarray
    clip_counts: np.ndarray
    errors: dict[int, str]


def index_cache_folder(index_cache: str | os.PathLike[str] | Literal[False] | None) -> str:
    """Returns the folder that keeps frame indexes, or "" for none.

    It is `index_cache`. For None it is TF_NVCODEC_INDEX_CACHE of the environment, else
    tf_nvcodec/index in the user's cache folder ($XDG_CACHE_HOME or ~/.cache). There is none for
    False, and if the user has no home folder.
    """
    if index_cache is False:
        return ""
    if index_cache is not None:
        return os.path.abspath(os.path.expanduser(os.fspath(index_cache)))
    named = os.environ.get("TF_NVCODEC_INDEX_CACHE")
    if named is not None:
        return os.path.abspath(named) if named else ""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return ""
    return str(Path(base) / "tf_nvcodec" / "index")


def index_videos(
    filenames: Any,
    *,
    index_cache: str | os.PathLike[str] | Literal[False] | None = None,
    progress: bool | None = None,
    max_pixels: int = MAX_PIXELS,
    max_packets: int = MAX_PACKETS,
    timeout: float | None = None,
    **clips: Any,
) -> VideoIndexReport:
    """Indexes video files, several at once, and keeps the indexes in the frame-index cache.

    A VideoDataset indexes a file when it needs it. This function does it ahead, for example before
    a job starts on many machines.

    Args:
      filenames: As for VideoDataset: a list of names, one name, a pattern ("videos/*.mp4", whose
        files come in the order of their names) or a dataset.
      index_cache: The folder of the cache; None and False mean the same as for VideoDataset.
      progress: Whether to show a progress line on stderr; None shows it if stderr is a terminal.
      max_pixels: Larger coded pictures are refused; 0 is no limit.
      max_packets: Streams of more packets are refused; 0 is no limit.
      timeout: Seconds for each file; a file that takes longer is one that cannot be indexed. None
        or 0 is no limit.
      **clips: The op's inputs and attributes for `clip_counts`; VideoDataset passes them.

    Returns:
      A VideoIndexReport. It raises nothing for a file that cannot be indexed: the report's
      `errors` has it.

    Raises:
      TypeError: `filenames` are no strings.
      ValueError: No file matches, or there are no names.
    """
    folder = index_cache_folder(index_cache)
    clips.setdefault("period", 0.0)
    segments = clips.pop("segments", tf.zeros([0, 2], tf.float64))
    limits = {
        "max_pixels": max_pixels,
        "max_packets": max_packets,
        "timeout": timeout_from(timeout),
    }

    names = resolve(filenames, "filenames", labels=None, aligned=None).videos

    def count(i: tf.Tensor) -> tuple[tf.Tensor, ...]:
        rows = slice(i, i + 1)
        return tuple(
            loader.ops.video_clip_counts(
                videos=names[rows], segments=segments[rows], index_cache=folder, **limits, **clips
            )
        )

    dataset = tf.data.Dataset.range(int(names.shape[0]))
    dataset = dataset.map(count, num_parallel_calls=tf.data.AUTOTUNE)
    counts: list[int] = []
    frames: list[int] = []
    errors: dict[int, str] = {}
    hidden = None if progress is None else not progress
    with tqdm(total=int(names.shape[0]), desc="indexing", unit="file", disable=hidden) as line:
        for count_of, frames_of, error_of in dataset.as_numpy_iterator():
            if error_of[0]:
                errors[len(counts)] = shown(error_of[0])
            counts.append(int(count_of[0]))
            frames.append(int(frames_of[0]))
            line.update()
    return VideoIndexReport(np.array(frames, np.int64), np.array(counts, np.int64), errors)
