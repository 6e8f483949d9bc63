"""Training with a peer that has no tf.data source: Dataset.map over numpy_function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.peers.base import Peer


class TfDataClips(Peer):
    """A mixin that puts a peer's clip reader into a tf.data pipeline with parallel calls."""

    def prepare(self, operation: str, arguments: dict[str, Any]) -> None:
        super().prepare(operation, arguments)
        self.iterator = None
        if operation.startswith("dataset"):
            import tensorflow  # noqa: F401  (imported before the clock starts)

    def dataset_clips(
        self,
        path: str,
        *,
        clips: Sequence[tuple[str, int]],
        fps: float,
        count: int,
        height: int,
        width: int,
        batch: int,
        parallel: int,
        own_resize: bool = False,
        batches: int = -1,
    ) -> int:
        import numpy as np
        import tensorflow as tf

        def read(name: bytes, start: int) -> Any:
            arguments = {"start": int(start), "count": count}
            if own_resize:
                frames = self.decode_clip_resized(
                    name.decode(), **arguments, height=height, width=width
                )
            else:
                frames = self.decode_clip(name.decode(), **arguments)
            return np.asarray(frames)

        def load(name: Any, start: Any) -> Any:
            frames = tf.numpy_function(read, [name, start], tf.uint8, stateful=False)
            if own_resize:
                return tf.ensure_shape(frames, [count, height, width, 3])
            frames = tf.ensure_shape(frames, [count, None, None, 3])
            return tf.cast(tf.image.resize(frames, (height, width)) + 0.5, tf.uint8)

        names, starts = [name for name, _ in clips], [start for _, start in clips]
        dataset = tf.data.Dataset.from_tensor_slices((names, starts))
        dataset = dataset.map(load, num_parallel_calls=parallel).batch(batch).take(batches)
        return sum(int(frames.shape[0]) * count for frames in self.read_through(dataset))
