"""How results are shown: as text or as JSON on stdout, progress on stderr."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

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


class StdoutError(Exception):
    """stdout takes no more: its reader has left, or its disk is full. The cause is the OSError."""


@contextlib.contextmanager
def to_stdout() -> Iterator[None]:
    """For blocks that do nothing else: an OSError is then no other file's."""
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # as stderr has it
        yield
    except OSError as error:
        raise StdoutError from error


def open_closed_streams() -> None:
    """Makes /dev/null of standard streams that were closed: otherwise the next file to be opened
    would get a stream's number, and what is printed."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
