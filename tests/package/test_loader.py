"""Tests python/loader.py. If the library does not open, the ImportError gives advice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from fork_server import run

import tf_nvcodec as nvc
from tf_nvcodec.python import loader


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Copies the installed library and the file beside it. Tests may damage the copy."""
    installed = loader.library_path()
    for name in (installed.name, "build_info.json"):
        shutil.copy(installed.with_name(name), tmp_path)
    return tmp_path / installed.name


def error_of_import(library: Path) -> str:
    """Imports tf_nvcodec with this library in a new process. Returns the last line that it
    prints."""
    child = run("-c", "import tf_nvcodec", TF_NVCODEC_LIBRARY=str(library))
    assert child.returncode == 1, child.stderr
    last = child.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: "), child.stderr
    return last


def test_the_copy_loads(library: Path) -> None:
    code = "import tf_nvcodec as n; print(n.build_info()['library'])"
    child = run("-c", code, TF_NVCODEC_LIBRARY=str(library))
    assert child.stdout.strip() == str(library)


def test_another_tensorflow_is_named_before_the_library_is_opened(library: Path) -> None:
    info = json.loads(library.with_name("build_info.json").read_text())
    info["tensorflow"] = "2.3.4"
    library.with_name("build_info.json").write_text(json.dumps(info))
    library.write_bytes(b"not a library: opening it would be another error")
    error = error_of_import(library)
    assert "built with TensorFlow 2.3.4" in error
    assert f"TensorFlow {tf.__version__} is installed" in error
    assert "pip install tensorflow==2.3.4" in error
    assert f"make wheel TF={tf.__version__}" in error


@pytest.mark.parametrize("missing", ["libtf_nvcodec.so", "build_info.json"])
def test_a_missing_file_is_named_with_how_to_build_it(library: Path, missing: str) -> None:
    library.with_name(missing).unlink()
    with pytest.raises(ImportError, match=rf"{missing} is missing.*make wheel"):
        loader.read_build_info(library)


def test_the_source_folder_is_not_the_package(tmp_path: Path) -> None:
    (tmp_path / "WORKSPACE").touch()
    with pytest.raises(ImportError, match="source folder.*another folder.*TF_NVCODEC_LIBRARY="):
        loader.read_build_info(tmp_path / "tf_nvcodec" / "libtf_nvcodec.so")


def test_a_missing_ffmpeg_names_the_debian_package(library: Path) -> None:
    if nvc.build_info()["ffmpeg"]["linked"] == "static":
        pytest.skip("this build has FFmpeg inside")
    contents = library.read_bytes()
    assert b"libavcodec.so.59\0" in contents
    library.write_bytes(contents.replace(b"libavcodec.so.59\0", b"libavcodec.so.77\0"))
    error = error_of_import(library)
    assert "libavcodec.so.77" in error
    assert "apt-get install -y libavcodec77" in error
    assert "libavcodec 59." in error


def test_a_damaged_library_is_named(library: Path) -> None:
    library.write_bytes(b"\x7fELF and no more")
    error = error_of_import(library)
    assert str(library) in error
    assert "make wheel" in error


@pytest.mark.parametrize(
    ("built", "running", "fits"),
    [
        ("2.17.1", "2.17.1", True),
        ("2.17.1", "2.17.0", True),
        ("2.17.1", "2.18.0", False),
        ("2.17.1", "3.17.1", False),
        ("2.1.0", "2.17.1", False),
        ("2.21.0", "2.21.0-rc1", True),
    ],
)
def test_only_one_minor_release_fits(built: str, running: str, fits: bool) -> None:
    if fits:
        loader.check_tensorflow(built, running)
        return
    with pytest.raises(ImportError, match=f"{built}.*{running}"):
        loader.check_tensorflow(built, running)
