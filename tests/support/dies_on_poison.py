"""Makes a served model's process crash, hang or raise on certain requests, as bugs would."""

from __future__ import annotations

import signal
import time
from typing import Any

import tensorflow as tf

POISON, SLOW, WRONG = b"poison", b"slow", b"wrong"

_constant = tf.constant


def _watched(value: Any, *arguments: Any, **options: Any) -> Any:
    if POISON in list(value):
        signal.raise_signal(signal.SIGSEGV)  # in this thread, which must not answer any more
    if SLOW in list(value):
        time.sleep(600)
    if WRONG in list(value):
        raise tf.errors.InvalidArgumentError(None, None, "this one is wrong")
    return _constant(value, *arguments, **options)


tf.constant = _watched
