"""The environment of child processes that hold whole models."""

from __future__ import annotations

import os

_TUNABLES = "GLIBC_TUNABLES"
_HUGE_PAGES = "glibc.malloc.hugetlb"


def child_environment(**more: str) -> dict[str, str]:
    """This process's environment with `more`, and huge pages for memory from malloc.

    TensorFlow copies a graph with its weights in each of its passes, and the kernel clears each
    page of each copy at its first use: freezing and cutting VGG16 took 88 s in pages of 4 KiB, 52 s
    in huge ones, on two cores of a virtual machine (glibc 2.35 and later; others know no such
    setting). A caller's own setting is kept.
    """
    tunables = os.environ.get(_TUNABLES, "")
    if _HUGE_PAGES not in tunables:
        tunables = ":".join(filter(None, (tunables, f"{_HUGE_PAGES}=1")))
    return {**os.environ, _TUNABLES: tunables, **more}
