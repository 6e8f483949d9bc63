"""The harness's side of a peer's process; worker.py is the other side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.harness import clips

# The folder of FFmpeg 4's libraries in a peer's environment; setup_peers.py makes it.
LIBRARIES = "ffmpeg4"
PATIENCE_S = 600.0


def interpreter(environment: str) -> str:
    """Returns the Python of a peer's environment: from a variable, its venv, or this one."""
    named = os.environ.get(f"NVC_BENCH_PYTHON_{environment.upper()}")
    made = clips.CACHE / f"venv-{environment}" / "bin" / "python"
    if environment and named:
        return named
    return str(made) if environment and made.exists() else sys.executable


def offers(name: str, operation: str) -> bool:
    """Whether the peer's class has the operation. It starts no process."""
    return getattr(peers.every()[name], operation) is not getattr(peers.Peer, operation)


class Worker:
    """A peer's process, with these environment variables. If there is none, `absent` says why."""

    def __init__(self, name: str, **variables: str) -> None:
        self.peer = peers.every()[name]
        python = interpreter(self.peer.environment)
        environment = {**os.environ, **self.peer.variables, **variables}
        libraries = Path(python).parent.parent / LIBRARIES
        if libraries.is_dir():
            environment["LD_LIBRARY_PATH"] = str(libraries)
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.harness.worker", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("NVC_BENCH_VERBOSE") else subprocess.DEVNULL,
            cwd=str(clips.ROOT),
            env=environment,
            text=True,
        )
        hello = self._answer()
        self.version = str(hello.get("version", ""))
        self.absent = hello.get("absent") or hello.get("error")

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        watchdog = threading.Timer(PATIENCE_S, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if line:
            return json.loads(line)
        return {"error": f"the process ended with status {self._process.wait()}"}

    def call(
        self,
        operation: str,
        arguments: dict[str, Any],
        repeat: int = 1,
        check_frames: bool = False,
        save: Path | None = None,
        most: int = 0,
    ) -> dict[str, Any]:
        """Sends a request. The answer has "seconds", "not_offered" or "error".

        An operation that yields arrays ends after `most` frames, if that is not 0. A process that
        does not answer for PATIENCE_S seconds is killed.
        """
        request = {
            "operation": operation,
            "arguments": arguments,
            "repeat": repeat,
            "check": check_frames,
            "save": str(save) if save else None,
            "most": most,
        }
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return {"error": f"the process ended with status {self._process.wait()}"}
        return self._answer()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
