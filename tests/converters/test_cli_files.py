"""Files that commands write: whole or not there, replacing nothing unasked, named in errors."""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path

import pytest
from copied_models import save

from converters.cli import main

pytest_plugins = ["small_disk"]  # fixtures small_disk and full_disk


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "a")


def test_a_page_replaces_nothing_unasked(model, tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.html"
    page.write_text("mine")
    command = ["inspect", str(model), "--no-ask", "--html", str(page)]
    with monkeypatch.context() as patch:
        inspect = importlib.import_module("converters.report.inspect_model")
        patch.setattr(inspect, "inspect_model", lambda *_, **__: pytest.fail("it was inspected"))
        assert main(command) == 1
    assert f"{page}: exists; name another file" in capsys.readouterr().err
    assert page.read_text() == "mine"
    assert main([*command, "--overwrite"]) == 0
    assert page.read_text().startswith("<!")
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_page_on_a_full_disk(model, full_disk, capsys):
    page = full_disk / "page.html"
    page.write_text("")
    command = ["inspect", str(model), "--no-ask", "--html", str(page), "--overwrite"]
    assert main(command) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith(f"trt-convert: {page} cannot be written: No space left on device")
    assert sorted(os.listdir(full_disk)) == ["filler", "page.html"] and page.read_text() == ""


def test_temporary_files_of_calibrate_on_a_full_disk(
    model, full_disk, tmp_path, monkeypatch, capsys
):
    """What the child is told does not fit."""
    monkeypatch.setattr(tempfile, "tempdir", str(full_disk))
    command = ["calibrate", str(model), str(tmp_path / "t"), "--quiet"]
    assert main([*command, "--calibrate", "not read by then"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"trt-convert: {full_disk}/trt-convert-") and "TMPDIR" in said
    assert "job.json cannot be written: No space left on device" in said
    assert os.listdir(full_disk) == ["filler"] and os.listdir(tmp_path) == ["small"]


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (PermissionError(13, "Permission denied", "/a/b"), "trt-convert: /a/b: Permission denied"),
        (OSError(5, "Input/output error"), "trt-convert: a file (--debug shows which): Input/out"),
    ],
)
def test_errors_of_files_are_not_of_stdout(monkeypatch, capsys, failure, says):
    def fail(*_, **__):
        raise failure

    monkeypatch.setattr(importlib.import_module("converters.convert_model"), "convert", fail)
    assert main(["convert", "in", "out"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith(says) and shown.err.count("\n") == 1
    with pytest.raises(OSError):
        main(["convert", "in", "out", "--debug"])
