"""Runs the doctor on a copy of this TensorFlow, with libraries that it takes for TensorRT."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf
from made_up_tensorrt import copy_with_links, make_tensorrt

from converters.environment.doctor import DoctorReport, doctor
from converters.environment.libraries import TensorRT, find_tensorrt, link_folders, make_links
from converters.environment.tftrt_ready import describe, environment_of
from converters.util.errors import UnavailableError

HAS_TFTRT = tuple(map(int, tf.__version__.split(".")[:2])) < (2, 18)
needs_tftrt = pytest.mark.skipif(not HAS_TFTRT, reason="this TensorFlow has no TF-TRT inside")


def status_of(report, name: str) -> str:
    return next(finding.status for finding in report.findings if finding.name == name)


def detail_of(report, name: str) -> str:
    return next(finding.detail for finding in report.findings if finding.name == name)


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """Makes a site-packages with a copy of TensorFlow. Child processes import this copy."""
    folder = tmp_path / "site"
    copy_with_links(Path(tf.__file__).parent, folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    return folder


@needs_tftrt
def test_fix_lets_tensorflow_find_tensorrt(site):
    make_tensorrt(site / "tensorrt_libs", "8.6.0")
    before = doctor()
    assert status_of(before, "TF-TRT") == "ok"
    assert status_of(before, "TensorRT") == "missing"
    assert f"TensorRT 8.6.0 is in {site / 'tensorrt_libs'}" in detail_of(before, "TensorRT")
    assert "trt-convert doctor --fix" in before.to_text()
    assert not before.ok and before.links == ()

    looks = iter([lambda: before.environment, describe])
    mended = doctor(fix=True, look=lambda: next(looks)())
    assert status_of(mended, "TensorRT") == "ok"
    used = site / "tensorrt_libs" / "libnvinfer.so.8"
    assert detail_of(mended, "TensorRT").startswith(f"8.6.0 loaded: {used}, ")
    assert mended.environment.library_path == str(used)
    assert [text for text in mended.environment.warnings if "patch level" in text]
    assert sorted(link.path.name for link in mended.links) == [
        "libnvinfer.so.8",
        "libnvinfer.so.8.6.1",
        "libnvinfer_builder_resource.so.8.6.0",
        "libnvinfer_plugin.so.8",
        "libnvinfer_plugin.so.8.6.1",
    ]
    assert {link.path.parent for link in mended.links} == {site / "tensorflow"}
    assert json.loads(json.dumps(mended.to_json()))["environment"]["tensorrt_loaded"] == "8.6.0"

    (command,) = mended.undo()
    assert f"undo by  {command}" in mended.to_text()
    subprocess.run(["sh", "-c", command], check=True)
    assert not list((site / "tensorflow").glob("libnvinfer*"))


@needs_tftrt
def test_a_library_that_ends_the_process_is_a_finding(site):
    make_tensorrt(site / "tensorrt_libs", "8.6.0", tells_version=False)
    (found,) = (copy for copy in find_tensorrt() if copy.folder == site / "tensorrt_libs")
    make_links(found, "8.6.1", link_folders(site / "tensorflow"))
    report = doctor()
    assert status_of(report, "TensorRT") == "missing"
    assert "does not tell its version" in detail_of(report, "TensorRT")
    assert "SIGABRT" in detail_of(report, "TensorRT")


@needs_tftrt
def test_a_library_that_does_not_open(site):
    make_tensorrt(site / "tensorrt_libs", "8.6.0")
    for name in ("libnvinfer.so.8.6.1", "libnvinfer_plugin.so.8.6.1"):
        (site / "tensorflow" / name).write_bytes(b"no ELF file")
    report = doctor()
    assert "libnvinfer.so.8.6.1 does not open" in detail_of(report, "TensorRT")
    assert "file too short" in detail_of(report, "TensorRT")


def test_this_machine():
    report = doctor()
    assert status_of(report, "TensorFlow") == "ok"
    assert detail_of(report, "TensorFlow").startswith(tf.__version__)
    assert status_of(report, "TF-TRT") == ("ok" if HAS_TFTRT else "missing")
    if not HAS_TFTRT:
        assert "2.18" in detail_of(report, "TF-TRT")
        assert "tensorflow[and-cuda]==2.17.1" in report.to_text()
        assert doctor(fix=True, look=lambda: report.environment).links == ()
    assert report.ok == all(finding.status != "missing" for finding in report.findings)


def copy_of(folder: Path, suffix: str = "8", version: str = "8.6.0") -> TensorRT:
    """Makes a TensorRT of empty files, which is enough for a test of the links."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"libnvinfer.so.{suffix}"
    plugin = folder / f"libnvinfer_plugin.so.{suffix}"
    library.write_bytes(b"")
    plugin.write_bytes(b"")
    return TensorRT(library, plugin, version)


