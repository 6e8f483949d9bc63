"""The seed of a VideoDataset's shuffle and random places."""

from __future__ import annotations

import contextlib
import numbers
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf


def seed_from(seed: Any) -> int | tf.Tensor | None:
    """`seed` as an int or, where only a run of the graph knows it, an int64 scalar.

    Raises:
      TypeError: It is no integer.
      ValueError: It is several.
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
    """Whether neither the user nor TensorFlow's global seed says it."""
    return seed is None and tf.compat.v1.get_seed(None)[1] is None


def draw_seed() -> int | None:
    """None: by tf.data, at each run of a graph, which would keep a number for good."""
    # Static sharding cuts behind the shuffle, in workers that have to shuffle alike.
    return random.SystemRandom().getrandbits(31) if tf.executing_eagerly() else None


def seed_dataset(seed: int | tf.Tensor | None, anew: bool) -> tf.data.Dataset:
    """Seeds of the order and of the places, `anew` at each iteration."""
    with _comparable():
        return tf.data.Dataset.random(seed, rerandomize_each_iteration=anew)


def split_seeds(seed: int | tf.Tensor | None) -> tuple[Any, Any]:
    """For tf.data service's splits, whose order is drawn where they are handed out."""
    with _comparable():
        first, second = tf.compat.v1.get_seed(seed)
    return (0, 0) if second is None else (first or 0, second)


@contextlib.contextmanager
def _comparable() -> Iterator[None]:
    """TensorFlow compares its global seed and a seed with two zeros, which fails for a tensor of a
    graph where the first is zero: there it is one."""
    graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
    if graph is None or graph.seed != 0:
        yield
        return
    graph.seed = 1
    try:
        yield
    finally:
        graph.seed = 0
