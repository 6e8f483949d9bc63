"""Folders of numbered versions, which Triton and TensorFlow Serving both take, and their checks."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf

from tf_nvcodec.deploy.signature import ServedSignature


def check_name(name: str) -> None:
    """Raises ValueError if a model cannot be called so."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
        raise ValueError(f"{name!r} is no name for a model: take letters, digits, _, - and .")


def check_positive(**arguments: float) -> None:
    """Raises ValueError if one of the arguments is not positive."""
    for name, value in arguments.items():
        if not value > 0:  # nor NaN
            raise ValueError(f"{name} must be positive, got {value}")


def check_delay(queue_delay: float) -> None:
    """Raises ValueError if the delay is negative."""
    if not queue_delay >= 0:
        raise ValueError(f"queue_delay must not be negative, got {queue_delay}")


def warm_up_videos(paths: Sequence[str | os.PathLike[str]], served: ServedSignature) -> list[Path]:
    """Returns the paths of videos that the signature can be run on.

    Raises:
      FileNotFoundError: One does not exist.
      ValueError: The signature takes something else.
    """
    if paths and [tensor.dtype for tensor in served.inputs] != [tf.string]:
        raise ValueError("warm_up needs a signature with one input, of strings")
    videos = [Path(path) for path in paths]
    for video in videos:
        if not video.is_file():
            raise FileNotFoundError(f"{video}: no such file")
    return videos


def versions_of(folder: Path) -> list[int]:
    """Returns the numbers of the versions in a model's folder; none if there is no folder."""
    if not folder.is_dir():
        return []
    return [int(path.name) for path in folder.iterdir() if path.name.isdecimal()]


def new_version(folder: Path, version: int | None) -> int:
    """Returns the number of a new version: the one that is asked for, or the next.

    Raises:
      FileExistsError: There is such a version.
      ValueError: It is no positive number.
    """
    present = versions_of(folder)
    number = max(present, default=0) + 1 if version is None else version
    check_positive(version=number)
    if number in present:
        raise FileExistsError(f"{folder} has a version {number} already")
    return number
