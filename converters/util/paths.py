"""Rules for paths: what is read must be local, and an output must not replace what it is made from.

Signatures also become names of files and folders here. A signature's name is any text: "a/b" and
"../x" must not lead into other folders, and two names must not become one file.
"""

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
    """OutputError if the folder `output` is the model's folder, or one is inside the other, or if
    one of `files` is inside `output`. `files` are pairs: what the file is, and its path."""
    there, folder = Path(os.path.realpath(output)), _whole(model)
    if _within(folder, there) or _within(there, folder):
        raise OutputError(f"{output} and the source {model} overlap: name another output")
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
    """OutputError if `output` is the model, a part of it, or one of `files`; other files may lie
    beside a model's own. `files` are pairs: what the file is, and its path."""
    there, whole = Path(os.path.realpath(output)), _whole(model)
    named = Path(os.path.realpath(Path(output).parent), Path(output).name)  # it may be a link
    if _is_part(there, whole) or _is_part(named, whole):
        raise OutputError(f"{output} is a part of the model {model}: name another output")
    for what, path in files:
        if there == Path(os.path.realpath(path)):
            raise OutputError(f"{output} is {path}, {what}: name another output")


def _is_part(path: Path, whole: Path) -> bool:
    """Whether `path` is, or would be, a file of the model `whole`."""
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


# With one slash: pathlib turns "gs://" into "gs:/".
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def require_local(path: str | os.PathLike[str], error: type[ConverterError]) -> None:
    """Raises `error` for a path such as gs://bucket/model, unless a local file has that name.

    TensorFlow reads such paths, but nothing else here does.
    """
    if _SCHEME.match(os.fspath(path)) and not os.path.lexists(path):
        raise error(
            f"{path} is no local path: only local files and folders are read and written. Copy it "
            "from or to there yourself, and name a folder of this machine"
        )


# A file's name has 255 bytes at most, and callers add a prefix and a suffix.
_MOST_BYTES = 200
_HASH_DIGITS = 16


def as_file_name(signature: str) -> str:
    """The signature's name as a file's name: "a/b" becomes "a%2Fb". A very long name ends in a
    hash."""
    name = quote(signature, safe=" ")
    if name in (".", ".."):
        name = name.replace(".", "%2E")
    if len(name) <= _MOST_BYTES:
        return name
    digest = hashlib.sha256(signature.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{name[:_MOST_BYTES]}%~{digest}"  # no other name has "%~"


def signature_of(file_name: str) -> str:
    """The signature whose name as_file_name wrote; very long names cannot be read back."""
    return unquote(file_name)
