"""Where TensorFlow looks for TensorRT's libraries, where they are, and links between the two."""

from __future__ import annotations

import glob
import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from converters.util.errors import UnavailableError

# The parts of TensorFlow that open TensorRT: the Python side, which checks whether it is there, and
# the runtime, which builds and runs engines.
_OPENERS = (
    "compiler/tf2tensorrt/_pywrap_py_utils.so",
    "libtensorflow_cc.so.2",
    "libtensorflow_framework.so.2",
)
# The folders that the loader searches last, and the usual places for an unpacked TensorRT.
_SYSTEM = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib")
_USUAL = ("/usr/local/tensorrt/lib", "/usr/local/TensorRT*/lib", "/opt/tensorrt*/lib")
# The folders of the wheels tensorrt 8.6.0, tensorrt_libs and tensorrt_cu12_libs.
_WHEELS = ("tensorrt", "tensorrt_libs", "tensorrt_cu12_libs")


class TensorRT(NamedTuple):
    """One copy of TensorRT's libraries. `version` has the parts that are known: "8.6.0" or "8"."""

    library: Path
    plugin: Path | None
    version: str

    @property
    def folder(self) -> Path:
        return self.library.parent


def library_names(linked: str) -> tuple[str, str]:
    """The names that a TensorFlow linked with TensorRT `linked` opens."""
    return f"libnvinfer.so.{linked}", f"libnvinfer_plugin.so.{linked}"


def searched_folders(tensorflow: Path, library_path: str | None = None) -> list[Path]:
    """The folders in which every part of TensorFlow that opens TensorRT looks, in its order.

    `tensorflow` is the package's folder, `library_path` the LD_LIBRARY_PATH that the process was
    started with.
    """
    own: list[list[Path]] = []
    for name in _OPENERS:
        if (tensorflow / name).exists():
            own.append(_unique(run_path(tensorflow / name)))
    shared = [
        folder
        for folder in (own[0] if own else [])
        if folder.is_dir() and all(folder in others for others in own)
    ]
    given = [Path(entry) for entry in (library_path or "").split(":") if entry]
    return _unique([*given, *shared, *_system_folders()])


def run_path(library: Path) -> list[Path]:
    """The folders that a shared library names for the loader to search: its RUNPATH, or its RPATH
    where it has no RUNPATH. $ORIGIN is the folder of the path given, which may be a link."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    found: dict[str, str] = {}
    try:
        with open(library, "rb") as file:
            for segment in ELFFile(file).iter_segments("PT_DYNAMIC"):
                for tag in segment.iter_tags():
                    if tag.entry.d_tag in ("DT_RUNPATH", "DT_RPATH"):
                        found[tag.entry.d_tag] = getattr(tag, tag.entry.d_tag[3:].lower())
    except ELFError as error:
        raise ValueError(f"{library} is not a whole shared library: {error}") from error
    text = found.get("DT_RUNPATH") or found.get("DT_RPATH") or ""
    origin = os.path.abspath(library.parent)
    entries = text.replace("${ORIGIN}", origin).replace("$ORIGIN", origin).split(":")
    return [Path(os.path.normpath(entry)) for entry in entries if entry]


def link_folders(tensorflow: Path) -> list[Path]:
    """The searched folders that belong to this Python, not to the whole system."""
    system = _system_folders()
    return [folder for folder in searched_folders(tensorflow) if folder not in system]


def find_file(name: str, folders: Iterable[Path]) -> Path | None:
    """The first of the folders' files of this name, as the loader would take it."""
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def find_tensorrt(folders: Iterable[Path] = ()) -> list[TensorRT]:
    """Every copy of TensorRT in `folders`, LD_LIBRARY_PATH, the wheels on sys.path, the system's
    folders and the usual places. A file that several links lead to counts once."""
    found: dict[Path, TensorRT] = {}
    for folder in _candidate_folders(folders):
        for library in sorted(folder.glob("libnvinfer.so.*"), key=lambda path: len(path.name)):
            real = library.resolve()
            if real.is_file() and real not in found:
                found[real] = _describe(library)
    return list(found.values())


