"""Makes the standard streams safe to print to."""

from __future__ import annotations

import io
import os
import sys


def open_closed_streams() -> None:
    """Opens /dev/null for standard streams that are closed.

    Otherwise the next opened file would get the stream's number, and the output printed there.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def let_any_name_pass() -> None:
    """Lets print write names that are not valid text, as their bytes or escaped."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        unicode = sys.stdout.encoding.lower().startswith("utf")
        sys.stdout.reconfigure(errors="surrogateescape" if unicode else "backslashreplace")
