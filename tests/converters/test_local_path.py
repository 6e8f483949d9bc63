"""Paths of other machines are refused, before anything is made with their names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from converters.cli import main
from converters.util.errors import ModelError
from converters.util.paths import require_local

TABLE = ["--calibrate", "none.npz", "--quiet"]


@pytest.mark.parametrize(
    "command",
    [
        ["convert", "gs://bucket/model", "out"],
        ["convert", "model", "s3://bucket/out"],
        ["convert", "model", "out", "--precision=int8", "--calibration-table=gs://b/t"],
        ["calibrate", "model", "gs://bucket/table", *TABLE],
        ["calibrate", "gs://bucket/model", "table", *TABLE],
        ["inspect", "hdfs://host:8020/model.pb"],
        ["inspect", "model", "--html", "gs://bucket/page.html"],
        ["inspect", "model", "--events", "gs://bucket/events"],
        ["verify", "model", "gs://bucket/model"],
        ["extract-plan", "gs://bucket/model", "plans"],
    ],
    ids=" ".join,
)
def test_the_command_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "saved_model.pb").touch()
    monkeypatch.chdir(tmp_path)
    assert main(command) == 1
    said = capsys.readouterr().err
    assert "is no local path: only local files and folders" in said and "Traceback" not in said
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("path", ["a:b/c", "./gs:/a", "/gs://a", "12:30/a"])
def test_local_names(path: str) -> None:
    require_local(path, ModelError)
