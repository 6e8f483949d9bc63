"""Output folders and files: each appears at its place only when it is complete."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from converters.util.errors import OutputError
from converters.util.paths import require_local

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# The texts of TensorFlow's own errors about a full disk; they have no errno.
_FULL_WORDS = ("No space left on device", "Disk quota exceeded", "File too large")


@contextlib.contextmanager
def new_output(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[Path]:
    """Gives a new folder beside `path` to write into, and renames it to `path` when the block ends.

    If the block fails, also by Ctrl-C, the new folder is removed and `path` stays as it was: with
    `overwrite`, an older folder is replaced only at the end. An empty folder at `path` counts as
    none. Missing folders above `path` are made.

    Raises:
      OutputError: before the block, if `path` exists (and is not to be overwritten, or is no
        folder) or cannot be written; from the block, if the disk is full.
    """
    require_local(path, OutputError)
    # The target of a link is replaced, not the link.
    final = Path(os.path.realpath(path))
    made: list[Path] = []
    try:
        _check(final, overwrite)
        made = _missing_parents(final)
        final.parent.mkdir(parents=True, exist_ok=True)
        folder = _beside(final, "partial")
    except OSError as error:
        _remove_empty(made)
        raise cannot_write(final, error) from error
    try:
        yield folder
        _install(folder, final, overwrite)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        _remove_empty(made)
        if isinstance(error, OutputError):
            raise
        if is_full(error):
            raise cannot_write(final, error) from error
        if isinstance(error, OSError) and _within(error, folder):
            raise cannot_write(final, error) from error
        raise


def _check(final: Path, overwrite: bool) -> None:
    if not os.path.lexists(final):
        return
    if not final.is_dir():
        raise OutputError(f"{final} is a file, not a folder: name another output")
    if not any(final.iterdir()):
        return
    if not overwrite:
        raise OutputError(
            f"{final} exists already: name another output, or allow overwriting it "
            "(overwrite=True, --overwrite)"
        )
    for kept, what in ((Path.cwd(), "the working folder"), (_home(), "the home folder")):
        if kept is None:
            continue
        if final == kept or final in kept.parents:
            raise OutputError(f"{final} holds {what}: it is not overwritten; name another output")


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # the system does not know this user
        return None


def _install(folder: Path, final: Path, overwrite: bool) -> None:
    if not overwrite or not final.exists():
        try:
            folder.rename(final)  # this replaces an empty folder, and fails for any other
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            raise OutputError(f"{final} was made by someone else meanwhile: try again") from error
        return
    older = _beside(final, "older")
    try:
        final.rename(older / final.name)
        folder.rename(final)
    except BaseException:
        if not final.exists():
            (older / final.name).rename(final)
        raise
    finally:
        if final.exists():  # otherwise the older folder is the only one: keep it
            shutil.rmtree(older, ignore_errors=True)


def _beside(final: Path, what: str) -> Path:
    """A new hidden folder beside `final`: on the same disk, renaming it is a single step."""
    folder = final.parent / f".{final.name}.{os.getpid()}-{secrets.token_hex(3)}.{what}"
    folder.mkdir()
    return folder


def _missing_parents(final: Path) -> list[Path]:
    """The folders above `final` that do not exist, the deepest first."""
    return [parent for parent in final.parents if not parent.exists()]


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def is_full(error: BaseException) -> bool:
    """Whether a full disk is the cause: Python's error, TensorFlow's, or one that quotes it."""
    if isinstance(error, OSError) and error.errno is not None:  # shutil.Error has no errno
        return error.errno in _FULL
    return isinstance(error, Exception) and any(words in str(error) for words in _FULL_WORDS)


def _within(error: OSError, folder: Path) -> bool:
    name = error.filename
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    return isinstance(name, str) and Path(name).is_relative_to(folder)


def cannot_write(final: Path, error: BaseException) -> OutputError:
    """The error for `final`; if the disk is full, it says how much room is left and where."""
    cause = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if not is_full(error):
        return OutputError(f"{final} cannot be written: {cause}")
    where = next(folder for folder in final.parents if folder.exists())
    free = f"{shutil.disk_usage(where).free / 1e6:.0f} MB are free there now"
    cure = "Make room or name an output on another disk"
    temporary = Path(tempfile.gettempdir())
    if temporary.stat().st_dev != where.stat().st_dev:
        # A model that is no SavedModel is exported into the temporary folder first.
        left = shutil.disk_usage(temporary).free / 1e6
        free += f", and {left:.0f} MB in {temporary}, where temporary files are"
        cure += ", or set TMPDIR to a folder with room"
    return OutputError(f"{final} cannot be written: {cause.splitlines()[0]}; {free}. {cure}")


def check_new(path: str | os.PathLike[str], overwrite: bool) -> None:
    """OutputError if `path` exists and may not be replaced."""
    require_local(path, OutputError)
    path = Path(path)
    if not path.exists():
        return
    if not path.is_file():
        raise OutputError(f"{path}: exists and is no file; name another file")
    if not overwrite:
        raise OutputError(f"{path}: exists; name another file, or allow overwriting")


def write_new(path: str | os.PathLike[str], data: bytes, overwrite: bool = False) -> None:
    """Writes a file beside `path` and renames it to `path` when it is complete.

    If that fails, also by Ctrl-C, `path` stays as it was and nothing else is left. OutputError:
    `path` exists (unless `overwrite`), or cannot be written.
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
