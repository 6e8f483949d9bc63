"""Triton's side of a served model: it collects requests, has a process run them, and answers.

`tf-nvcodec deploy triton` copies this file as model.py into a model repository, with
model_process.py beside it. Triton's Python backend runs it with the Python of its own stub, which
needs NumPy. TensorFlow is in the other process: if a video or a library makes that process crash,
only the request that did it fails. The process is started again, and the server never notices.

`execute` hands a batch to one of a few threads and returns, so several batches are in work at a
time in one process, with one copy of the model in the GPU's memory. While all threads are busy, it
waits, and Triton makes a larger batch of the requests that arrive meanwhile.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

# How often a waiting thread looks whether its requests are cancelled, and how long a cancelled or
# overdue batch may go on before the process is killed; seconds.
_LOOK, _GRACE = 0.05, 10.0
# Names of TensorFlow's errors that are the request's own fault.
_CALLERS_FAULT = ("InvalidArgumentError", "OutOfRangeError", "UnimplementedError")


class ProcessDiedError(Exception):
    """The model's process is gone."""


class ModelError(Exception):
    """What the model raised."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ModelProcess:
    """Runs batches in a process with TensorFlow, and starts it again after it died.

    Args:
      arguments: What model_process.py is told.
      timeout: The seconds that a batch may take.
    """

    def __init__(self, python: str, arguments: dict[str, Any], timeout: float) -> None:
        self._command = [python, str(Path(__file__).with_name("model_process.py"))]
        self._arguments = arguments
        self._timeout = timeout
        self._numbers = itertools.count()
        self._lock = threading.Lock()  # of what follows
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Any = None
        self._pending: dict[int, Future[Any]] = {}
        self._sending = threading.Lock()
        self._stopping = False

    def start(self) -> None:
        """Starts the process, if it does not run, and waits until the model is loaded.

        Raises:
          ModelError: The model does not load.
        """
        with self._lock:
            if self._connection is not None:
                return
            ours, theirs = socket.socketpair()
            with theirs:
                told = json.dumps({**self._arguments, "socket": theirs.fileno()})
                process = subprocess.Popen(
                    [*self._command, told], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
                )
            connection = Connection(ours.detach())
            try:
                said = connection.recv()
            except (EOFError, OSError):
                said = f"its process ended with code {process.wait()}, see the server's log"
            if said != "ready":
                connection.close()
                process.wait()
                raise ModelError("FailedPreconditionError", f"the model does not load: {said}")
            self._process, self._connection = process, connection
            threading.Thread(target=self._receive, args=(process, connection), daemon=True).start()

    def run(self, inputs: dict[str, Any], cancelled: Callable[[], bool]) -> dict[str, Any]:
        """Returns the outputs for a batch.

        Raises:
          ModelError: The model raised it, or the batch was cancelled or took too long.
          ProcessDiedError: The process died; the next call starts another one.
        """
        self.start()
        number: int = next(self._numbers)
        answer: Future[Any] = Future()
        with self._lock:
            process, connection = self._process, self._connection
            if connection is None or process is None:
                raise ProcessDiedError
            self._pending[number] = answer
        self._send(connection, number, inputs)
        stopped = ""
        deadline = time.monotonic() + self._timeout
        while not wait([answer], _LOOK).done:
            if stopped and time.monotonic() > deadline:
                process.kill()
            if not stopped:
                if cancelled():
                    stopped = "the request was cancelled"
                elif time.monotonic() > deadline:
                    stopped = f"the model took more than {self._timeout:g} s"
                if stopped:
                    deadline = time.monotonic() + _GRACE
                    self._send(connection, number, None)
        try:
            outputs: dict[str, Any] = answer.result()
        except (ModelError, ProcessDiedError):
            if stopped:
                kind = "CancelledError" if "cancelled" in stopped else "DeadlineExceededError"
                raise ModelError(kind, stopped) from None
            raise
        return outputs

    def stop(self) -> None:
        """Ends the process."""
        self._stopping = True
        with self._lock:
            process, connection = self._process, self._connection
        if connection is None or process is None:
            return
        with contextlib.suppress(OSError):
            connection.send_bytes(b"")
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()

    def _send(self, connection: Any, number: int, inputs: Any) -> None:
        try:
            with self._sending:
                connection.send((number, inputs))
        except OSError:
            pass  # it died; _receive says so to all that wait

    def _receive(self, process: Any, connection: Any) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                number, outputs, failure = connection.recv()
                with self._lock:
                    answer = self._pending.pop(number)
                if failure is None:
                    answer.set_result(outputs)
                else:
                    answer.set_exception(ModelError(*failure))
        process.kill()
        code = process.wait()
        with self._lock:
            connection.close()
            self._process = self._connection = None
            lost, self._pending = self._pending, {}
        if code:
            print(f"the model's process ended with code {code}", file=sys.stderr, flush=True)
        for answer in lost.values():
            answer.set_exception(ProcessDiedError())
        if not self._stopping:
            with contextlib.suppress(ModelError):  # the next call tries again, and says it
                self.start()


class _Turns:
    """Lets many run at a time, or one alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._wanted_alone = 0

    @contextlib.contextmanager
    def turn(self, alone: bool) -> Iterator[None]:
        with self._changed:
            self._wanted_alone += alone
            self._changed.wait_for(lambda: not (self._running if alone else self._wanted_alone))
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._wanted_alone -= alone
                self._running -= 1
                self._changed.notify_all()


