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
import queue
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

# How often a waiting thread looks whether its requests are cancelled; how long an overdue batch may
# go on before the process is killed; how long a model may load; the first and the longest pause
# before a model that did not load is loaded again. All are seconds.
_LOOK, _GRACE, _LOAD, _PAUSE, _LONGEST_PAUSE = 0.05, 10.0, 3600.0, 1.0, 60.0
# While a model loads, Triton gives this program up if it shows no sign for a second. It shows one
# each 0.3 seconds.
_STALL = 0.7
# Where Triton's Python backend keeps requests and responses.
_SHARED = "/dev/shm"
# Names of TensorFlow's errors that are the request's own fault.
_CALLERS_FAULT = ("InvalidArgumentError", "OutOfRangeError", "UnimplementedError")


class ProcessDiedError(Exception):
    """The model's process is gone."""


class NotLoadedError(Exception):
    """The model does not load."""


class StoppedError(Exception):
    """The batch was cancelled, or took too long."""

    def __init__(self, message: str, cancelled: bool) -> None:
        super().__init__(message)
        self.cancelled = cancelled


class ModelError(Exception):
    """What the model raised."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ModelProcess:
    """Runs batches in a process with TensorFlow, and starts it again after it died.

    One thread starts the process and receives its answers, another sends to it. So a caller waits
    for nothing that it does not time itself.

    Args:
      python: The interpreter.
      arguments: What model_process.py is told.
    """

    def __init__(self, python: str, arguments: dict[str, Any]) -> None:
        self._python = python
        self._arguments = arguments
        self._numbers = itertools.count()
        self._changed = threading.Condition()  # guards what follows
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: queue.SimpleQueue[Any] | None = None  # to a process that is ready
        self._pending: dict[int, Future[Any]] = {}
        self._why_not = ""  # the model does not load
        self._stopping = False
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def wait_until_ready(self) -> None:
        """Waits until the model is loaded. Raises NotLoadedError if it does not load.

        If this program gets no CPU meanwhile, Triton gives it up, but waits for its end, for ever.
        So it ends, and Triton loads the model again (--model-load-retry-count).
        """
        with self._changed:
            while self._messages is None and not self._why_not:
                begin = time.monotonic()
                self._changed.wait(_LOOK)
                stall = time.monotonic() - begin
                if stall > _STALL:
                    _log(f"this machine is too busy: loading stood still for {stall:.1f} seconds")
                    if self._process is not None:
                        self._process.kill()
                    os._exit(1)
            if self._messages is None:
                raise NotLoadedError(self._why_not)

    def run(
        self, inputs: dict[str, Any], cancelled: Callable[[], bool], seconds: float
    ) -> dict[str, Any]:
        """Returns the outputs for a batch.

        Args:
          inputs: The arrays by name.
          cancelled: Whether nobody waits for the outputs any more.
          seconds: How long the batch may take. Time in which the process starts does not count.

        Raises:
          ModelError: The model raised it.
          NotLoadedError: The model does not load.
          ProcessDiedError: The process died.
          StoppedError: The batch was cancelled or is overdue.
        """
        overdue = StoppedError("the model took longer than its time limit", cancelled=False)
        no_more = StoppedError("the request was cancelled", cancelled=True)
        answer: Future[Any] = Future()
        with self._changed:
            while self._messages is None:
                if self._why_not or self._stopping:
                    raise NotLoadedError(self._why_not or "the server stops")
                if cancelled():
                    raise no_more
                self._changed.wait(_LOOK)
            process, messages, number = self._process, self._messages, next(self._numbers)
            self._pending[number] = answer
        assert process is not None
        messages.put((number, inputs))
        deadline = time.monotonic() + seconds
        stopped: StoppedError | None = None
        while not wait([answer], _LOOK).done:
            now = time.monotonic()
            if stopped is None and (now > deadline or cancelled()):
                stopped = overdue if now > deadline else no_more
                messages.put((number, None))
            if now > deadline + _GRACE:
                process.kill()
        try:
            outputs: dict[str, Any] = answer.result()
        except (ModelError, ProcessDiedError):
            if stopped is not None:
                raise stopped from None
            raise
        return outputs

    def stop(self) -> None:
        """Ends the process."""
        with self._changed:
            self._stopping = True
            if self._messages is not None:
                self._messages.put(None)
            self._changed.notify_all()
        self._keeper.join(_GRACE)
        with self._changed:
            process = self._process
        if process is not None:
            process.kill()
        self._keeper.join(_GRACE)

    def _keep(self) -> None:
        """Starts the process as often as it ends."""
        pause = _PAUSE
        while not self._stopping:
            try:
                why_not = self._run_once()
            except Exception as error:  # no such program, or no memory or thread for another
                why_not = f"{self._python}: {type(error).__name__}: {error}"
            if not why_not:
                pause = _PAUSE
                continue
            with self._changed:
                self._why_not = f"the model does not load: {why_not}"
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._stopping, pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _run_once(self) -> str:
        """Starts the process and returns "" after its end, or why it does not load the model."""
        ours, theirs = socket.socketpair()
        with contextlib.closing(Connection(ours.detach())) as connection:
            with theirs:
                told = json.dumps({**self._arguments, "socket": theirs.fileno()})
                command = [self._python, str(Path(__file__).with_name("model_process.py")), told]
                process = subprocess.Popen(
                    command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
                )
            with self._changed:
                self._process = process
            try:
                said = self._load(process, connection)
                if said == "ready":
                    self._receive(process, connection)
            finally:
                process.kill()
                process.wait()
                with self._changed:
                    self._process = None
        return "" if said == "ready" else said

    def _load(self, process: Any, connection: Any) -> str:
        """Returns "ready", or why the model does not load."""
        deadline = time.monotonic() + _LOAD
        while not connection.poll(_LOOK):
            if self._stopping or time.monotonic() > deadline:
                process.kill()
        try:
            return str(connection.recv())
        except (EOFError, OSError):
            return (
                f"{self._python} ended with code {process.wait()} before the model was loaded; "
                "the server's log has more"
            )

    def _receive(self, process: Any, connection: Any) -> None:
        """Receives answers until the process ends, and fails what it has not answered."""
        messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        sender = threading.Thread(
            target=_send_all, args=(process, connection, messages), daemon=True
        )
        sender.start()
        with self._changed:
            self._messages, self._why_not = messages, ""
            self._changed.notify_all()
        try:
            while True:
                number, outputs, failure = connection.recv()
                with self._changed:
                    answer = self._pending.pop(number)
                if failure is None:
                    answer.set_result(outputs)
                else:
                    answer.set_exception(ModelError(*failure))
        except (EOFError, OSError):
            pass
        except Exception as error:  # such as an answer that this Python cannot read
            _log(f"the answers of the model's process cannot be read: {error!r}")
        with self._changed:
            self._messages = None
            lost, self._pending = self._pending, {}
        process.kill()
        code = process.wait()
        if not self._stopping:
            _log(f"the model's process ended with code {code} and is started again")
        for answer in lost.values():
            answer.set_exception(ProcessDiedError())
        # Only now may the connection be closed: sending to a dead process fails at once.
        messages.put(None)
        sender.join()


def _send_all(process: Any, connection: Any, messages: queue.SimpleQueue[Any]) -> None:
    """Sends messages until there is a None, which is the end."""
    try:
        for message in iter(messages.get, None):
            connection.send(message)
        connection.send_bytes(b"")
    except Exception as error:
        if not isinstance(error, OSError):  # else the process is gone
            _log(f"a batch cannot be sent to the model's process: {error!r}")
        process.kill()


def _log(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


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

    largest_answer = 0  # bytes of the largest one so far

    def __init__(self, request: Any, names: list[str], flat: list[str], seconds: float) -> None:
        tensors = {name: pb_utils.get_input_tensor_by_name(request, name) for name in names}
        self.inputs = {name: tensor.as_numpy() for name, tensor in tensors.items()}
        for name in flat:  # Triton has [B, 1] where the model has [B]
            self.inputs[name] = self.inputs[name].reshape(-1)
        self.rows = len(next(iter(self.inputs.values())))
        self.bytes = sum(map(_bytes_of, self.inputs.values()))
        self.seconds = seconds  # that it may take yet
        self._sender = request.get_response_sender()

    def is_cancelled(self) -> bool:
        return bool(self._sender.is_cancelled())

    def answer(self, outputs: dict[str, Any]) -> None:
        size, room = sum(map(_bytes_of, outputs.values())), shutil.disk_usage(_SHARED).free
        # What Triton has taken for an earlier answer it keeps for later ones.
        if size > max(room, _Request.largest_answer):
            self.fail(
                f"the outputs have {size} bytes, and {_SHARED}, through which they pass, has room "
                f"for {room}: give it more (docker run --shm-size), or ask for less at a time",
                pb_utils.TritonError.UNAVAILABLE,
            )
            return
        tensors = [
            pb_utils.Tensor(name, np.ascontiguousarray(value)) for name, value in outputs.items()
        ]
        # The last flag closes the way back, even where the response then finds no room in shared
        # memory: a client would wait for ever. So it comes alone.
        try:
            self._sender.send(pb_utils.InferenceResponse(output_tensors=tensors), flags=0)
            _Request.largest_answer = max(_Request.largest_answer, size)
        finally:
            self._sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def fail(self, message: str, code: Any) -> None:
        response = pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code))
        self._sender.send(response, flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def fail_by(self, error: Exception) -> None:
        """Fails the request, unless it has its answer."""
        with contextlib.suppress(Exception):
            self.fail(f"{type(error).__name__}: {error}", pb_utils.TritonError.INTERNAL)


class TritonPythonModel:
    """The class that Triton's Python backend looks for."""

    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        parameters = config.get("parameters", {})
        settings = {name: value["string_value"] for name, value in parameters.items()}
        here = Path(__file__).resolve().parent
        version = json.loads((here / "version.json").read_text())
        self._inputs = [each["name"] for each in config["input"]]
        self._flat = version["flat_inputs"]
        self._max_bytes = int(settings["max_bytes"])
        self._timeout = float(settings["timeout"])
        on_gpu = args["model_instance_kind"] == "GPU"
        batches = int(settings["batches"])
        self._process = ModelProcess(
            _python(settings["python"]),
            {
                "model": str(here / "model.savedmodel"),
                "signature": version["signature"],
                "imports": version["imports"],
                "gpu": int(args["model_instance_device_id"]) if on_gpu else None,
                "batches": batches,
                "warm_up": sorted(map(str, (here / "warm_up").glob("*"))),
            },
        )
        try:
            self._process.wait_until_ready()
        except NotLoadedError:
            self._process.stop()
            raise
        self._turns = _Turns()
        self._free = threading.Semaphore(batches)
        self._threads = ThreadPoolExecutor(batches)

    def execute(self, requests: list[Any]) -> None:
        self._free.acquire()
        try:
            # Copies the inputs, which Triton takes back after this call.
            taken = [
                _Request(request, self._inputs, self._flat, self._timeout) for request in requests
            ]
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
            self._run(small)
        except Exception as error:  # a client must never wait for an answer that does not come
            for request in requests:
                request.fail_by(error)
        finally:
            self._free.release()

    def _run(self, requests: list[_Request], alone: bool = False, share: float = 1) -> None:
        """Answers requests as one batch. If that fails, each is tried by itself.

        `alone` keeps all others out of the process. A request may take this share of the time that
        it has left, a batch half of it, so that there is time for trying each.
        """
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
        seconds = left[0].seconds * (share if len(left) == 1 else 0.5)
        for request in left:
            request.seconds -= seconds
        try:
            with self._turns.turn(alone):
                outputs = self._process.run(
                    batch, lambda: all(request.is_cancelled() for request in left), seconds
                )
            _check_rows(outputs, sum(request.rows for request in left))
        except ProcessDiedError:
            for request in left:
                request.seconds += seconds
            if alone:
                left[0].fail(
                    "the model's process died when it worked on this request; it is started again",
                    pb_utils.TritonError.INTERNAL,
                )
            else:  # another batch may have killed it, but what dies alone has done it itself
                self._run_each(left, alone=True)
        except NotLoadedError as error:
            for request in left:
                request.fail(str(error), pb_utils.TritonError.UNAVAILABLE)
        except StoppedError as error:
            if len(left) > 1 and not error.cancelled:
                self._run_each(left, alone)
                return
            codes = pb_utils.TritonError
            for request in left:
                request.fail(str(error), codes.CANCELLED if error.cancelled else codes.INTERNAL)
        except ModelError as error:
            if len(left) > 1:
                self._run_each(left, alone)
            else:
                left[0].fail(str(error), _code(error.kind))
        else:
            _answer(left, outputs)

    def _run_each(self, requests: list[_Request], alone: bool) -> None:
        for request in requests:
            with _failing(request):
                self._run([request], alone, share=1 / len(requests))


