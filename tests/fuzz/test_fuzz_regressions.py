"""The readers take what fuzzing once made them fail on, and edits of each field of a record."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from readers import READERS, take  # noqa: E402

INPUTS = [path for name in READERS for path in sorted(HERE.joinpath("regressions", name).glob("*"))]


@pytest.mark.parametrize("path", INPUTS, ids=[f"{p.parent.name}/{p.name}" for p in INPUTS])
def test_an_input_that_once_failed(path: Path) -> None:
    take(path.parent.name, path.read_bytes())


def test_each_field_of_a_record_replaced() -> None:
    for field in range(64):
        for value in range(14):
            take("record", bytes((field, value)))
