"""Writes tables of results into the documentation, each between two markers of its page."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.harness.clips import ROOT

README = ROOT / "README.md"
SPEED = ROOT / "docs" / "benchmarks.md"


def plot_line(plot: Path, what: str, page: Path) -> list[str]:
    """Returns the line that shows a plot above a table of `page`, if it has been drawn."""
    return [f"![{what}]({os.path.relpath(plot, page.parent)})"] if plot.exists() else []


def shown(value: float) -> str:
    """Formats a value with three digits, and without a fraction from 100 on."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def insert(text: str, table: str, begin: str, end: str) -> str:
    """Returns a page's `text` with `table` between the markers.

    Raises:
      ValueError: The markers are not there.
    """
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"the page lacks the markers {begin} and {end}")
    return f"{before}{begin}\n{table}\n{end}{after}"


def write(module: str, description: str, page: Path, table: str, begin: str, end: str) -> int:
    """Runs the command line of the script `module`, which puts `table` into `page`.

    Returns:
      The exit status.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when it would")
    args = parser.parse_args()
    current = page.read_text()
    wanted = insert(current, table, begin, end)
    if args.check:
        if wanted != current:
            name = page.relative_to(ROOT)
            print(f"{name} does not show the results as they are: python -m {module}")
        return int(wanted != current)
    page.write_text(wanted)
    return 0
