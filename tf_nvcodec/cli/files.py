"""Reading inputs through TensorFlow's file systems and writing outputs whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator

from tf_nvcodec.cli.errors import CliError, UsageError, about
from tf_nvcodec.cli.numbered import NumberedFiles, is_numbered, pattern

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp")


def is_remote(path: str) -> bool:
    """Whether `path` is on a file system of TensorFlow other than the local one."""
    return "://" in path


def exists(path: str) -> bool:
    if not is_remote(path):
        return os.path.lexists(path)
    import tensorflow as tf

    return bool(tf.io.gfile.exists(path))


def read_bytes(path: str) -> bytes:
    """Reads a whole file. "-" is standard input; tf.io.gfile reads "gs://..." and the like."""
    data = _read(path)
    if not data:
        raise CliError("standard input" if path == "-" else path, "is empty")
    return data


def require_video(path: str) -> bytes | str:
    """Returns the path of a local file that can be read by range, or the bytes of anything else.

    Fails if there is nothing to read.
    """
    if path == "-" or is_remote(path) or not os.path.isfile(path):
        return read_bytes(path)
    with about(path), open(path, "rb") as file:
        if not file.read(1):
            raise CliError(path, "is empty")
    return path


def _read(path: str) -> bytes:
    with about(path):
        if path == "-":
            return sys.stdin.buffer.read()
        if not is_remote(path):
            with open(path, "rb") as file:
                return file.read()
        import tensorflow as tf

        try:
            with tf.io.gfile.GFile(path, "rb") as file:
                return bytes(file.read())
        except tf.errors.NotFoundError as error:
            raise CliError(path, "no such file", "check the path") from error
        except tf.errors.UnimplementedError as error:
            raise CliError(
                path,
                "TensorFlow has no file system for this scheme",
                "gs:// needs `pip install 'tf_nvcodec[gcs]'`",
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
            _publish(partial, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)


def _publish(partial: str, path: str) -> None:
    if not is_remote(path):
        os.replace(partial, path)
        return
    import tensorflow as tf

    tf.io.gfile.copy(partial, path, overwrite=True)


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


class ImageFolder:
    """A sequence of images that appears under its final names only when all are written.

    Images of an earlier sequence never stay among them: they are refused, or with `force` replaced
    or removed.
    """

    def __init__(self, path: str, force: bool) -> None:
        if is_remote(path):
            raise UsageError(path, "an image sequence goes to a local folder", "use OUT.npy")
        if not is_numbered(path):
            if os.path.exists(path.rstrip("/")) and not os.path.isdir(path):
                raise CliError(path, "is a file, not a folder", "name another folder")
            # A percent sign in the name of the folder is no pattern.
            path = os.path.join(path, "frame_%06d.png")
        elif not path.lower().endswith(".png"):
            raise UsageError(path, "only PNG images are written", "end the pattern in .png")
        self._files = NumberedFiles(path)
        self._folder = self._files.folder
        self._old = self._files.existing()
        if self._old and not force:
            taken = os.path.join(self._folder, self._old[0])
            raise CliError(taken, "exists already", "use --force to replace the sequence")
        self._written = 0
        self._partial = ""
        self._made_folder = False

    @property
    def pattern(self) -> str:
        return self._files.path

    def write(self, png: bytes) -> None:
        name = self._files.name(self._written)
        with open(os.path.join(self._partial, name), "wb") as file:
            file.write(png)
        self._written += 1

    def __enter__(self) -> ImageFolder:
        self._partial = os.path.join(self._folder, f".tf-nvcodec-{secrets.token_hex(8)}")
        self._made_folder = not os.path.isdir(self._folder)
        try:
            with about(self._folder):
                os.makedirs(self._folder, exist_ok=True)
                os.mkdir(self._partial, 0o700)
        except BaseException:  # also Ctrl-C
            self._discard(failed=True)
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                new = sorted(os.listdir(self._partial))
                for name in new:
                    os.replace(os.path.join(self._partial, name), os.path.join(self._folder, name))
                for name in set(self._old).difference(new):
                    os.remove(os.path.join(self._folder, name))
        finally:
            self._discard(failed=kind is not None)

    def _discard(self, failed: bool) -> None:
        shutil.rmtree(self._partial, ignore_errors=True)
        if failed and self._made_folder:
            with contextlib.suppress(OSError):
                os.rmdir(self._folder)


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
