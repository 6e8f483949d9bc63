"""The standard streams: those that a program was started without, and a stdout that is full."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator


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
