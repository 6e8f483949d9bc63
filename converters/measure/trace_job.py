"""The job of the child process that traces requests for TensorBoard's profiler."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from converters.inputs.batch_files import read_batch
from converters.measure.model_requests import ModelRequests
from converters.util.errors import EngineError, MeasureError
from converters.util.shapes import format_shape_set, shapes_of

# The first request loads kernels, and TensorFlow traces a function's first call.
_WARM_UP = 3


def trace_requests(
    path: str, tags: Sequence[str] | None, signature: str, batch: str, folder: str, runs: int
) -> dict[str, object]:
    """Writes a trace of `runs` requests into the folder, as TensorBoard reads it: each request is a
    step. Returns "device", "library" and the "files"."""
    import tensorflow as tf

    arrays = read_batch(Path(batch))
    requests = ModelRequests(path, tags, signature)
    requests.prepare([arrays], 1, 1, "device")
    try:
        for _ in range(_WARM_UP):
            requests.finish(0, requests.send(0))
        tf.profiler.experimental.start(folder)
        try:
            for number in range(runs):
                with tf.profiler.experimental.Trace("request", step_num=number, _r=1):
                    requests.finish(0, requests.send(0))
        finally:
            tf.profiler.experimental.stop()
    except tf.errors.OpError as error:
        shapes = format_shape_set(shapes_of(arrays))
        if why := requests.explained(error, shapes):
            raise EngineError(why) from error
        raise MeasureError(f"the model failed at a request of {shapes}: {error}") from error
    files = sorted(str(file) for file in Path(folder).rglob("*.xplane.pb"))
    return {"device": requests.device, "library": requests.library, "files": files}
