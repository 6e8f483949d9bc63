"""`trt-convert profile`: its options, what it prints and writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from recorded_profile import recorded_profile

from converters.cli import main
from converters.measure import profile as module


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """Replaces the measuring. Returns a list that keeps the arguments."""
    seen: list[tuple[Any, Any]] = []

    def call(*args: Any, **options: Any) -> Any:
        seen.append((args, options))
        return recorded_profile()

    monkeypatch.setattr(module, "profile", call)
    return seen


def test_without_options(calls: list, capsys: pytest.CaptureFixture) -> None:
    assert main(["profile", "model"]) == 0
    (args, options) = calls[0]
    assert args == ("model", None)
    assert options == {
        "shapes": None,
        "data": None,
        "runs": 20,
        "trace": None,
        "signature": None,
        "tags": None,
        "outputs": None,
        "seed": 0,
        "progress": None,
    }
    assert capsys.readouterr().out.startswith("models/fast<er>, beside models/fp32: ")


def test_every_option(calls: list, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    page, trace = tmp_path / "page.html", tmp_path / "trace"
    options = f"""
        --original fp32 --shape x:1x3,y:2 --runs 7 --seed 4 --signature s --tag serve
        --output out:0 --trace {trace} --html {page} --json --quiet
    """
    assert main(["profile", "model", *options.split()]) == 0
    (args, given) = calls[0]
    assert args == ("model", "fp32")
    assert given == {
        "shapes": {"x": (1, 3), "y": (2,)},
        "data": None,
        "runs": 7,
        "trace": trace,
        "signature": "s",
        "tags": ["serve"],
        "outputs": ["out:0"],
        "seed": 4,
        "progress": False,
    }
    assert json.loads(capsys.readouterr().out)["schema"] == 1
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_an_existing_page_is_refused(
    calls: list, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    page = tmp_path / "page.html"
    page.write_text("older")
    assert main(["profile", "model", "--html", str(page)]) == 1
    assert "exists" in capsys.readouterr().err and not calls
    assert main(["profile", "model", "--html", str(page), "--overwrite"]) == 0
    assert "<table>" in page.read_text()
    inside = str(tmp_path / "model" / "variables" / "trace")
    assert main(["profile", str(tmp_path / "model"), "--trace", inside]) == 1
    assert "is a part of the model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shape", "x:1x3", "--shape", "x:2x3"], "argument --shape: it is given twice"),
        (["--shape", "x:1x3", "--data", "a.npy"], "argument --shape: it is of random inputs"),
        (["--original", ""], "argument --original: '' names nothing"),
        (["--runs", "x"], "argument --runs: invalid int value"),
    ],
)
def test_wrong_options(
    calls: list, options: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["profile", "model", *options]) == 2
    assert message in capsys.readouterr().err
    assert not calls
