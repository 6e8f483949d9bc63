"""The file of results of tftrt_convert.py.

It is written after each step, so that an interrupted run keeps its figures; a row may then lack
some. A later run on the same machine replaces the rows of the same model, precision and peer, and
keeps the others. An incomplete row does not replace a complete one; it goes to `unfinished`. A file
of another machine is kept under another name.

Each row has its `run`: the date, and what may differ between runs on one machine.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FILE = "tftrt_convert.json"
# A complete row has these figures.
FIGURES = ("convert_s", "cold_start_s", "latency_ms")
# These may differ between runs on one machine: the memory of a virtual machine can grow, and the
# kernel can be updated.
_PASSING = ("date", "load_before", "memory_gib", "kernel")
# Older files of results have these folders.
_PATHS = ("tensorflow_folder", "library_path", "plugin_path")
_ROWS = ("rows", "unfinished")


class Results:
    """The file of results. Threads may share it.

    `described` is the description of the machine and its TensorRT, without rows.
    """

    def __init__(self, path: Path, described: dict[str, Any]) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._document = {**described, "rows": []}
        if not path.exists():
            return
        older = json.loads(path.read_text())
        if same_machine(older, described):
            self._document.update({name: older[name] for name in _ROWS if name in older})
            return
        kept = _free(path.with_name(f"{path.stem}.{older['machine']['date']}.json"))
        path.rename(kept)
        print(f"{path} is of another machine or TensorRT: kept as {kept}")

    def row(self, model: str, precision: str, peer: str) -> dict[str, Any]:
        """Returns a copy of a row, of the unfinished one if there is one; empty if there is
        none."""
        with self._lock:
            found = {**self._by_key("rows"), **self._by_key("unfinished")}
            return dict(found.get((model, precision, peer), {}))

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Adds rows and writes the file, which is complete at any time."""
        with self._lock:
            run = {name: self._document["machine"].get(name) for name in _PASSING}
            found, unfinished = self._by_key("rows"), self._by_key("unfinished")
            for row in rows:
                key = _key(row)
                keeps_older = complete(found.get(key, {})) and not complete(row)
                unfinished.pop(key, None)
                (unfinished if keeps_older else found)[key] = {"run": run, **row}
            self._document["rows"] = list(found.values())
            self._document["unfinished"] = list(unfinished.values())
            if not unfinished:
                del self._document["unfinished"]
            part = self._path.with_name(self._path.name + ".part")
            part.write_text(json.dumps(self._document, indent=1) + "\n")
            part.replace(self._path)

    def _by_key(self, rows: str) -> dict[tuple[str, ...], dict[str, Any]]:
        return {_key(row): row for row in self._document.get(rows, ())}


def complete(row: dict[str, Any]) -> bool:
    """Whether all figures of a row are measured."""
    return all(name in row for name in FIGURES) and "error" not in row


def merge(parts: Sequence[Path], path: Path) -> None:
    """Merges the files of parallel runs on one machine into one file.

    Raises:
      SystemExit: A part is missing, or is of another machine or TensorRT than the first. Nothing is
        written then.
    """
    if absent := [str(part) for part in parts if not part.exists()]:
        raise SystemExit(f"no results to merge in {', '.join(absent)}")
    documents = {part: json.loads(part.read_text()) for part in parts}
    first = documents[parts[0]]
    for part, document in documents.items():
        if not same_machine(first, document):
            raise SystemExit(
                f"{part} is of another machine or TensorRT than {parts[0]}: their figures cannot "
                "stand in one table; merge them into another --results"
            )
    results = Results(path, {name: value for name, value in first.items() if name not in _ROWS})
    results.add([row for document in documents.values() for row in document["rows"]])


def same_machine(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether both are of one machine, apart from what changes from run to run."""

    def lasting(described: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in described[part].items() if name not in passing}
            for part, passing in (("machine", _PASSING), ("tensorrt", _PATHS))
        ]

    return lasting(one) == lasting(other)


def _free(path: Path) -> Path:
    """Returns the path, with a number if there is such a file."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem}.{number}{path.suffix}")
    return free


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return row["model"], row["precision"], row["peer"]
