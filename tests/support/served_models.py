"""A small model of video for the tests of servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tf_nvcodec as nvc

LABELS = ["red", "green", "blue"]


def export(folder: Path, **options: Any) -> Path:
    """Writes a model that names the strongest colour of a video. `options` are those of the
    export."""
    weights = np.eye(3, dtype=np.float32)

    def network(frames: Any) -> Any:
        return {"color": tf.reduce_mean(frames, [1, 2]) @ weights}

    nvc.export_video_model(
        network,
        folder,
        takes=tf.TensorSpec([None, 16, 16, 3]),
        clips_per_video=4,
        labels=LABELS,
        top_k=2,
        **options,
    )
    return folder


def answers(folder: Path, contents: list[bytes]) -> dict[str, np.ndarray]:
    """Returns what the model says in this process."""
    served = tf.saved_model.load(str(folder)).signatures["serving_default"]
    outputs = served(contents=tf.constant(contents, tf.string))
    return {name: tensor.numpy() for name, tensor in outputs.items()}
