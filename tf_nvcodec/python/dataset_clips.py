"""Turns VideoDataset's arguments about clips into the op's inputs and attributes."""

from __future__ import annotations

import math
import numbers
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tf_nvcodec.python.arguments import time_dtype


class Clips(NamedTuple):
    """Attributes:
    attributes: clip_length, stride, clip_step, clips_per_video, sampling, pad.
    period: Seconds between the moments at which frames are taken; 0 if frames are counted.
    times: float64 or float32, the beginnings of clips in seconds.
    time_splits: int64 [N + 1], the rows of `times` by video; empty if all times are for every
      video.
    """

    attributes: dict[str, Any]
    period: float
    times: tf.Tensor
    time_splits: tf.Tensor


def clips_from(
    clip_length: int,
    stride: int | float,
    clip_step: int | None,
    fps: float | None,
    clips_per_video: int | None,
    sampling: str | None,
    clip_at: Any,
    pad: str,
) -> Clips:
    """Returns the op's arguments. The op itself checks most values.

    Raises:
      TypeError: An argument is no number.
      ValueError: Arguments contradict each other, or a number is below its minimum.
    """
    period = 0.0
    clip_length = _count("clip_length", clip_length)
    if clip_step is not None:
        clip_step = _count("clip_step", clip_step)
    if clips_per_video is not None:
        clips_per_video = _count("clips_per_video", clips_per_video)
    if isinstance(stride, (float, np.floating)):
        if fps is not None:
            raise ValueError(f"stride={stride} s and fps={fps} both set the time between frames")
        period, stride = _positive("stride", float(stride)), 1
    else:
        stride = _count("stride", stride)
        period = 0.0 if fps is None else 1 / _positive("fps", float(fps))
    given = [
        name
        for name, value in (("clip_step", clip_step), ("clip_at", clip_at))
        if value is not None
    ]
    if clips_per_video is not None or sampling is not None:
        given.append("clips_per_video / sampling")
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} are different ways to choose clips: pass one")
    if clip_at is not None:
        sampling = "at"
    elif clips_per_video is not None or sampling is not None:
        sampling = "uniform" if sampling is None else sampling
        if sampling not in ("uniform", "random", "center", "start"):
            raise ValueError(
                f"sampling is {sampling!r}; it must be one of: uniform, random, center, start "
                "(all clips of a video: leave it out)"
            )
    else:
        sampling = "all"
    times, splits = _clip_times(clip_at)
    attributes = {
        "clip_length": clip_length,
        "stride": stride,
        "clip_step": clip_length * stride if clip_step is None else clip_step,
        "clips_per_video": 1 if clips_per_video is None else clips_per_video,
        "sampling": sampling,
        "pad": pad,
    }
    return Clips(attributes, period, times, splits)


def segments_from(segments: Any, videos: tf.Tensor) -> tf.Tensor:
    """Returns the op's segments, float64 [N, 2]. The op checks the times.

    Raises:
      TypeError: A row is no pair of numbers.
      ValueError: There is no row for each of `videos`.
    """
    if not tf.is_tensor(segments) and not isinstance(segments, np.ndarray):
        segments = _pairs(segments)
    times = tf.cast(segments, tf.float64)
    if tf.as_dtype(segments.dtype) == tf.float32:
        times *= 1 - 2**-24  # It may be a pts that was rounded up.
    if not times.shape.is_compatible_with([videos.shape[0], 2]):
        raise ValueError(
            f"segments need a row (start, end) for each of the {videos.shape[0]} videos, got shape "
            f"{times.shape}"
        )
    return times


def _pairs(segments: Any) -> tf.Tensor:
    rows = []
    for i, row in enumerate(segments):
        try:
            start, end = row
            rows.append((float(start), math.inf if end is None else float(end)))
        except (TypeError, ValueError):
            raise TypeError(f"segments[{i}] must be (start, end) in seconds, got {row!r}") from None
    return tf.constant(rows, time_dtype(segments), [len(rows), 2])


def _count(name: str, value: Any) -> int:
    # TensorFlow reads True as 1 and drops fractions.
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return int(value)


def _positive(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, got {value}")
    return value


def _clip_times(clip_at: Any) -> tuple[tf.Tensor, tf.Tensor]:
    none = tf.constant([], tf.int64)
    if clip_at is None:
        return tf.constant([], tf.float64), none
    dtype = time_dtype(clip_at)
    if not isinstance(clip_at, (tf.Tensor, tf.RaggedTensor)):
        clip_at = tf.ragged.constant(clip_at, dtype)
    clip_at = tf.cast(clip_at, dtype)
    if clip_at.shape[:1] == [0]:
        raise ValueError("clip_at is empty: pass at least one time, or leave it out for all clips")
    if isinstance(clip_at, tf.Tensor) and clip_at.shape.rank == 2:
        clip_at = tf.RaggedTensor.from_tensor(clip_at)
    if isinstance(clip_at, tf.Tensor) and clip_at.shape.rank == 1:
        return clip_at, none
    if not isinstance(clip_at, tf.RaggedTensor) or clip_at.shape.rank != 2:
        raise ValueError(
            "clip_at is a list of seconds for every video, or one list for each video; got shape "
            f"{clip_at.shape}"
        )
    return clip_at.values, tf.cast(clip_at.row_splits, tf.int64)
