"""The golden models are the files that their scripts made, and all of them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
RECORDS = sorted(GOLDEN.glob("*/PROVENANCE.json"))


def test_there_are_records() -> None:
    assert {record.parent.name for record in RECORDS} >= {"converted", "segmented"}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: str(record.parent.name))
def test_every_file_is_as_it_was_made(record: Path) -> None:
    made = json.loads(record.read_text())["sha256"]
    folder = record.parent
    there = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path != record
    }
    assert sorted(there) == sorted(made)
    changed = [name for name, digest in there.items() if made[name] != digest]
    assert not changed, f"{record} has other hashes; make them again by its command"
