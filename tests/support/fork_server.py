"""Runs Python programs in processes of their own, without the seconds for importing TensorFlow.

A server process imports TensorFlow once. It forks for each program. The fork runs the program and
ends like any Python process. The server imports only TensorFlow, so a program still imports
tf_nvcodec itself, in its own environment. If a test is about the start of Python, the import of
TensorFlow or its log level, use a new process instead (child_script.py).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from typing import IO, Any

# The largest request, which has a program's text, arguments and environment.
_MOST_BYTES = 1 << 18
_START_S = 240


class Child:
    """A running program. It has the part of subprocess.Popen that the tests need."""

    def __init__(self, server: _Server, pid: int, stdout: IO[str], stderr: IO[str]) -> None:
        self._server, self.pid = server, pid
        self.stdout, self.stderr = stdout, stderr
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._server.ended(self.pid, 0)
        return self.returncode

    def wait(self, timeout: float = 240) -> int:
        if self.returncode is None:
            self.returncode = self._server.ended(self.pid, timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 240) -> tuple[str, str]:
        """Waits until the program ends, and returns what it prints until then."""
        self.wait(timeout)
        return self.stdout.read(), self.stderr.read()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()


class _Server:
    def __init__(self) -> None:
        from child_script import environment

        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(there.fileno())],
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                env=environment(),
            )
        self._socket = here
        self._ended: dict[int, int] = {}
        atexit.register(self._close)

    def _close(self) -> None:
        self._socket.close()
        self._process.wait()

    def start(self, request: dict[str, Any], files: list[int]) -> int:
        message = json.dumps(request).encode()
        assert len(message) < _MOST_BYTES, "the program and its environment are too long"
        socket.send_fds(self._socket, [message], files)
        found = self._receive(_START_S)
        while found is not None and "started" not in found:
            found = self._receive(_START_S)
        assert found is not None, "the server does not answer"
        return int(found["started"])

    def ended(self, pid: int, timeout: float) -> int | None:
        """Waits for the program and returns its exit status as subprocess does. After `timeout`
        seconds it returns None."""
        deadline = time.monotonic() + timeout
        while pid not in self._ended:
            if self._receive(max(0.0, deadline - time.monotonic())) is None:
                return None
        return self._ended.pop(pid)

    def _receive(self, timeout: float) -> dict[str, int] | None:
        if not select.select([self._socket], [], [], timeout)[0]:
            return None
        message = self._socket.recv(_MOST_BYTES)
        assert message, "the server has ended"
        found = json.loads(message)
        if "ended" in found:
            self._ended[found["ended"]] = found["status"]
        return found


@functools.cache
def _server() -> _Server:
    return _Server()


def _request(arguments: tuple[object, ...], cwd: object, changes: dict[str, str]) -> dict[str, Any]:
    from child_script import environment

    return {
        "argv": [os.fsdecode(a) if isinstance(a, bytes) else str(a) for a in arguments],
        "env": environment(**changes),
        "cwd": str(cwd or os.getcwd()),
    }


def start(*arguments: object, cwd: object = None, **changes: str) -> Child:
    """Starts `python ARGUMENTS` (-c CODE, -m MODULE or a file) with pipes for what it prints.

    `changes` are changes to its environment.
    """
    out, out_end = os.pipe()
    err, err_end = os.pipe()
    with open(os.devnull) as nothing:
        pid = _server().start(
            _request(arguments, cwd, changes), [nothing.fileno(), out_end, err_end]
        )
    os.close(out_end)
    os.close(err_end)
    return Child(_server(), pid, os.fdopen(out, "r"), os.fdopen(err, "r"))


def run(
    *arguments: object,
    stdin: IO[Any] | None = None,
    stdout: IO[Any] | None = None,
    cwd: object = None,
    timeout: float = 240,
    **changes: str,
) -> subprocess.CompletedProcess[str]:
    """Runs `python ARGUMENTS` to its end. Returns its exit status and what it printed. If `stdout`
    is a file, the output goes there instead."""
    with contextlib.ExitStack() as stack:
        given = stdin or stack.enter_context(open(os.devnull))
        out, err = (stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2))
        files = [given.fileno(), (stdout or out).fileno(), err.fileno()]
        pid = _server().start(_request(arguments, cwd, changes), files)
        status = _server().ended(pid, timeout)
        if status is None:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(map(str, arguments)), timeout)
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(list(arguments), status, out.read(), err.read())


def printed_by(*arguments: object, timeout: float = 240, **changes: str) -> str:
    """Runs the program and returns what it prints. Fails if the program does."""
    done = run(*arguments, timeout=timeout, **changes)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def _serve(client: socket.socket) -> Callable[[], None]:
    """Forks for each request. It returns only in a fork, with the function that the fork has to
    run."""
    import tensorflow  # noqa: F401

    wakes, told = os.pipe()
    os.set_blocking(told, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(told)
    while True:
        readable, _, _ = select.select([client, wakes], [], [])
        if wakes in readable:
            os.read(wakes, 4096)
            _tell_who_ended(client)
        if client not in readable:
            continue
        message, files, _, _ = socket.recv_fds(client, _MOST_BYTES, 3)
        if not message:
            sys.exit(0)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number in (client.detach(), wakes, told):
                os.close(number)
            return _program(json.loads(message), files)
        for file in files:
            os.close(file)
        client.send(json.dumps({"started": pid}).encode())


def _tell_who_ended(client: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        found = {"ended": pid, "status": os.waitstatus_to_exitcode(status)}
        client.send(json.dumps(found).encode())


def _program(request: dict[str, Any], files: list[int]) -> Callable[[], None]:
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    # The server's own stdin, stdout and stderr remember whether their files allow seeking, so the
    # fork needs new ones.
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    kind, *rest = request["argv"]
    sys.path[1:1] = request["env"]["PYTHONPATH"].split(os.pathsep)
    sys.path[0] = os.path.dirname(kind) if kind not in ("-c", "-m") else ""
    if kind == "-m":
        sys.argv = rest
        return functools.partial(runpy.run_module, rest[0], None, "__main__", True)
    if kind != "-c":
        sys.argv = [kind, *rest]
        return functools.partial(runpy.run_path, kind, None, "__main__")
    sys.argv = ["-c", *rest[1:]]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    return functools.partial(exec, compile(rest[0], "<string>", "exec"), main.__dict__)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))()
