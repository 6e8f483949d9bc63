"""Tests that docs/pynvvideocodec_guide.md names tests in every row, and that they exist."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "pynvvideocodec_guide.md").read_text()
ROWS = [
    line
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| --- ", "| in the guide ", "| parameter "))
]
# The scripts are written for the page, so it names all of their tests.
SCRIPTS = (
    "tests/compat/test_guide.py",
    "tests/compat/test_guide_encoding.py",
    "tests/gpu/test_compat_guide_frameworks_gpu.py",
)


@functools.cache
def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {node.name for node in functions if node.name.startswith("test_")}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_a_row_names_tests_that_exist(row: str) -> None:
    *_, last, end = row.split("|")
    assert end == ""
    named = re.fullmatch(r" (`tests/\w+/\w+\.py::\w+`(?:, `tests/\w+/\w+\.py::\w+`)*) ", last)
    assert named is not None, f"the last cell is no list of tests: {last}"
    for node in named[1].replace("`", "").split(", "):
        path, name = node.split("::")
        assert name in names_in(path), node


@pytest.mark.parametrize("path", SCRIPTS)
def test_the_page_has_every_script(path: str) -> None:
    assert {name for name in names_in(path) if f"`{path}::{name}`" not in PAGE} == set()
