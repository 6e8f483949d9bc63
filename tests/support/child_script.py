"""Programs that a test runs in a process of their own. Each starts TensorFlow, which takes seconds:
one program for several checks is better than several programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tf_nvcodec

_TESTS = Path(__file__).resolve().parents[1]


def environment(**changes: str) -> dict[str, str]:
    """The variables of a child that imports the same package as this process, and the helper
    modules of the tests."""
    paths = [Path(tf_nvcodec.__file__).resolve().parents[1], _TESTS / "support", _TESTS / "golden"]
    python_path = [*map(str, paths), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(python_path), "TF_CPP_MIN_LOG_LEVEL": "3"}
    return {**found, **changes}


def finished(
    *arguments: object, timeout: float = 240, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Python with these arguments, and `changes` to its environment, after it has ended well."""
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
    """What Python with these arguments prints; it has to end well."""
    return finished(*arguments, timeout=timeout, **changes).stdout