class _Request:
    """A request's inputs, and the way back to its client."""

    def __init__(self, request: Any, names: list[str]) -> None:
        tensors = {name: pb_utils.get_input_tensor_by_name(request, name) for name in names}
        self.inputs = {name: tensor.as_numpy() for name, tensor in tensors.items()}
        self.rows = len(next(iter(self.inputs.values())))
        self.bytes = sum(map(_bytes_of, self.inputs.values()))
        self._sender = request.get_response_sender()

    def is_cancelled(self) -> bool:
        return bool(self._sender.is_cancelled())

    def answer(self, outputs: dict[str, Any]) -> None:
        tensors = [pb_utils.Tensor(name, _contiguous(value)) for name, value in outputs.items()]
        self._send(pb_utils.InferenceResponse(output_tensors=tensors))

    def fail(self, message: str, code: Any) -> None:
        self._send(pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code)))

    def _send(self, response: Any) -> None:
        self._sender.send(response, flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)


class TritonPythonModel:
    """The class that Triton's Python backend looks for."""

    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        settings = {
            name: value["string_value"] for name, value in config.get("parameters", {}).items()
        }
        self._inputs = [each["name"] for each in config["input"]]
        self._max_bytes = int(settings["max_bytes"])
        here = Path(__file__).resolve().parent
        on_gpu = args["model_instance_kind"] == "GPU"
        batches = int(settings["batches"])
        self._process = ModelProcess(
            _python(settings["python"]),
            {
                "model": str(here / "model.savedmodel"),
                "signature": settings["signature"],
                "imports": settings["imports"].split(),
                "gpu": int(args["model_instance_device_id"]) if on_gpu else None,
                "batches": batches,
                "warm_up": sorted(map(str, (here / "warm_up").glob("*"))),
            },
            float(settings["timeout"]),
        )
        self._process.start()
        self._turns = _Turns()
        self._free = threading.Semaphore(batches)
        self._threads = ThreadPoolExecutor(batches)

    def execute(self, requests: list[Any]) -> None:
        self._free.acquire()
        try:
            # Copies the inputs, which Triton takes back after this call.
            taken = [_Request(request, self._inputs) for request in requests]
            self._threads.submit(self._serve, taken)
        except BaseException:  # Triton answers the requests with it
            self._free.release()
            raise

    def finalize(self) -> None:
        self._threads.shutdown()
        self._process.stop()

    def _serve(self, requests: list[_Request]) -> None:
        try:
            small = []
            for request in requests:
                if request.bytes <= self._max_bytes:
                    small.append(request)
                else:
                    request.fail(
                        f"the request has {request.bytes} bytes; this model takes "
                        f"{self._max_bytes}",
                        pb_utils.TritonError.INVALID_ARG,
                    )
            self._run(small, alone=False)
        except Exception as error:  # a client must never wait for an answer that does not come
            for request in requests:
                with contextlib.suppress(Exception):
                    request.fail(f"{type(error).__name__}: {error}", pb_utils.TritonError.INTERNAL)
        finally:
            self._free.release()

    def _run(self, requests: list[_Request], alone: bool) -> None:
        """Answers requests as one batch. If that fails, each is tried by itself."""
        left = []
        for request in requests:
            if request.is_cancelled():
                request.fail("the request was cancelled", pb_utils.TritonError.CANCELLED)
            else:
                left.append(request)
        if not left:
            return
        batch = {
            name: np.concatenate([request.inputs[name] for request in left])
            for name in self._inputs
        }
        try:
            with self._turns.turn(alone):
                outputs = self._process.run(
                    batch, lambda: all(request.is_cancelled() for request in left)
                )
        except ProcessDiedError:
            if alone:
                left[0].fail(
                    "the model's process died when it worked on this request; it is started again",
                    pb_utils.TritonError.INTERNAL,
                )
                return
            # Another batch may have killed it. Whatever dies alone has done it itself.
            for request in left:
                self._run([request], alone=True)
        except ModelError as error:
            if len(left) > 1 and error.kind not in ("CancelledError", "FailedPreconditionError"):
                for request in left:
                    self._run([request], alone)
                return
            for request in left:
                request.fail(str(error), _code(error.kind))
        else:
            start = 0
            for request in left:
                rows = slice(start, start + request.rows)
                request.answer({name: value[rows] for name, value in outputs.items()})
                start += request.rows


def _code(kind: str) -> Any:
    if kind == "CancelledError":
        return pb_utils.TritonError.CANCELLED
    if kind in ("ResourceExhaustedError", "DeadlineExceededError", "FailedPreconditionError"):
        return pb_utils.TritonError.UNAVAILABLE
    if kind in _CALLERS_FAULT:
        return pb_utils.TritonError.INVALID_ARG
    return pb_utils.TritonError.INTERNAL


def _bytes_of(array: Any) -> int:
    return sum(map(len, array.flat)) if array.dtype == object else int(array.nbytes)


def _contiguous(array: Any) -> Any:
    return np.ascontiguousarray(array)


def _python(named: str) -> str:
    """The Python of the machine that wrote this folder may not be on the one that serves it."""
    if named and os.access(named, os.X_OK):
        return named
    found = shutil.which("python3")
    if found is None:
        raise RuntimeError(f"there is neither {named} nor python3 on PATH to run TensorFlow")
    return found
