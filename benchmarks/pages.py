"""Tables of results in the documentation, each between two markers of its page."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.clips import ROOT

README = ROOT / "README.md"
SPEED = ROOT / "docs" / "benchmarks.md"


def plot_line(plot: Path, what: str, page: Path) -> list[str]:
    """The plot above a table of `page`, when it has been drawn."""
    return [f"![{what}]({os.path.relpath(plot, page.parent)})"] if plot.exists() else []


def shown(value: float) -> str:
    """Three figures, but no fraction of a hundred or more."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def insert(text: str, table: str, begin: str, end: str) -> str:
    """A page's `text` with `table` between the markers; ValueError when they are not there."""
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"the page lacks the markers {begin} and {end}")
    return f"{before}{begin}\n{table}\n{end}{after}"


def write(module: str, description: str, page: Path, table: str, begin: str, end: str) -> int:
    """The command line of the script `module`, which puts `table` into `page`; its exit status."""
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
