"""An output file that is there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from converters.util.errors import OutputError
from converters.util.local_path import require_local
from converters.util.outputs import cannot_write


def check_new(path: str | os.PathLike[str], overwrite: bool) -> None:
    """OutputError when something is at `path` that may not be replaced."""
    require_local(path, OutputError)
    path = Path(path)
    if not path.exists():
        return
    if not path.is_file():
        raise OutputError(f"{path}: exists and is no file; name another file")
    if not overwrite:
        raise OutputError(f"{path}: exists; name another file, or allow overwriting")


def write_new(path: str | os.PathLike[str], data: bytes, overwrite: bool = False) -> None:
    """Writes a file beside `path`, which gets its name when it is whole.

    Any failure, Ctrl-C included, leaves `path` as it was and nothing else. OutputError: it exists
    (unless `overwrite`), or cannot be written.
    """
    check_new(path, overwrite)
    final = Path(os.path.realpath(path))  # the target of a link is replaced, not the link
    part = final.with_name(f".{final.name}.{os.getpid()}-{secrets.token_hex(3)}.partial")
    try:
        part.write_bytes(data)
        part.replace(final)
    except OSError as error:
        raise cannot_write(final, error) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
