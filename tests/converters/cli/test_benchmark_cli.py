"""`trt-convert benchmark`: its options, what it prints and writes, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from copied_models import save
from recorded_benchmark import recorded

from converters.cli import main
from converters.measure import benchmark as module


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """Replaces the measuring. Returns a list that keeps the arguments."""
    seen: list[tuple[Any, Any]] = []

    def call(*args: Any, **options: Any) -> Any:
        seen.append((args, options))
        return recorded(max_latency_ms=options["max_latency_ms"])

    monkeypatch.setattr(module, "benchmark", call)
    return seen


def test_without_options(calls: list, capsys: pytest.CaptureFixture) -> None:
    assert main(["benchmark", "model"]) == 0
    (args, options) = calls[0]
    assert args == ("model", None)
    assert options == {
        "shapes": None,
        "batch_sizes": None,
        "data": None,
        "concurrency": (1,),
        "queued": 1,
        "seconds": 5.0,
        "warm_up": 1.0,
        "max_latency_ms": None,
        "memory": False,
        "inputs": "device",
        "signature": None,
        "tags": None,
        "outputs": None,
        "seed": 0,
        "progress": None,
    }
    assert capsys.readouterr().out.startswith("models/fast<er>, against models/native: ")


def test_every_option(calls: list, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    page = tmp_path / "page.html"
    options = f"""
        --original native --shape x:1x3 --shape x:2x3,y:2 --batch 1,8,32 --concurrency 1,2,4
        --queued 3 --seconds 2.5 --warm-up 0.5 --max-latency-ms 7 --memory --inputs host --seed 4
        --signature s --tag serve --output out:0 --html {page} --json --quiet
    """
    assert main(["benchmark", "model", *options.split()]) == 0
    (args, given) = calls[0]
    assert args == ("model", "native")
    assert given == {
        "shapes": [{"x": (1, 3)}, {"x": (2, 3), "y": (2,)}],
        "batch_sizes": (1, 8, 32),
        "data": None,
        "concurrency": (1, 2, 4),
        "queued": 3,
        "seconds": 2.5,
        "warm_up": 0.5,
        "max_latency_ms": 7.0,
        "memory": True,
        "inputs": "host",
        "signature": "s",
        "tags": ["serve"],
        "outputs": ["out:0"],
        "seed": 4,
        "progress": False,
    }
    assert json.loads(capsys.readouterr().out)["schema"] == 1
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_exit_codes(calls: list, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["benchmark", "model", "--max-latency-ms", "0.01"]) == 1
    assert "best within 0.01 ms (p99): none" in capsys.readouterr().out
    page = tmp_path / "page.html"
    page.write_text("older")
    count = len(calls)
    assert main(["benchmark", "model", "--html", str(page)]) == 1
    assert "exists" in capsys.readouterr().err
    assert len(calls) == count  # It is refused before anything runs.
    assert main(["benchmark", "model", "--html", str(page), "--overwrite"]) == 0
    assert "<svg" in page.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--batch", "1,x"], "argument --batch: '1,x' is no list of numbers from 1"),
        (["--batch", "0"], "argument --batch: '0' is no list"),
        (["--concurrency", "2,2"], "argument --concurrency: '2,2' has a number twice"),
        (["--original", ""], "argument --original: '' names nothing"),
        (["--inputs", "disk"], "argument --inputs: invalid choice"),
        (["--shape", "x:1x3", "--data", "a.npy"], "argument --shape: it is of random inputs"),
    ],
)
def test_wrong_options(
    calls: list, options: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["benchmark", "model", *options]) == 2
    assert message in capsys.readouterr().err
    assert not calls


@pytest.mark.slow
def test_the_command_measures_a_native_model(tmp_path: Path) -> None:
    save(tmp_path / "model")
    options = ["--batch", "1,8", "--seconds", "0.2", "--warm-up", "0", "--json"]
    command = [sys.executable, "-m", "converters", "benchmark", str(tmp_path / "model"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [cell["batch"] for cell in json.loads(done.stdout)["cells"]] == [1, 8]
    assert "measuring: x:8x3, callers: 1" in done.stderr and "Traceback" not in done.stderr
