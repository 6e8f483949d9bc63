"""Compares `trt-convert benchmark` with the plain loop of tftrt_jobs.py: ResNet50, FP16 engines.

    python -m benchmarks.converters.tftrt_agreement MODELS --prepare  # exports, converts: minutes
    python -m benchmarks.converters.tftrt_agreement MODELS [--rounds 3]

It needs a GPU and TensorRT. The two take turns, each in processes of its own. The command's medians
may differ from the loop's by 3 % at most; the exit code is 1 where they differ more. With --html,
the last turn of the command writes its page there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.converters.tftrt_jobs import BATCHES, OURS
from benchmarks.gpu.nvdec_decode import RESULTS, gpu
from benchmarks.harness import machine

NETWORK = "ResNet50"
LIMIT = 0.03


def job(name: str, **arguments: Any) -> Any:
    """The result of a job of tftrt_jobs.py."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.converters.tftrt_jobs",
        name,
        json.dumps(arguments),
    ]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out.splitlines()[-1])


def by_the_loop(source: Path, converted: Path) -> dict[str, float]:
    """Median milliseconds of a request, by batch."""
    found = job("latency", source=str(source), paths={OURS: str(converted)}, rounds=40)
    return dict(found[OURS]["latency_ms"])


def by_the_command(converted: Path, page: list[str]) -> dict[str, float]:
    """The same."""
    command = [sys.executable, "-m", "converters", "benchmark", str(converted), "--json", *page]
    command += ["--batch", ",".join(map(str, BATCHES)), "--seconds", "1"]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    cells = json.loads(out)["cells"]
    return {str(cell["batch"]): cell["model"]["latency_ms"]["median"] for cell in cells}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.converters.tftrt_agreement")
    parser.add_argument("models", type=Path, help="folder of the models")
    parser.add_argument("--prepare", action="store_true", help="make the models and end")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--html", type=Path, help="the command's page")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    source, converted = options.models / NETWORK, options.models / f"{NETWORK}_FP16"
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    if options.prepare:
        options.models.mkdir(parents=True, exist_ok=True)
        job("export", model=NETWORK, source=str(source))
        job("convert", peer=OURS, source=str(source), out=str(converted), precision="FP16")
        return 0

    loop: dict[str, list[float]] = {str(batch): [] for batch in BATCHES}
    command: dict[str, list[float]] = {str(batch): [] for batch in BATCHES}
    for number in range(options.rounds):
        last = number == options.rounds - 1
        page = ["--html", str(options.html), "--overwrite"] if options.html and last else []
        for batch, found in by_the_loop(source, converted).items():
            loop[batch].append(found)
        for batch, found in by_the_command(converted, page).items():
            command[batch].append(found)
    result: dict[str, Any] = {
        "machine": machine.describe(),
        "gpu": gpu(),
        "network": f"{NETWORK}, random weights, FP16",
        "median_ms": {"loop": loop, "trt-convert benchmark": command},
        "ratio": {
            batch: round(statistics.median(command[batch]) / statistics.median(loop[batch]), 4)
            for batch in loop
        },
    }
    print(json.dumps(result["median_ms"]), json.dumps(result["ratio"]))
    (options.results / "tftrt_agreement.json").write_text(json.dumps(result, indent=1) + "\n")
    return int(any(abs(ratio - 1) > LIMIT for ratio in result["ratio"].values()))


if __name__ == "__main__":
    sys.exit(main())
