"""Reading inputs through TensorFlow's file systems and writing outputs whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from tf_nvcodec.cli import runtime
from tf_nvcodec.cli.errors import CliError, UsageError, about
from tf_nvcodec.cli.numbered import is_numbered, pattern

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp")


def is_remote(path: str) -> bool:
    """Whether `path` is on a file system of TensorFlow other than the local one."""
    return "://" in path


def exists(path: str) -> bool:
    if not is_remote(path):
        return os.path.lexists(path)
    return bool(runtime.load().tf.io.gfile.exists(path))


def read_bytes(path: str) -> bytes:
    """Reads a whole file. "-" is standard input; tf.io.gfile reads "gs://..." and the like."""
    data = _read(path)
    if not data:
        raise CliError("standard input" if path == "-" else path, "is empty")
    return data


def require_video(path: str) -> bytes | str:
    """Returns the path of a file that can be read by range, or the bytes of anything else.

    Fails if there is nothing to read.
    """
    if is_remote(path):
        with _remote(path) as gfile:
            empty = gfile.stat(path).length == 0
    elif path == "-" or not os.path.isfile(path):
        return read_bytes(path)
    else:
        with about(path), open(path, "rb") as file:
            empty = not file.read(1)
    if empty:
        raise CliError(path, "is empty")
    return path


def _read(path: str) -> bytes:
    if is_remote(path):
        with _remote(path) as gfile, gfile.GFile(path, "rb") as file:
            return bytes(file.read())
    with about(path):
        if path == "-":
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            return file.read()


@contextlib.contextmanager
def _remote(path: str) -> Iterator[Any]:
    """Yields tf.io.gfile, which reads https:// and s3:// once the op library is loaded."""
    loaded = runtime.load()
    with about(path):
        try:
            yield loaded.tf.io.gfile
        except loaded.tf.errors.NotFoundError as error:
            raise CliError(path, "no such file", "check the path") from error
        except loaded.tf.errors.UnimplementedError as error:
            if "not implemented" not in error.message:
                raise
            raise CliError(
                path,
                "TensorFlow has no file system for this scheme",
                "https:// and s3:// are read, and gs:// after `pip install 'tf_nvcodec[gcs]'`",
            ) from error


def refuse_to_replace(path: str, force: bool, inputs: list[str]) -> None:
    """Raises an error if `path` exists, unless `force` is given and it is none of `inputs`."""
    if path == "-":
        return
    for source in inputs:
        if source == path or (
            os.path.exists(source) and os.path.exists(path) and os.path.samefile(source, path)
        ):
            raise UsageError(path, "is named twice: it is read or written too", "name another file")
    if not is_remote(path) and os.path.isdir(path):
        raise UsageError(path, "is a folder", "name a file")
    if not is_remote(path) and os.path.exists(path) and not os.path.isfile(path):
        raise UsageError(path, "is a device or a pipe, which no file may replace", "name a file")
    if not force and exists(path):
        raise CliError(path, "exists already", "use --force to replace it")


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """Yields a temporary local path that becomes `path` when the block ends without an error."""
    folder = tempfile.gettempdir() if is_remote(path) else os.path.dirname(path) or "."
    with about(path):
        if not os.path.isdir(folder):
            raise CliError(path, f"the folder {folder} does not exist", f"mkdir -p {folder}")
        # The name is random, because processes in different containers can have the same number.
        partial = os.path.join(folder, f".tf-nvcodec-{secrets.token_hex(8)}.part")
        with open(partial, "xb"):
            pass
    try:
        yield partial
        with about(path):
            publish(partial, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)


def publish(partial: str, path: str) -> None:
    """Makes `path` of the complete local file `partial`."""
    if not is_remote(path):
        os.replace(partial, path)
        return
    runtime.load().tf.io.gfile.copy(partial, path, overwrite=True)


def remove(path: str) -> None:
    if not is_remote(path):
        os.remove(path)
        return
    runtime.load().tf.io.gfile.remove(path)


def names_in(folder: str) -> list[str]:
    """Returns the names of all that is in `folder`; none if there is no such folder."""
    with about(folder):
        if not is_remote(folder):
            return os.listdir(folder) if os.path.isdir(folder) else []
        gfile = runtime.load().tf.io.gfile
        return list(gfile.listdir(folder)) if gfile.isdir(folder) else []


def write_bytes(path: str, data: bytes) -> None:
    """Writes `data` to `path` in one step; "-" is standard output."""
    if path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    with replacing(path) as partial, about(path), open(partial, "wb") as file:
        file.write(data)


def is_image_sequence(path: str) -> bool:
    """Whether `path` means numbered images: a pattern, a folder, or a name with no extension."""
    return (
        is_numbered(path)
        or path.endswith("/")
        or os.path.isdir(path)
        or os.path.splitext(path)[1] == ""
    )


def find_images(path: str) -> list[str]:
    """Returns the files of a folder, a glob or a `%06d` pattern in the order of their numbers."""
    if os.path.isdir(path):
        found = [
            os.path.join(path, entry)
            for entry in os.listdir(path)
            if entry.lower().endswith(IMAGE_SUFFIXES) and not entry.startswith(".")
        ]
    elif is_numbered(path):
        numbered = pattern(path)
        folder = os.path.dirname(path) or "."
        with about(path):
            found = [os.path.join(folder, e) for e in os.listdir(folder) if numbered.fullmatch(e)]
    else:
        folder, name = os.path.split(path)
        # The name of an existing folder is taken literally: it may contain brackets.
        found = glob.glob(
            os.path.join(glob.escape(folder), name) if os.path.isdir(folder) else path
        )
    if not found:
        raise CliError(path, "no image matches", "give a folder, a glob or a pattern like %06d.png")
    return sorted(found, key=_natural_key)


def _natural_key(path: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", path)
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts]
