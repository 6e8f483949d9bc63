"""Measures what a gigabyte of memory costs that a process has never used.

    python -m benchmarks.cpu.first_touch [--gib 4]

A large decode fills gigabytes of new memory. On a virtual machine the first touch of a page may
cost twice: the kernel clears it, and if the machine has not used it for a while, the host has to
supply it. The kernel's part comes again in each process, the host's part does not. So a process
fills memory, a second one does it again at once, and a third uses pages of 4 KiB. The last figure
fills memory that the process has already. Figures are seconds for a GiB.
"""

from __future__ import annotations

import argparse
import json
import mmap
import statistics
import subprocess
import sys
import time

from benchmarks.harness import clips, machine

RESULTS = clips.RESULTS / "first_touch.json"
_GIB = 1 << 30


def touch(gib: int, huge: bool) -> list[float]:
    """Returns the seconds for each GiB of new memory, and for filling the first one again."""
    import numpy as np

    memory = mmap.mmap(-1, gib * _GIB)
    if huge:
        memory.madvise(mmap.MADV_HUGEPAGE)
    pages = np.frombuffer(memory, np.uint8)
    taken = []
    for begin in [i * _GIB for i in range(gib)] + [0]:
        began = time.perf_counter()
        pages[begin : begin + _GIB] = 1
        taken.append(time.perf_counter() - began)
    return taken


def in_a_new_process(gib: int, huge: bool) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.cpu.first_touch", "--child", "--gib", str(gib)]
    done = subprocess.run(
        command + (["--huge"] if huge else []), check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cpu.first_touch")
    parser.add_argument("--gib", type=int, default=4)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--huge", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(touch(options.gib, options.huge)))
        return
    first, second = (in_a_new_process(options.gib, huge=True) for _ in range(2))
    small = in_a_new_process(options.gib, huge=False)
    figures = {
        "first process, huge pages": statistics.median(first[:-1]),
        "second process, huge pages": statistics.median(second[:-1]),
        "third process, 4 KiB pages": statistics.median(small[:-1]),
        "memory in use": statistics.median([first[-1], second[-1], small[-1]]),
    }
    for name, seconds in figures.items():
        print(f"{name:28} {seconds:6.3f} s for a GiB")
    result = {"machine": machine.describe(), "gib": options.gib, "seconds_per_gib": figures}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
