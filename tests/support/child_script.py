"""Programs in a process of their own, of which it matters how they end."""

from __future__ import annotations

import subprocess
import sys


def printed_by(*arguments: str, timeout: float = 240) -> str:
    """What Python with these arguments prints; it has to end well."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def ends_well(script: str, *args: str) -> None:
    printed_by("-c", script, *args)
