"""The memory of this process, for tests of leaks."""

from __future__ import annotations

import resource
from pathlib import Path


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
