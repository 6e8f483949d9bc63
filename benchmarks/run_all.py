"""Runs every claim's script, then draws the plot and writes the tables.

python -m benchmarks.run_all [options of the scripts]
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.harness import machine
from benchmarks.harness.process import interpreter

SCRIPTS = (
    "decode_each",
    "decode_pass",
    "decode_full",
    "decode_random",
    "decode_clip",
    "decode_first_frame",
    "decode_resized",
    "encode_x264",
    "decode_memory",
    "pass_memory",
    "dataset_clips",
    "dataset_overhead",
    "dataset_first_batch",
)
TABLES = ("claims_table", "summary_table")


def main(options: list[str]) -> int:
    os.environ[machine.DATE] = machine.today()
    failed = []
    for script in SCRIPTS:
        command = [sys.executable, "-m", f"benchmarks.cpu.{script}", *options]
        if subprocess.run(command, check=False).returncode:
            failed.append(script)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    # The peers' environment has matplotlib.
    plot = [interpreter("peers"), "-m", "benchmarks.tables.plot"]
    tables = [[sys.executable, "-m", f"benchmarks.tables.{name}"] for name in TABLES]
    return max(subprocess.run(step, check=False).returncode for step in (plot, *tables))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