def _check_rows(outputs: dict[str, Any], rows: int) -> None:
    for name, value in outputs.items():
        if len(value) != rows:
            # The rows could be those of another client.
            raise ModelError(
                "InternalError",
                f"the model's output {name!r} has {len(value)} rows for a batch of {rows}: it must "
                "have one for each row of the inputs",
            )


def _answer(requests: list[_Request], outputs: dict[str, Any]) -> None:
    """Gives each request its rows of the outputs."""
    start = 0
    for request in requests:
        own = slice(start, start + request.rows)
        with _failing(request):
            request.answer({name: value[own] for name, value in outputs.items()})
        start += request.rows


@contextlib.contextmanager
def _failing(request: _Request) -> Iterator[None]:
    """Answers the request with an error of the block, which is of no other request."""
    try:
        yield
    except Exception as error:
        _log(f"a request cannot be answered: {error!r}")
        request.fail_by(error)


def _code(kind: str) -> Any:
    if kind == "ResourceExhaustedError":
        return pb_utils.TritonError.UNAVAILABLE
    if kind in _CALLERS_FAULT:
        return pb_utils.TritonError.INVALID_ARG
    return pb_utils.TritonError.INTERNAL


def _bytes_of(array: Any) -> int:
    return sum(map(len, array.flat)) if array.dtype == object else int(array.nbytes)


def _python(named: str) -> str:
    """The Python of the machine that wrote this folder may not be on the one that serves it."""
    if named and os.access(named, os.X_OK):
        return named
    found = shutil.which("python3")
    if found is None:
        raise RuntimeError(f"there is neither {named} nor python3 on PATH to run TensorFlow")
    return found