def test_links_are_relative_within_one_site_packages(tmp_path):
    (tmp_path / "site" / "tensorflow").mkdir(parents=True)
    links = make_links(
        copy_of(tmp_path / "site" / "tensorrt"), "8.6.1", [tmp_path / "site" / "tensorflow"]
    )
    assert {os.readlink(link.path) for link in links} == {
        "../tensorrt/libnvinfer.so.8",
        "../tensorrt/libnvinfer_plugin.so.8",
    }
    (tmp_path / "site").rename(tmp_path / "moved")
    assert (tmp_path / "moved" / "tensorflow" / "libnvinfer.so.8.6.1").is_file()
    elsewhere = tmp_path / "links"
    elsewhere.mkdir()
    for link in make_links(copy_of(tmp_path / "a" / "lib"), "8.6.1", [elsewhere]):
        assert os.readlink(link.path).startswith(str(tmp_path / "a" / "lib"))


def test_links_of_an_earlier_run(tmp_path):
    folder = tmp_path / "tensorflow"
    folder.mkdir()
    (folder / "libnvinfer.so.8.6.1").symlink_to(tmp_path / "gone")
    old = copy_of(tmp_path / "old")
    (folder / "libnvinfer_plugin.so.8.6.1").symlink_to(old.plugin)
    new = copy_of(tmp_path / "new")
    made = make_links(new, "8.6.1", [folder])
    assert (folder / "libnvinfer.so.8.6.1").samefile(new.library)
    assert (folder / "libnvinfer_plugin.so.8.6.1").samefile(new.plugin)
    assert make_links(new, "8.6.1", [folder]) == []
    for command in DoctorReport((), environment_of({}, []), tuple(made)).undo():
        subprocess.run(["sh", "-c", command], check=True)
    assert {path.name: os.readlink(path) for path in folder.iterdir()} == {
        "libnvinfer.so.8.6.1": str(tmp_path / "gone"),
        "libnvinfer_plugin.so.8.6.1": str(old.plugin),
    }


def test_a_real_file_is_not_replaced(tmp_path):
    folder = tmp_path / "tensorflow"
    folder.mkdir()
    (folder / "libnvinfer.so.8.6.1").write_bytes(b"someone's")
    with pytest.raises(UnavailableError, match=r"libnvinfer\.so\.8\.6\.1 is a file of another"):
        make_links(copy_of(tmp_path / "new"), "8.6.1", [folder])
    assert (folder / "libnvinfer.so.8.6.1").read_bytes() == b"someone's"


def test_no_folder_to_write(tmp_path, monkeypatch):
    # The tests may run as root, who may write anywhere. This user may write nowhere.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UnavailableError, match="can be written.*LD_LIBRARY_PATH"):
        make_links(copy_of(tmp_path / "new"), "8.6.1", [tmp_path])
    with pytest.raises(UnavailableError, match="they are: none"):
        make_links(copy_of(tmp_path / "new"), "8.6.1", [])


@pytest.mark.parametrize(
    ("loaded", "linked", "version"),
    [("8.6.0", "8.6.1", "8.6.0"), (None, None, "8.6.0"), (None, "8.6.1", "10.3.0")],
    ids=["it loads already", "no TF-TRT", "nothing that fits"],
)
def test_fix_leaves_alone_what_it_cannot_mend(tmp_path, monkeypatch, loaded, linked, version):
    (tmp_path / "tensorflow").mkdir()
    copy_of(tmp_path / "tensorrt_libs", version.split(".")[0], version)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    environment = dataclasses.replace(
        environment_of({}, []),
        tensorflow_folder=str(tmp_path / "tensorflow"),
        tensorrt_linked=linked,
        tensorrt_loaded=loaded,
    )
    assert doctor(fix=True, look=lambda: environment).links == ()
    assert os.listdir(tmp_path / "tensorflow") == []


def test_describe_survives_a_process_that_ends(monkeypatch, tmp_path):
    """This TensorFlow aborts the process that imports it."""
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text("import os; os.abort()")
    monkeypatch.syspath_prepend(str(tmp_path))
    environment = describe()
    assert environment.tensorflow is None
    assert "TensorFlow does not import" in str(environment.problems[0])
    assert "SIGABRT" in str(environment.problems[0])
