"""The job of the child process that traces requests for TensorBoard's profiler."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from converters.inputs.batch_files import read_batch
from converters.measure.model_requests import ModelRequests, request_error

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
        raise request_error(error, arrays) from error
    files = sorted(str(file) for file in Path(folder).rglob("*.xplane.pb"))
    return {"device": requests.device, "library": requests.library, "files": files}
