"""Compares what README.md and docs/converters*.md say about the converters with the code, as far as
that is possible without a GPU."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import re
import shlex
import sys
from pathlib import Path

import combinations
import pytest

import converters
from converters import ConversionSpec
from converters.cli.app import build_parser
from converters.cli.spec_options import spec_from
from converters.spec.thresholds import Thresholds, default_thresholds
from converters.util import errors

# The folder goes to the end of the path: `benchmarks` comes from it, but the packages under test
# must be the installed ones.
sys.path.append(str(Path(__file__).resolve().parents[3]))

from benchmarks.converters import tftrt_results
from benchmarks.tables.tftrt_table import tables

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()
PAGE = "\n".join(page.read_text() for page in sorted((ROOT / "docs").glob("converters*.md")))
RESULTS = ROOT / "benchmarks" / "results" / "h200"


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def block(text: str, language: str) -> str:
    (found,) = blocks(text, language)
    return found


def commands(text: str) -> list[list[str]]:
    lines = [shlex.split(line) for line in text.splitlines() if line]
    assert all(line[0] == "trt-convert" for line in lines)
    return [line[1:] for line in lines]


def options() -> list[tuple[str, list[str]]]:
    """Returns all options of trt-convert: for each one its command and its long forms."""
    (subparsers,) = (
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    found = []
    for name, parser in subparsers.choices.items():
        for action in parser._actions:
            long = [text for text in action.option_strings if text.startswith("--")]
            if long and long != ["--help"]:
                found.append((name, long))
    return found


def test_call_and_command_of_the_readme_ask_for_the_same(monkeypatch):
    calls = []
    signature = inspect.signature(converters.convert)

    def convert(*args, **options):
        calls.append(signature.bind(*args, **options))

    monkeypatch.setattr(converters, "convert", convert)
    exec(compile(block(README, "py"), "README.md", "exec"), {})
    (called,) = calls
    (command,) = commands(block(README, "bash"))
    args = build_parser().parse_args(command)
    assert (args.source, args.output) == (called.arguments["source"], called.arguments["output"])
    assert spec_from(args).resolved() == called.arguments["spec"].resolved()


@pytest.mark.parametrize("command", commands("".join(blocks(PAGE, "sh"))), ids=" ".join)
def test_commands_of_the_page_parse(command):
    args = build_parser().parse_args(command)
    if command[0] in ("convert", "calibrate"):
        spec_from(args).resolved()


@pytest.mark.parametrize(("command", "forms"), options(), ids=str)
def test_every_option_is_on_the_page(command, forms):
    assert any(re.search(rf"(?<![\w-]){form}(?![\w-])", PAGE) for form in forms), command


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(ConversionSpec)])
def test_every_field_of_the_spec_is_in_the_table(field):
    assert f"\n| `{field}` | `--" in PAGE


def test_every_error_is_in_the_table():
    kinds = [
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.ConverterError)
    ]
    assert len(kinds) >= 9
    for name in kinds:
        assert f"| `{name}` |" in PAGE or name == "ConverterError", name


@pytest.mark.parametrize("figure", [field.name for field in dataclasses.fields(Thresholds)])
def test_thresholds_are_those_of_the_code(figure):
    (row,) = re.findall(rf"^\| `{figure}` \| (.*) \|$", PAGE, re.MULTILINE)
    shown = [cell.strip() for cell in row.split(" | ")[-3:]]
    bounds = [getattr(default_thresholds(name), figure) for name in ("FP32", "FP16", "INT8")]
    assert [None if cell == "-" else float(cell) for cell in shown] == bounds


def test_combinations_are_those_of_the_tests():
    page = (RESULTS / "gpu_tests.md").read_text()
    section = page.partition("### Models, precisions and modes")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| `(\w+)`[^|]* \|([^|]*)\|([^|]*)\|([^|]*)\|$", section, re.MULTILINE)
    shown = [
        (model, precision, mode)
        for model, *cells in rows
        for precision, cell in zip(combinations.PRECISIONS, cells)
        for mode in re.findall(r"\w+", cell)
        if mode in combinations.MODES
    ]
    tested = combinations.SMALL + combinations.OWN_TESTS + combinations.APPLICATIONS
    assert len(set(tested)) == len(tested)
    models = {model for model, _, _ in tested}
    assert sorted(shown) == sorted((model, *way) for model in models for way in combinations.WAYS)
    small = combinations.SMALL + combinations.OWN_TESTS
    for model in {model for model, _, _ in small}:
        assert {p for m, p, _ in small if m == model} == set(combinations.PRECISIONS)
        assert {w for m, _, w in small if m == model} == set(combinations.MODES)


def test_files_and_names_on_the_pages_exist():
    pages = README + PAGE + (ROOT / "docs" / "design.md").read_text()
    files = set(re.findall(r"`(converters/[\w./]+)`", pages))
    assert files
    for name in files:
        assert (ROOT / name).exists(), name


def test_tables_are_those_that_were_recorded():
    rows = json.loads((RESULTS / tftrt_results.FILE).read_text())["rows"]
    page = (RESULTS / "tftrt_convert.md").read_text()
    for table in tables(rows).split("\n\n"):
        assert table in page


def test_picture_is_small_enough_for_a_readme():
    data = (ROOT / "docs" / "converters_report.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) < 300_000
