"""Makes libraries that TensorFlow takes for TensorRT. They only tell their version."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path


def compile_library(path: Path, source: str, *options: str) -> Path:
    """Compiles C into a shared library."""
    path.parent.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path), *options]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def make_tensorrt(folder: Path, version: str, tells_version: bool = True) -> None:
    """Makes libnvinfer.so.8 and its companions, as the wheel of this version has them."""
    major, minor, patch = map(int, version.split("."))
    number = major * 1000 + minor * 100 + patch
    source = f"int getInferLibVersion(void) {{ return {number}; }}" if tells_version else ""
    name = f"libnvinfer.so.{major}"
    compile_library(folder / name, source, f"-Wl,-soname,{name}")
    plugin = f"libnvinfer_plugin.so.{major}"
    needs = [f"-L{folder}", f"-l:{name}", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN"]
    compile_library(folder / plugin, "", *needs, f"-Wl,-soname,{plugin}")
    (folder / f"libnvinfer_builder_resource.so.{version}").write_bytes(b"")


def copy_with_links(package: Path, site: Path, leave_out: Sequence[str] = ("include",)) -> Path:
    """Copies a package into another site-packages: it makes the folders and links the files. The
    loader takes the folder of a link as $ORIGIN, so the copy finds its own libraries."""
    copy = site / package.name
    for folder, folders, files in os.walk(package):
        folders[:] = [name for name in folders if name not in leave_out]
        mine = copy / Path(folder).relative_to(package)
        mine.mkdir(parents=True, exist_ok=True)
        for name in files:
            (mine / name).symlink_to(Path(folder, name))
    return copy
