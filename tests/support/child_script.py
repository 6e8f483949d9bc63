"""Runs a program in a new process. Each program takes seconds to import TensorFlow, so a test
should make several checks in one program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tf_nvcodec

_TESTS = Path(__file__).resolve().parents[1]


def environment(**changes: str) -> dict[str, str]:
    """Returns the environment of a child. The child can import the same package as this process,
    and the helper modules of the tests."""
    paths = [Path(tf_nvcodec.__file__).resolve().parents[1], _TESTS / "support", _TESTS / "golden"]
    python_path = [*map(str, paths), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(python_path), "TF_CPP_MIN_LOG_LEVEL": "3"}
    return {**found, **changes}


def finished(
    *arguments: object, timeout: float = 240, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Runs Python with these arguments and `changes` to its environment. Fails if Python does."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(
        command,
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done


def printed_by(*arguments: object, timeout: float = 240, **changes: str) -> str:
    """Runs Python with these arguments and returns what it prints. Fails if Python does."""
    return finished(*arguments, timeout=timeout, **changes).stdout
