"""Options of tf.data that tests of positions and counts need."""

from __future__ import annotations

import tensorflow as tf


def without_prefetch(made: tf.data.Dataset) -> tf.data.Dataset:
    """Without tf.data's own prefetch, which takes elements whenever it can and saves them."""
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return made.with_options(options)
