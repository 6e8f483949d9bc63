"""Where TensorFlow looks for TensorRT's libraries, and where such libraries are."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from converters.environment.elf import read_library

# The parts of TensorFlow that open TensorRT by themselves: the Python side, which asks whether it
# is there, and the runtime, which builds and runs engines.
_OPENERS = (
    "compiler/tf2tensorrt/_pywrap_py_utils.so",
    "libtensorflow_cc.so.2",
    "libtensorflow_framework.so.2",
)
# What the loader searches in the end; places where people unpack TensorRT.
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
            own.append(_unique(read_library(tensorflow / name).search))
    shared = [
        folder
        for folder in (own[0] if own else [])
        if folder.is_dir() and all(folder in others for others in own)
    ]
    given = [Path(entry) for entry in (library_path or "").split(":") if entry]
    return _unique([*given, *shared, *_system_folders()])


def link_folders(tensorflow: Path) -> list[Path]:
    """Those of the searched folders that belong to this Python, not to the whole system."""
    system = _system_folders()
    return [folder for folder in searched_folders(tensorflow) if folder not in system]


def find_file(name: str, folders: Iterable[Path]) -> Path | None:
    """The first of the folders' files of this name, as the loader would take it."""
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def find_tensorrt(folders: Iterable[Path] = ()) -> list[TensorRT]:
    """Every copy of TensorRT in `folders`, LD_LIBRARY_PATH, the wheels on sys.path, the system's
    folders and the usual places; each file once, by whatever links it is reached."""
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
    # A link may be called by the version that TensorFlow wants, so its name counts least.
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
