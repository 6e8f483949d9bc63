"""A Triton server on a model repository, and requests to it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import child_script
import numpy as np

_START_S = 240


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Server:
    """`tf-nvcodec serve`. A block with it begins when the server is ready, and ends it."""

    def __init__(self, repository: Path, log: Path, *options: str, **environment: str) -> None:
        self.http, self.grpc, self.metrics = free_ports(3)
        self.log = log
        command = [sys.executable, "-m", "tf_nvcodec.cli", "serve", str(repository)]
        command += [f"--http-port={self.http}", f"--grpc-port={self.grpc}"]
        command += [f"--metrics-port={self.metrics}"]
        command += [f"--option={option}" for option in ("--exit-timeout-secs=5", *options)]
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                command,
                env=child_script.environment(**environment),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> Server:
        self.wait_for(self.is_ready)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()

    def wait_for(self, found: Callable[[], Any]) -> Any:
        """Returns what `found` returns once that is true. RuntimeError if the server ends before,
        or is too slow."""
        deadline = time.monotonic() + _START_S
        while not (value := found()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the server does not start: {self.text()[-20000:]}")
            time.sleep(0.1)
        return value

    def kill(self) -> None:
        """Kills the server and the processes of its models."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def get(self, path: str, port: int | None = None) -> str:
        url = f"http://127.0.0.1:{port or self.http}{path}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())

    def is_ready(self) -> bool:
        try:
            self.get("/v2/health/ready")
        except OSError:
            return False
        return True

    def model_processes(self) -> list[int]:
        """The processes that run TensorFlow for this server."""
        return self.processes(b"model_process.py")

    def processes(self, program: bytes) -> list[int]:
        """Those of this server whose command names the program."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                command = (path / "cmdline").read_bytes().split(b"\0")
                group = os.getpgid(int(path.name))
            except (OSError, ValueError):
                continue
            ours = group == self.process.pid
            if ours and any(part.endswith(b"/" + program) for part in command):
                found.append(int(path.name))
        return found


def inputs(module: Any, contents: Sequence[bytes], name: str = "contents") -> list[Any]:
    """A request for `module`, tritonclient's grpc or http."""
    array = np.empty([len(contents), 1], object)
    array[:, 0] = contents
    tensor = module.InferInput(name, list(array.shape), "BYTES")
    tensor.set_data_from_numpy(array)
    return [tensor]
