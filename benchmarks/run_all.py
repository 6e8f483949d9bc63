"""Runs every claim, one script after another, then draws the plot.

python -m benchmarks.run_all [the scripts' own options]
"""

from __future__ import annotations

import subprocess
import sys

SCRIPTS = (
    "decode_full",
    "decode_random",
    "decode_clip",
    "decode_first_frame",
    "decode_resized",
    "encode_x264",
    "decode_memory",
    "dataset_clips",
    "dataset_overhead",
    "dataset_first_batch",
)


def main(options: list[str]) -> int:
    failed = []
    for script in SCRIPTS:
        command = [sys.executable, "-m", f"benchmarks.{script}", *options]
        if subprocess.run(command, check=False).returncode:
            failed.append(script)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    return subprocess.run([sys.executable, "-m", "benchmarks.plot"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
