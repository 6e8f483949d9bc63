"""An output must not hold what it is made from: a folder is replaced as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from converters.errors import OutputError


def check_apart(
    output: str | os.PathLike[str],
    model: str | os.PathLike[str],
    files: Iterable[tuple[str, str | os.PathLike[str]]] = (),
) -> None:
    """OutputError if the folder `output` is the model's, within it or around it, or holds one of
    `files`, which are (what it is, its path)."""
    there, source = Path(os.path.realpath(output)), Path(os.path.realpath(model))
    folder = source.parent if source.name in ("saved_model.pb", "saved_model.pbtxt") else source
    if _within(folder, there) or _within(there, folder):
        raise OutputError(f"{output} and the source {model} are in one: name another output")
    for what, path in files:
        if _within(Path(os.path.realpath(path)), there):
            raise OutputError(
                f"{path}, {what}, is inside the output {output}, which is made anew: name another "
                "output, or move the file"
            )


def _within(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
