"""Paths of this machine: TensorFlow also reads gs:// and the like, and nothing else here does."""

from __future__ import annotations

import os
import re

from converters.util.errors import ConverterError

# pathlib makes one slash of two.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def require_local(path: str | os.PathLike[str], error: type[ConverterError]) -> None:
    """`error` if the path is one such as gs://bucket/model, and nothing here has that name."""
    if _SCHEME.match(os.fspath(path)) and not os.path.lexists(path):
        raise error(
            f"{path} is no local path: only local files and folders are read and written. Copy it "
            "from or to there yourself, and name a folder of this machine"
        )
