"""Runs trt-convert with a TF-TRT and a TensorRT that never finish. test_interrupted.py starts this
in a process of its own. Its child processes are real."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from child_jobs import hang

from converters import conversion_plan
from converters.cli import main
from converters.plans import extract_plan, plan_compare
from converters.tftrt import engine_job
from converters.util.child import run_in_child


def run(started: str, argv: list[str]) -> int:
    """Runs `trt-convert ARGV`. Its child writes the file `started` and then hangs."""

    def job_here(job: str, arguments: Mapping[str, Any], log: Path | None) -> Any:
        name = job.partition(":")[2]
        more = {} if name == "prepare" else {"started": started}
        return run_in_child(f"interrupted_cli:{name}", {**arguments, **more}, log)

    def run_plan_here(job: Any, arguments: Mapping[str, str]) -> Any:
        half = {"folder": str(Path(arguments["result"]).parent), "started": started}
        return run_in_child(convert_signatures, half)

    conversion_plan.run_in_child = job_here
    plan_compare.run_in_child = run_plan_here
    extract_plan.require_same_gpu = lambda loaded: None
    return main(argv)


def prepare(**arguments: Any) -> dict[str, Any]:
    """Prepares a conversion in the child, as on a machine with a GPU."""
    engine_job.check_environment = lambda: {"tensorrt_loaded": "8.6.0"}
    return engine_job.prepare(**arguments)


def convert_signatures(folder: str, started: str, **_: Any) -> None:
    """Writes half of a result in the child, and then hangs."""
    (Path(folder) / "half").write_text("half")
    hang(started, listens=True)
