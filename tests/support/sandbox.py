"""Runs decodes of untrusted bytes in a child process that may crash, hang or grow without harm."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import tf_nvcodec

_CHILD = Path(__file__).with_name("sandbox_child.py")
START_S = 200  # A busy machine or a sanitizer makes the import of TensorFlow slow.
HANG_S = 60


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the calls of a request gave. `crash` says how the child died; it is empty if the child
    lives."""

    outcomes: list[dict[str, Any]]
    grown_mb: float
    crash: str = ""


class Sandbox:
    """Owns a child process that decodes on `device`. It starts a new one after each crash."""

    def __init__(self, device: str = "/CPU:0") -> None:
        self._device = device
        self._child: subprocess.Popen[bytes] | None = None

    def run(self, data: bytes, calls: list[tuple[str, dict[str, Any]]]) -> Answer:
        if self._child is None:
            self._child = self._start()
        child = self._child
        assert child.stdin is not None
        assert child.stdout is not None
        request = {"data": base64.b64encode(data).decode(), "calls": calls}
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
        except BrokenPipeError:
            return self._died(f"gone before the call, code {child.wait()}")
        if not select.select([child.stdout], [], [], HANG_S)[0]:
            child.kill()
            return self._died(f"no answer in {HANG_S} s")
        line = child.stdout.readline()
        if not line:
            return self._died(f"crashed, code {child.wait()}")
        return Answer(**json.loads(line))

    def _start(self) -> subprocess.Popen[bytes]:
        # The child must import the same package as this process.
        paths = [str(Path(tf_nvcodec.__file__).resolve().parents[1])]
        paths += filter(None, [os.environ.get("PYTHONPATH")])
        child = subprocess.Popen(
            [sys.executable, str(_CHILD), self._device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        assert child.stdout is not None
        if not select.select([child.stdout], [], [], START_S)[0] or not child.stdout.readline():
            child.kill()
            raise AssertionError(f"{_CHILD.name} did not start: code {child.wait()}")
        return child

    def _died(self, how: str) -> Answer:
        self.close()
        return Answer([], 0, how)

    def close(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        child.wait()
