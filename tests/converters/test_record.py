"""The record of a conversion, and the script that repeats it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from converters.record import (
    file_hashes,
    read_record,
    write_record,
    write_repeat_script,
)
from converters.spec import ConversionSpec


@dataclasses.dataclass(frozen=True)
class Timing:
    name: str
    seconds: float


@pytest.fixture
def out(tmp_path) -> Path:
    folder = tmp_path / "o'ut $x"
    (folder / "assets").mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"model")
    (folder / "assets" / "plan").write_bytes(bytes(3_000_000))
    return folder


def test_the_record_holds_the_hashes(out):
    spec = ConversionSpec(precision="fp16", input_shapes={"x": (1, 2)}).resolved()
    record = {
        "spec": spec,
        "source": Path("/models/a"),
        "timings": [Timing("building", 1.5)],
        "share": np.float32(0.5),
        "counts": np.array([1, 2]),
        "ops": frozenset({"Relu", "Add"}),
    }
    write_record(out, record)
    found = read_record(out)
    assert found == read_record(out / "conversion.json")
    assert ConversionSpec.from_json(found["spec"]).resolved() == spec
    assert found["source"] == "/models/a"
    assert found["timings"] == [{"name": "building", "seconds": 1.5}]
    assert found["share"] == 0.5 and found["counts"] == [1, 2] and found["ops"] == ["Add", "Relu"]
    assert found["files"] == {
        "assets/plan": hashlib.sha256(bytes(3_000_000)).hexdigest(),
        "saved_model.pb": hashlib.sha256(b"model").hexdigest(),
    }
    write_repeat_script(out, "/models/a")
    assert file_hashes(out) == found["files"]
    (out / "saved_model.pb").write_bytes(b"other")
    assert file_hashes(out) != found["files"]


def test_what_cannot_be_recorded_is_an_error(out):
    with pytest.raises(TypeError, match=r"a complex has no place in conversion\.json"):
        write_record(out, {"value": 1j})
    assert not (out / "conversion.json").exists()


def run(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    # `make test` has a PYTHON of its own.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHON"}
    return subprocess.run(
        [str(script), *arguments],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def python(tmp_path) -> str:
    """An interpreter that only says how it was called."""
    shown = tmp_path / "python"
    shown.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "settings = {n: v for n, v in os.environ.items() if n.startswith('TF_TRT_')}\n"
        "print(json.dumps([sys.argv[1:], settings, os.environ['PYTHONPATH']]))\n"
    )
    shown.chmod(0o755)
    return str(shown)


def test_the_script_calls_the_command_with_the_spec(out, python, monkeypatch):
    monkeypatch.setenv("TF_TRT_OP_DENYLIST", "Relu,It's")
    script = write_repeat_script(out, "/models/it's $HOME", ["--calibrate", "/data/a b.npz"])
    monkeypatch.delenv("TF_TRT_OP_DENYLIST")
    done = run(script, "new out", PYTHON=python, PYTHONPATH="/before")
    assert done.returncode == 0, done.stderr
    arguments, settings, path = json.loads(done.stdout)
    assert arguments == [
        *("-m", "converters", "convert", "/models/it's $HOME", "new out"),
        *("--spec", f"{out}/conversion.json", "--calibrate", "/data/a b.npz"),
    ]
    assert settings == {"TF_TRT_OP_DENYLIST": "Relu,It's"}
    package, before = path.split(":")
    assert (Path(package) / "converters" / "record.py").is_file() and before == "/before"


def test_the_script_runs_this_python_by_default(out, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/a place/py}thon$")
    text = write_repeat_script(out, "/m").read_text()
    assert '"${PYTHON:-/a place/py\\}thon\\$}"' in text
    done = run(Path(out / "repeat.sh"), "out", PATH=os.environ["PATH"])
    assert done.returncode == 127 and "/a place/py}thon$" in done.stderr


def test_the_script_is_really_understood(out, tmp_path):
    """The command takes the arguments of the script, and reads the spec that the record holds."""
    write_record(out, {"spec": ConversionSpec(precision="FP16", max_batch_size=8)})
    done = run(write_repeat_script(out, tmp_path / "no model"), str(tmp_path / "new"))
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("trt-convert: the conversion spec has a fault: max_batch_size=8")


def test_the_script_wants_an_output(out, python):
    script = write_repeat_script(out, "/m")
    done = run(script, PYTHON=python)
    assert done.returncode == 2 and "usage:" in done.stderr and done.stdout == ""


def test_the_script_says_what_it_lacks(out, python):
    script = write_repeat_script(out, "/m", missing="the calibration data was a Python object")
    done = run(script, "new", PYTHON=python)
    assert done.returncode == 1 and done.stdout == ""
    assert "cannot be repeated: the calibration data was a Python object" in done.stderr
