"""An output must not hold what it is made from, nor be a part of it: it replaces what is there."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, unquote

from converters.util.errors import ConverterError, OutputError
from converters.util.record import SAVED_MODEL_NAMES


def check_apart(
    output: str | os.PathLike[str],
    model: str | os.PathLike[str],
    files: Iterable[tuple[str, str | os.PathLike[str]]] = (),
) -> None:
    """OutputError if the folder `output` is the model's, within it or around it, or holds one of
    `files`, which are (what it is, its path)."""
    there, folder = Path(os.path.realpath(output)), _whole(model)
    if _within(folder, there) or _within(there, folder):
        raise OutputError(f"{output} and the source {model} are in one: name another output")
    for what, path in files:
        if _within(Path(os.path.realpath(path)), there):
            raise OutputError(
                f"{path}, {what}, is inside the output {output}, which is made anew: name another "
                "output, or move the file"
            )


def check_outside(
    output: str | os.PathLike[str],
    model: str | os.PathLike[str],
    files: Iterable[tuple[str, str | os.PathLike[str]]] = (),
) -> None:
    """OutputError if `output`, a file or what files go into, is the model, a part of it, or one of
    `files`, which are (what it is, its path)."""
    there, whole = Path(os.path.realpath(output)), _whole(model)
    named = Path(os.path.realpath(Path(output).parent), Path(output).name)  # it may be a link
    if _is_part(there, whole) or _is_part(named, whole):
        raise OutputError(f"{output} is a part of the model {model}: name another output")
    for what, path in files:
        if there == Path(os.path.realpath(path)):
            raise OutputError(f"{output} is {path}, {what}: name another output")


def _is_part(path: Path, whole: Path) -> bool:
    """Of the model `whole`, there or not: other files may be beside its own."""
    if path == whole:
        return True
    if whole.suffix == ".meta":
        ends = re.fullmatch(r"(index|data-.*)", path.name.removeprefix(f"{whole.stem}."))
        return path.parent == whole.parent and ends is not None
    return whole in path.parents and path.relative_to(whole).parts[0] in SAVED_MODEL_NAMES


def _whole(model: str | os.PathLike[str]) -> Path:
    """The file or folder that is the model."""
    source = Path(os.path.realpath(model))
    return source.parent if source.name in ("saved_model.pb", "saved_model.pbtxt") else source


def _within(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


# pathlib makes one slash of two.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def require_local(path: str | os.PathLike[str], error: type[ConverterError]) -> None:
    """`error` if the path is one such as gs://bucket/model, and nothing here has that name."""
    if _SCHEME.match(os.fspath(path)) and not os.path.lexists(path):
        raise error(
            f"{path} is no local path: only local files and folders are read and written. Copy it "
            "from or to there yourself, and name a folder of this machine"
        )


# A component has 255 bytes at most, and something stands before and after the name.
_MOST_BYTES = 200
_HASH_DIGITS = 16


def as_file_name(signature: str) -> str:
    """The name, with "%2F" and the like for what no file's name can hold. The end of a very long
    one is a hash."""
    name = quote(signature, safe=" ")
    if name in (".", ".."):
        name = name.replace(".", "%2E")
    if len(name) <= _MOST_BYTES:
        return name
    digest = hashlib.sha256(signature.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{name[:_MOST_BYTES]}%~{digest}"  # no other name has "%~"


def signature_of(file_name: str) -> str:
    """The name that as_file_name wrote, but for very long ones."""
    return unquote(file_name)
