"""How this project runs libFuzzer: the targets, the limits for one input, and what a log says.

It needs Python alone, so that campaign.py runs where only the fuzz programs are.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
REGRESSIONS = HERE / "regressions"

VIDEO = ("demux", "index", "decode", "clips", "compat_demuxer")
OTHER = ("packed", "packets", "compat_parser")
READERS = ("engine_file", "calibration_table", "model", "record")
MOST_BYTES = 32768
# Seconds and megabytes for one input. The sanitizers slow decoding down a few times and keep freed
# memory for a while.
MOST_SECONDS = 20
MOST_MEGABYTES = 2048
# TensorFlow's and FFmpeg's libraries keep some memory until the process ends.
_SANITIZERS = {
    "ASAN_OPTIONS": "allocator_may_return_null=1:quarantine_size_mb=64:detect_leaks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def environment(name: str = "") -> dict[str, str]:
    """The environment of a fuzz program that runs the target `name`."""
    return {**os.environ, **_SANITIZERS, "TF_NVCODEC_FUZZ_TARGET": name}


def options(name: str, found: Path, **more: int) -> list[str]:
    """libFuzzer's options. An input that fails goes to the folder `found`."""
    chosen: dict[str, object] = {
        "max_len": 4 * MOST_BYTES if name in READERS else MOST_BYTES,
        "timeout": MOST_SECONDS,
        "rss_limit_mb": MOST_MEGABYTES,
        "artifact_prefix": f"{found}/",
        "print_final_stats": 1,
        "reload": 0,
    }
    if name not in READERS:
        chosen["dict"] = HERE / "video.dict"
    return [f"-{option}={value}" for option, value in {**chosen, **more}.items()]


def seed_folders(build: Path, name: str) -> list[Path]:
    """The folders with the first inputs of a target, in build/seeds/ and in the repository."""
    seeds = build / "seeds" / ("video" if name in VIDEO else name)
    return [path for path in (seeds, REGRESSIONS / name) if path.is_dir()]


def numbers(log: str) -> tuple[int, int]:
    """How many inputs ran and how many edges they covered, as libFuzzer says."""
    steps = re.findall(r"^#(\d+)\s.*?\bcov: (\d+)", log, re.M)
    total = re.search(r"number_of_executed_units:\s*(\d+)", log)
    executions = int(total[1]) if total else max((int(step[0]) for step in steps), default=0)
    return executions, max((int(step[1]) for step in steps), default=0)


def failure(log: str, otherwise: str) -> str:
    """The sanitizer's or Python's summary of why a program ended."""
    found = re.search(r"^(SUMMARY: .*|.*Uncaught Python exception.*\n.*)$", log, re.M)
    return (found[1] if found else otherwise).replace("\n", " ")[:160]


def artifact(log: str) -> str:
    """The file with the input that made a program end; "" if there is none."""
    found = re.search(r"Test unit written to (\S+)", log)
    return found[1] if found else ""
