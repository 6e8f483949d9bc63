"""The seed of a VideoDataset's shuffle and of its random sampling."""

from __future__ import annotations

import contextlib
import numbers
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf


def seed_from(seed: Any) -> int | tf.Tensor | None:
    """Returns `seed` as an int, or as an int64 scalar if only a run of the graph knows its value.

    Raises:
      TypeError: `seed` is no integer.
      ValueError: `seed` is not a scalar.
    """
    if seed is None:
        return None
    if isinstance(seed, numbers.Integral) and not isinstance(seed, bool):
        return int(seed)
    if not isinstance(seed, (tf.Tensor, tf.Variable, np.ndarray)):
        raise TypeError(
            f"seed must be an integer, a scalar tensor of one, or None; got {seed!r} "
            f"({type(seed).__name__})"
        )
    tensor = tf.convert_to_tensor(seed, name="seed")
    if not tensor.dtype.is_integer:
        raise TypeError(
            f"seed must be an integer, got a tensor of {tensor.dtype.name}: cast it to tf.int64"
        )
    if tensor.shape.rank not in (None, 0):
        raise ValueError(f"seed must be a scalar, got shape {tensor.shape}: pass one of them")
    value = tf.get_static_value(tensor)
    return tf.cast(tensor, tf.int64) if value is None else int(value)


def is_drawn(seed: int | tf.Tensor | None) -> bool:
    """Whether the seed has to be drawn: neither the user nor TensorFlow's global seed sets it."""
    return seed is None and tf.compat.v1.get_seed(None)[1] is None


def draw_seed() -> int | None:
    """Draws a seed; in a graph returns None, so that tf.data draws one at each run of the graph."""
    # With static sharding, workers cut the dataset after the shuffle, so all need one order.
    return random.SystemRandom().getrandbits(31) if tf.executing_eagerly() else None


def seed_dataset(seed: int | tf.Tensor | None, anew: bool) -> tf.data.Dataset:
    """Returns a dataset of seeds for the order and the places; `anew` draws them each iteration."""
    with _comparable():
        return tf.data.Dataset.random(seed, rerandomize_each_iteration=anew)


def split_seeds(seed: int | tf.Tensor | None) -> tuple[Any, Any]:
    """Returns the seeds of tf.data service's splits: the dispatcher draws their order."""
    with _comparable():
        first, second = tf.compat.v1.get_seed(seed)
    return (0, 0) if second is None else (first or 0, second)


@contextlib.contextmanager
def _comparable() -> Iterator[None]:
    """Sets a graph's seed of 0 to 1 meanwhile.

    TensorFlow compares its global seed and the seed with zero. If the global seed is 0, it goes on
    to compare a tensor of the graph, which fails.
    """
    graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
    if graph is None or graph.seed != 0:
        yield
        return
    graph.seed = 1
    try:
        yield
    finally:
        graph.seed = 0
