"""Describes the machine on which the figures were measured."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
import subprocess
from pathlib import Path

# The variable that has the day on which a run of several scripts began.
DATE = "NVC_BENCH_DATE"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def _memory_gib() -> float:
    first = Path("/proc/meminfo").read_text().splitlines()[0]
    return round(int(first.split()[1]) / 2**20, 1)


def _os_name() -> str:
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return platform.system()


def _ffmpeg() -> str:
    """Returns ffmpeg's version, or "" on a machine without the program."""
    if shutil.which("ffmpeg") is None:
        return ""
    done = subprocess.run(["ffmpeg", "-version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[2]


def today() -> str:
    """Returns the UTC date."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")


def describe() -> dict[str, str | int | float]:
    """Returns CPU, cores, memory, system, FFmpeg, Python, the load before the run, the UTC date."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": _memory_gib(),
        "system": _os_name(),
        "kernel": platform.release(),
        "ffmpeg": _ffmpeg(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "date": os.environ.get(DATE) or today(),
    }
