"""Makes a served model's process crash, or hang, on certain requests, as a broken decoder would."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import tensorflow as tf

POISON, SLOW = b"poison", b"slow"

_constant = tf.constant


def _watched(value: Any, *arguments: Any, **options: Any) -> Any:
    if POISON in list(value):
        os.kill(os.getpid(), signal.SIGSEGV)
    if SLOW in list(value):
        time.sleep(600)
    return _constant(value, *arguments, **options)


tf.constant = _watched
