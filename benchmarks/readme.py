"""Writes the tables of results in README.md, each between two markers."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.clips import ROOT

README = ROOT / "README.md"


def plot_line(plot: Path, what: str) -> list[str]:
    """Returns the lines that show a plot above a table, if it has been drawn."""
    return [f"![{what}]({plot.relative_to(ROOT)})"] if plot.exists() else []


def shown(value: float) -> str:
    """Formats a value with three digits, and without a fraction from 100 on."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def insert(readme: str, table: str, begin: str, end: str) -> str:
    """Returns `readme` with `table` between the markers.

    Raises:
      ValueError: The markers are not there.
    """
    before, found_begin, rest = readme.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"{README.name} lacks the markers {begin} and {end}")
    return f"{before}{begin}\n{table}\n{end}{after}"


def write(module: str, description: str, table: str, begin: str, end: str) -> int:
    """Runs the script `module` by its command line; returns its exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when it would")
    args = parser.parse_args()
    current = README.read_text()
    wanted = insert(current, table, begin, end)
    if args.check:
        if wanted != current:
            print(f"README.md is behind its results: python -m {module}")
        return int(wanted != current)
    README.write_text(wanted)
    return 0
