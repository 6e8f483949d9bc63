"""What the benchmark of conversions can do without a GPU: its rows and its table of networks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from trt_graphs import SEGMENTED

# The folder goes to the end of the path: `benchmarks` comes from it, but the packages under test
# must be the installed ones.
sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.converters import tftrt_convert, tftrt_jobs
from benchmarks.tables.tftrt_table import overview


def test_a_row_says_what_is_in_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copied(source: Path, out: Path, precision: str) -> dict[str, float]:
        out.symlink_to(SEGMENTED / "two_engines")
        return {"convert": 1.5}

    monkeypatch.setitem(tftrt_jobs.PEERS, tftrt_jobs.OURS, copied)
    row = tftrt_jobs.job_convert(tftrt_jobs.OURS, "source", str(tmp_path / "out"), "FP16")
    assert (row["nodes_in_engines"], row["nodes"], row["engines"]) == (13, 14, 2)
    assert row["steps"] == {"convert": 1.5} and row["convert_s"] >= 0


def test_jobs_get_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        asked.append(json.loads(command[-1]))
        return subprocess.CompletedProcess(command, 0, "{}", "")

    monkeypatch.setattr(tftrt_convert.subprocess, "run", run)
    tftrt_convert.Runner(None, [0], None, [8])("cold", source="a", path="b")
    assert asked == [{"source": "a", "path": "b", "batches": [8]}]


def test_the_guides_networks_are_keras_own() -> None:
    tf = pytest.importorskip("tensorflow")
    assert all(hasattr(tf.keras.applications, name) for name in tftrt_jobs.GUIDE)


def test_one_table_of_networks() -> None:
    key = {"model": "NASNetMobile", "precision": "FP16"}
    native = {**key, "peer": "native", "latency_ms": {"8": 20.0}, "convert_s": 0.0}
    ours = {**key, "peer": "converters", "latency_ms": {"8": 4.0}, "convert_s": 100.4}
    ours.update({"speed_up": {"8": 5.0}, "engines": 1, "nodes_in_engines": 900, "nodes": 901})
    broken = {"model": "VGG19", "precision": "FP16", "peer": "converters", "error": "OOM"}
    lines = overview([native, ours, broken], "8").splitlines()
    assert lines[2] == "| NASNetMobile | FP16 | 900 of 901 | 1 | 20.00 | 4.00 | 5.0 | 100 |"
    assert lines[3].count("failed") == 6
    assert all(line.count("|") == lines[0].count("|") for line in lines)
