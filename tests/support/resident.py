"""The memory of this process, for tests of leaks."""

from __future__ import annotations

import ctypes
import resource
from pathlib import Path
from typing import ClassVar

# The fields of glibc's struct mallinfo2, all of size_t. `uordblks` are the bytes in use in malloc's
# arenas, and `hblkhd` those of large blocks, which have memory of their own.
_FIELDS = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
    *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
)


class _Mallinfo(ctypes.Structure):
    _fields_: ClassVar = [(name, ctypes.c_size_t) for name in _FIELDS]


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def allocated_bytes() -> int:
    """The bytes that malloc has given out: without what was freed and kept for later, which grows
    with the number of threads."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _Mallinfo
    now = mallinfo2()
    return int(now.uordblks + now.hblkhd)
