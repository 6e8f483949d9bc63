"""Files that are no videos, and may never end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tensorflow as tf

import tf_nvcodec as nvc


def first(name: Path | str) -> object:
    return next(iter(nvc.VideoDataset([str(name)])))


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.mp4"
    path.touch()
    words = r"empty\.mp4, clip 0: the file is empty \(0 bytes\): was it written or downloaded"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        first(path)


def test_a_pipe_that_nobody_writes_to(tmp_path: Path) -> None:
    path = tmp_path / "pipe.mp4"
    os.mkfifo(path)
    words = r"pipe\.mp4, clip 0: is a pipe or a device"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        first(path)
    skipped = nvc.VideoDataset([str(path)], on_error="skip")
    assert list(skipped) == []


def test_a_device_without_an_end() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="is a pipe or a device"):
        first("/dev/zero")


def test_an_empty_name() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="the file's name is empty"):
        first("")
