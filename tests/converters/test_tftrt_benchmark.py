"""The file of benchmarks/tftrt_convert.py keeps the rows of runs that were cut or came before."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# Last: the packages under test are the installed ones.
sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.tftrt_convert import Results


def row(model: str, seconds: float, precision: str = "FP16", peer: str = "native") -> dict:
    return {"model": model, "precision": precision, "peer": peer, "convert_s": seconds}


def described(date: str, cores: int = 16) -> dict[str, Any]:
    return {
        "machine": {"cores": cores, "date": date, "load_before": len(date)},
        "tensorrt": {"tensorrt_loaded": "8.6.0"},
    }


def rows_of(path: Path) -> list[tuple[str, float]]:
    return [(found["model"], found["convert_s"]) for found in json.loads(path.read_text())["rows"]]


def test_rows_are_written_at_once_and_merged(tmp_path: Path) -> None:
    path = tmp_path / "tftrt_convert.json"
    first = Results(path, described("2026-01-01"))
    first.add([row("A", 1), row("A", 2, peer="converters")])
    assert rows_of(path) == [("A", 1), ("A", 2)]
    first.add([row("B", 3)])
    later = Results(path, described("2026-01-02"))
    assert rows_of(path) == [("A", 1), ("A", 2), ("B", 3)]
    later.add([row("A", 4), row("C", 5)])
    assert rows_of(path) == [("A", 2), ("B", 3), ("A", 4), ("C", 5)]
    assert json.loads(path.read_text())["machine"]["date"] == "2026-01-02"


def test_another_machine_s_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "tftrt_convert.json"
    Results(path, described("2026-01-01")).add([row("A", 1)])
    Results(path, described("2026-01-02", cores=8)).add([row("A", 2)])
    assert rows_of(path) == [("A", 2)]
    assert rows_of(tmp_path / "tftrt_convert.2026-01-01.json") == [("A", 1)]
