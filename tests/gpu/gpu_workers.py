"""A pytest plugin for scripts/gpu_tests.sh. It gives each worker of pytest-xdist a GPU and cores.

GPU_TESTS_GPUS lists the GPUs, and GPU_TESTS_LOGS is the folder for outcomes. If GPU_TESTS_ALONE is
set, only the tests marked `alone` run, in one worker that has all GPUs. If not, all others run.
GPU_TESTS_MPS may name a folder with a folder for each GPU, in which NVIDIA's MPS listens.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

GPUS = os.environ["GPU_TESTS_GPUS"].split()
LOGS = Path(os.environ["GPU_TESTS_LOGS"])
# Each line is a test that has run: outcome, seconds, worker, test.
OUTCOMES = LOGS / "outcomes.tsv"
# The outcomes of earlier runs, if tests that passed are left out. This file does not change: a
# worker that replaces a dead one must collect the same tests.
BEFORE = LOGS / "before.tsv"
# Parts of the names of the longest tests, which start first: many conversions in one test, large
# networks, conversions in a child process, then the other conversions.
LONGEST_FIRST = ("bisect", "applications", "digits[INT8", "converters")
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
ALONE = "GPU_TESTS_ALONE" in os.environ


# The controller keeps the places of its workers here, and the errors that ended some of them.
_places: dict[str, int] = {}
_broken: list[str] = []


def pytest_configure_node(node: Any) -> None:
    """A worker that replaces a dead one gets its place."""
    place = min(set(range(len(_places) + 1)) - set(_places.values()))
    _places[node.gateway.id] = node.workerinput["place"] = place


def pytest_testnodedown(node: Any, error: Any) -> None:
    _places.pop(node.gateway.id, None)
    if error:
        _broken.append(str(error))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """If all workers die before their first test, the run must not look as if there were no
    tests."""
    if _broken and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


def pytest_configure(config: pytest.Config) -> None:
    """Chooses a worker's GPU before anything looks for GPUs."""
    if WORKER is not None and not ALONE:
        take_place(config.workerinput["place"])


def take_place(place: int) -> None:
    """Gives this process the GPU and the cores of its place. The places are spread over the GPUs in
    turn. Each GPU has an equal part of the cores, or all of them if there are too few."""
    cores = sorted(os.sched_getaffinity(0))
    number = place % len(GPUS)
    part = len(cores) // len(GPUS)
    gpu, cores = GPUS[number], cores[number * part : (number + 1) * part] or cores
    os.sched_setaffinity(0, cores)
    os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    if folder := os.environ.get("GPU_TESTS_MPS"):
        os.environ["CUDA_MPS_PIPE_DIRECTORY"] = f"{folder}/{gpu}"
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"  # Each MPS server calls its GPU 0.


def passed_before() -> set[str]:
    """The tests that passed in their last run."""
    if not BEFORE.exists():
        return set()
    lines = (line.split("\t") for line in BEFORE.read_text().splitlines())
    last = {test: outcome for outcome, _, _, test in lines}
    return {test for test, outcome in last.items() if outcome == "passed"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = passed_before()
    kept = [
        item
        for item in items
        if (item.get_closest_marker("alone") is not None) == ALONE and item.nodeid not in left_out
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])

    def rank(item: pytest.Item) -> int:
        found = [i for i, part in enumerate(LONGEST_FIRST) if part in item.nodeid]
        return min(found, default=len(LONGEST_FIRST))

    items[:] = sorted(kept, key=rank)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Writes each outcome at once, and the output of each failure into a file of its own."""
    if WORKER is not None:
        return
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", report.nodeid)
    if report.when == "setup":
        for old in LOGS.glob(f"{name}.*.log"):
            old.unlink()
    if report.when != "call" and report.passed:
        return
    worker = getattr(report, "worker_id", "")
    with OUTCOMES.open("a") as file:
        file.write(f"{report.outcome}\t{report.duration:.1f}\t{worker}\t{report.nodeid}\n")
    if report.failed:
        said = [report.longreprtext, *(f"--- {title}\n{text}" for title, text in report.sections)]
        # A worker that died has no `when`.
        when = report.when if report.when in ("setup", "call", "teardown") else "died"
        (LOGS / f"{name}.{when}.log").write_text("\n".join(said))
