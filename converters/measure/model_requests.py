"""Requests to a signature of a SavedModel, in this process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from converters.inputs.calibration_data import Batch
from converters.measure import host_memory
from converters.util.custom_ops import seconds_of_loading
from converters.util.errors import ConverterError, EngineError, MeasureError
from converters.util.shapes import format_shape_set, shapes_of

# Environment variables of processes that run a model.
ENGINES_ALONE = {
    # Two models that are compared share a GPU.
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    # A request without an engine fails, instead of being measured.
    "TF_TRT_ALLOW_ENGINE_NATIVE_SEGMENT_EXECUTION": "0",
}
_DISALLOWED = "User disallowed engine native segment execution"


def request_error(error: Exception, batch: Batch) -> ConverterError:
    """What to raise for a request that failed with `error`: an EngineError where TensorFlow would
    have run instead of an engine."""
    shapes = format_shape_set(shapes_of(batch))
    if _DISALLOWED not in str(error):
        return MeasureError(f"the model failed at a request of {shapes}: {error}")
    return EngineError(
        f"no engine serves {shapes}: TensorFlow would run instead of TensorRT, and its time says "
        "nothing of the engines. Give a shape that the model was converted for (--shape, --batch), "
        "or convert it for this one"
    )


class ModelRequests:
    """A loaded model. A request ends when all of its outputs are arrays on the host: TensorFlow
    returns from a call before a GPU has done the work.

    `import_s` and `load_s` are the seconds of importing TensorFlow with the model's own ops and of
    loading the model.
    """

    def __init__(self, path: str, tags: Sequence[str] | None, signature: str) -> None:
        began = time.perf_counter()
        import tensorflow as tf

        from converters.checks.runnable import load_signatures

        imported = time.perf_counter()
        tf.config.set_soft_device_placement(True)
        self._runnable = load_signatures(path, tags or None)[signature]
        self.import_s = imported - began + seconds_of_loading()
        self.load_s = time.perf_counter() - imported
        gpus = tf.config.list_physical_devices("GPU")
        self._gpu = "GPU:0" if gpus else None
        details = tf.config.experimental.get_device_details(gpus[0]) if gpus else {}
        self.device = str(details.get("device_name", "GPU")) if gpus else "CPU"
        self.library = f"TensorFlow {tf.__version__}"
        self._batches: list[dict[str, Any]] = []
        self._next: list[int] = []
        self.loaded_bytes = self._current()

    @property
    def memory_source(self) -> str:
        return "TensorFlow's allocator" if self._gpu else host_memory.SOURCE

    def prepare(self, batches: Sequence[Batch], callers: int, queued: int, inputs: str) -> None:
        """Gets ready for requests with these batches in turn. `inputs` is "device" (they are in
        the GPU's memory before the request begins) or "host" (each request copies its own)."""
        self._batches = [self._placed(batch, inputs) for batch in batches]
        self._next = list(range(callers))

    def begin(self, caller: int) -> None:
        pass

    def send(self, caller: int) -> Mapping[str, Any]:
        number = self._next[caller]
        self._next[caller] += 1
        return self._runnable.call(self._batches[number % len(self._batches)])

    def finish(self, caller: int, ticket: Mapping[str, Any]) -> None:
        for value in ticket.values():
            value.numpy()

    def reset_peak(self) -> None:
        import tensorflow as tf

        self._batches = []  # so that a small cell does not have the inputs of a large one before it
        if self._gpu:
            tf.config.experimental.reset_memory_stats(self._gpu)
        else:
            host_memory.reset_peak()

    def held_bytes(self) -> int:
        return self._current()

    def peak_bytes(self) -> int:
        import tensorflow as tf

        if self._gpu:
            return int(tf.config.experimental.get_memory_info(self._gpu)["peak"])
        return host_memory.peak()

    def close(self) -> None:
        self._batches = []

    def _current(self) -> int:
        import tensorflow as tf

        if self._gpu:
            return int(tf.config.experimental.get_memory_info(self._gpu)["current"])
        return host_memory.resident()

    def _placed(self, batch: Batch, inputs: str) -> dict[str, Any]:
        if inputs == "host":
            return dict(batch)
        import tensorflow as tf

        placed = {}
        for name, value in batch.items():
            with tf.device("CPU:0" if value.dtype.kind in "OSU" or not self._gpu else self._gpu):
                placed[name] = tf.identity(tf.constant(value))
        return placed
