"""A sequence of numbered files that appears whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence

from tf_nvcodec.cli import files
from tf_nvcodec.cli.errors import CliError, UsageError, about
from tf_nvcodec.cli.numbered import NumberedFiles, is_numbered


class NumberedOutput:
    """Numbered files that appear under their final names only when all are written.

    Files of an earlier sequence never stay among them: they are refused, or with `force` replaced
    or removed. None of them may be one of the `inputs`.
    """

    def __init__(self, path: str, force: bool, inputs: Sequence[str] = ()) -> None:
        self._files = NumberedFiles(path)
        self._folder = self._files.folder
        self._old = self._files.among(files.names_in(self._folder))
        for name in self._old:
            files.refuse_to_replace(self._at(name), True, list(inputs))
        if self._old and not force:
            cure = "use --force to replace the sequence"
            raise CliError(self._at(self._old[0]), "exists already", cure)
        self._next = 0
        self._partial = ""
        self._made_folder = False

    @property
    def pattern(self) -> str:
        return self._files.path

    def write(self, data: bytes) -> None:
        """Writes the file with the next number."""
        name = self._files.name(self._next)
        with about(self.pattern), open(os.path.join(self._partial, name), "wb") as file:
            file.write(data)
        self._next += 1

    def skip(self) -> None:
        """Leaves the next number free."""
        self._next += 1

    def _at(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def __enter__(self) -> NumberedOutput:
        remote = files.is_remote(self._folder)
        parent = tempfile.gettempdir() if remote else self._folder
        self._partial = os.path.join(parent, f".tf-nvcodec-{secrets.token_hex(8)}")
        self._made_folder = not remote and not os.path.isdir(self._folder)
        try:
            with about(self._folder):
                os.makedirs(parent, exist_ok=True)
                os.mkdir(self._partial, 0o700)
        except BaseException:  # also Ctrl-C
            self._discard(failed=True)
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                new = sorted(os.listdir(self._partial))
                with about(self.pattern):
                    for name in new:
                        files.publish(os.path.join(self._partial, name), self._at(name))
                    for name in set(self._old).difference(new):
                        files.remove(self._at(name))
        finally:
            self._discard(failed=kind is not None)

    def _discard(self, failed: bool) -> None:
        shutil.rmtree(self._partial, ignore_errors=True)
        if failed and self._made_folder:
            with contextlib.suppress(OSError):
                os.rmdir(self._folder)


class ImageFolder(NumberedOutput):
    """A sequence of PNGs in a local folder. A `path` that is a folder names them itself."""

    def __init__(self, path: str, force: bool, inputs: Sequence[str] = ()) -> None:
        if files.is_remote(path):
            raise UsageError(path, "an image sequence goes to a local folder", "use OUT.npy")
        if not is_numbered(path):
            if os.path.exists(path.rstrip("/")) and not os.path.isdir(path):
                raise CliError(path, "is a file, not a folder", "name another folder")
            # A percent sign in the name of the folder is no pattern.
            path = os.path.join(path, "frame_%06d.png")
        elif not path.lower().endswith(".png"):
            raise UsageError(path, "only PNG images are written", "end the pattern in .png")
        super().__init__(path, force, inputs)
