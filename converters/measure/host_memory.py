"""The memory of this process, as Linux counts it. For models that run on the CPU."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

SOURCE = "the process"


def resident() -> int:
    """Bytes of the process that are in memory now."""
    return _status("VmRSS")


def peak() -> int:
    """The most bytes that were in memory at once, since the last `reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Lets `peak` count from now on. Where Linux forbids it, `peak` counts from the beginning."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _status(name: str) -> int:
    match = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
    return 1024 * int(match[1]) if match else 0