def _describe(library: Path) -> TensorRT:
    suffix = library.name[len("libnvinfer.so.") :]
    plugin = library.with_name(f"libnvinfer_plugin.so.{suffix}")
    # A wheel's library is named .so.8 only; its builder resource has the whole version.
    # A link may have the version that TensorFlow wants in its name, so that name counts least.
    folders = {library.parent, library.resolve().parent}
    resources = (folder.glob("libnvinfer_builder_resource.so.*") for folder in folders)
    names = [
        library.resolve().name,
        *sorted(path.name for found in resources for path in found),
        library.name,
    ]
    versions = [match[1] for match in map(re.compile(r"\.so\.([\d.]+)$").search, names) if match]
    version = max((v for v in versions if v.split(".")[0] == suffix.split(".")[0]), key=len)
    return TensorRT(library, plugin if plugin.is_file() else None, ".".join(version.split(".")[:3]))


def _candidate_folders(more: Iterable[Path]) -> Iterator[Path]:
    yield from more
    yield from (Path(p) for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p)
    for entry in sys.path:
        yield from (Path(entry or ".") / wheel for wheel in _WHEELS)
    yield from _system_folders()
    yield from (Path(folder) for pattern in _USUAL for folder in sorted(glob.glob(pattern)))


def _system_folders() -> list[Path]:
    """The folders of /etc/ld.so.conf, then the loader's own."""
    listed: list[Path] = []
    for name in ["/etc/ld.so.conf", *sorted(glob.glob("/etc/ld.so.conf.d/*.conf"))]:
        try:
            lines = Path(name).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        listed += [Path(line.strip()) for line in lines if line.strip().startswith("/")]
    return _unique([*listed, *map(Path, _SYSTEM)])


def _unique(folders: Iterable[Path]) -> list[Path]:
    return list(dict.fromkeys(folders))


class MadeLink(NamedTuple):
    """A link that was made; `before` is the target of the link that it replaced, or None."""

    path: Path
    before: str | None


def make_links(found: TensorRT, linked: str, folders: Iterable[Path]) -> list[MadeLink]:
    """Links `found` into the first of `folders` that can be written, for a TensorFlow linked with
    the version `linked`; returns the links that were made, none if all were there.

    TensorRT's libraries look for one another in their own folder, so all of them are linked, also
    under their own names. A link of an earlier run is replaced, a real file is not.

    Raises:
      UnavailableError: no folder can be written, or a real file is in the way.
    """
    wanted = dict(zip(library_names(linked), (found.library, found.plugin)))
    targets = {name: path for name, path in wanted.items() if path is not None}
    for path in sorted(found.folder.glob("libnvinfer*.so.*")):
        targets.setdefault(path.name, path)
    tried = list(folders)
    folder = next((f for f in tried if os.access(f, os.W_OK | os.X_OK)), None)
    if folder is None:
        names = ", ".join(map(str, tried)) or "none"
        raise UnavailableError(
            f"no folder that TensorFlow searches can be written (they are: {names}): run this as "
            f"their owner, or link {' and '.join(wanted)} in a folder of your own and name that in "
            "LD_LIBRARY_PATH"
        )
    made = (_link(folder / name, path.absolute()) for name, path in targets.items())
    return [link for link in made if link is not None]


def _link(link: Path, target: Path) -> MadeLink | None:
    """The link that was made; None where one leads to the same file already."""
    if link.exists() and link.samefile(target):
        return None
    if link.exists() and not link.is_symlink():
        raise UnavailableError(
            f"{link} is a file of another TensorRT than {target}: remove the one that you do not "
            "want and run this again"
        )
    # A relative link stays valid when site-packages is moved.
    text = str(target)
    if link.parent.parent == target.parent.parent:
        text = os.path.relpath(target, link.parent)
    new = link.with_name(f".{link.name}.{secrets.token_hex(3)}")
    before = os.readlink(link) if link.is_symlink() else None
    new.symlink_to(text)
    os.replace(new, link)
    return MadeLink(link, before)
