"""Shows results as text or as JSON on stdout, which may be full or closed."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from converters.cli import values
from converters.util.outputs import check_new, write_new
from converters.util.paths import check_outside
from converters.util.progress import Progress


def add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress, no summary")


def add_page(parser: argparse.ArgumentParser) -> None:
    """Adds where the report goes as HTML."""
    parser.add_argument("--html", type=values.path, metavar="FILE", help="write a page of its own")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the FILE of --html if it exists"
    )


def check_page(args: argparse.Namespace) -> None:
    """OutputError if the page cannot be written; before anything runs."""
    if args.html is not None:
        for model in (args.model, *([args.original] if args.original else ())):
            check_outside(args.html, model)
        check_new(args.html, args.overwrite)


def write_page(args: argparse.Namespace, report: Any) -> None:
    """Writes the report's page if it was asked for."""
    if args.html is not None:
        # A path need not be UTF-8.
        page = report.to_html().encode("utf-8", "backslashreplace")
        write_new(args.html, page, args.overwrite)


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


class StdoutError(Exception):
    """stdout cannot be written, because its reader has left or its disk is full."""


@contextlib.contextmanager
def to_stdout() -> Iterator[None]:
    """Turns an OSError into StdoutError. The block must only write to stdout."""
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # as stderr has it
        yield
    except OSError as error:
        raise StdoutError from error


def open_closed_streams() -> None:
    """Opens /dev/null for each standard stream that is closed. Otherwise the next file to be opened
    would get the stream's number, and receive what is printed."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
