"""The process that runs a served model. model.py beside it starts it and talks to it by a socket.

Its one argument is a JSON object. It says "ready" when the model is loaded and warm. Then it takes
(number, inputs) and gives (number, outputs, failure); (number, None) cancels a batch. An empty
message, or the end of the connection, ends the process.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# The libraries beside this process may want the GPU's memory too.
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

try:
    import numpy as np
    import tensorflow as tf
    from tensorflow.python.eager.cancellation import CancellationManager
except Exception as error:
    _cannot = f"{sys.executable} (--python) cannot import TensorFlow: {error}"
else:
    _cannot = ""


class Model:
    """A signature of a SavedModel on arrays."""

    def __init__(self, told: dict[str, Any]) -> None:
        for module in told["imports"]:
            importlib.import_module(module)
        gpus = tf.config.list_physical_devices("GPU")
        if told["gpu"] is not None and gpus:
            tf.config.set_visible_devices(gpus[told["gpu"] % len(gpus)], "GPU")
        self._loaded = tf.saved_model.load(told["model"])
        self._function = self._loaded.signatures[told["signature"]]
        self._specs = self._function.structured_input_signature[1]

    def warm_up(self, paths: list[str]) -> None:
        """Runs videos as a batch of one and as a batch of all, as the first clients would."""
        if not paths:
            return
        ((name, _),) = self._specs.items()
        contents = np.array([Path(path).read_bytes() for path in paths], object)
        for batch in (contents[:1], contents):
            self.run({name: batch}, CancellationManager())

    def run(self, inputs: dict[str, Any], cancel: CancellationManager) -> dict[str, Any]:
        tensors = {
            name: tf.constant(inputs[name], spec.dtype) for name, spec in self._specs.items()
        }
        outputs = cancel.get_cancelable_function(self._function)(**tensors)
        return {name: _plain(tensor) for name, tensor in outputs.items()}


class Server:
    """Answers batches, several at a time."""

    def __init__(self, model: Model, connection: Any, batches: int) -> None:
        self._model = model
        self._connection = connection
        self._threads = ThreadPoolExecutor(batches)
        self._lock = threading.Lock()
        self._running: dict[int, CancellationManager] = {}

    def serve(self) -> None:
        """Returns at the end of the connection."""
        while True:
            try:
                message = self._connection.recv_bytes()
            except (EOFError, OSError):
                return
            if not message:
                return
            number, inputs = pickle.loads(message)
            if inputs is not None:
                cancel = CancellationManager()
                with self._lock:
                    self._running[number] = cancel
                self._threads.submit(self._answer, number, inputs, cancel)
                continue
            with self._lock:
                found = self._running.get(number)
            if found is not None:
                found.start_cancel()

    def _answer(self, number: int, inputs: dict[str, Any], cancel: CancellationManager) -> None:
        outputs, failure = None, None
        try:
            outputs = self._model.run(inputs, cancel)
        except Exception as error:
            message = getattr(error, "message", None) or str(error)
            failure = (type(error).__name__, message)
        with self._lock:
            del self._running[number]
            self._connection.send((number, outputs, failure))


def _plain(tensor: Any) -> Any:
    # Triton's Python backend has no bfloat16.
    return (tf.cast(tensor, tf.float32) if tensor.dtype == tf.bfloat16 else tensor).numpy()


def main() -> None:
    told = json.loads(sys.argv[1])
    connection = Connection(told["socket"])
    # Whoever stops the server by its group of processes stops this one, too. It is the end of the
    # connection that ends it, when the server has answered what it still has.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if _cannot:
        connection.send(_cannot)
        return
    try:
        model = Model(told)
        model.warm_up(told["warm_up"])
    except Exception as error:
        connection.send(f"{type(error).__name__}: {error}")
        return
    connection.send("ready")
    Server(model, connection, told["batches"]).serve()


if __name__ == "__main__":
    main()
    # What still runs has nobody who waits for it.
    os._exit(0)
