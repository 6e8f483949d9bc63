"""How results are shown: as text or as JSON on stdout, progress on stderr."""

from __future__ import annotations

import argparse
import json
from typing import Any

from converters.cli.streams import to_stdout
from converters.util.progress import Progress


def add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress, no summary")


def progress_of(args: argparse.Namespace) -> Progress:
    return Progress(False if args.quiet else None)


def show(args: argparse.Namespace, report: Any) -> None:
    """Prints a report: with --json always, as text unless --quiet."""
    if args.json:
        text = json.dumps(report.to_json(), indent=2)
    elif not getattr(args, "quiet", False):
        text = report.to_text() if hasattr(report, "to_text") else str(report)
    else:
        return
    with to_stdout():
        print(text)
