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

from converters.repeat_check import check_unchanged
from converters.spec.conversion_spec import ConversionSpec
from converters.util.errors import ModelError
from converters.util.record import (
    RECORD,
    file_hash,
    file_hashes,
    read_record,
    settings,
    source_hashes,
    write_record,
    write_repeat_script,
)


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
    # `make test` sets PYTHON, which repeat.sh would use.
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
    """Makes an interpreter that runs repeat_check, but only prints its arguments otherwise."""
    shown = tmp_path / "python"
    shown.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "if 'converters.repeat_check' in sys.argv:\n"
        "    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
        "settings = {n: v for n, v in os.environ.items() if n.startswith('TF_TRT_')}\n"
        "print(json.dumps([sys.argv[1:], settings, os.environ['PYTHONPATH']]))\n"
    )
    shown.chmod(0o755)
    return str(shown)


def test_the_script_calls_the_command_with_the_spec(out, python, monkeypatch):
    monkeypatch.setenv("TF_TRT_OP_DENYLIST", "Relu,It's")
    model = out.parent / "it's $HOME"
    model.mkdir()
    script = write_repeat_script(out, model, ["--calibrate", "/data/a b.npz"])
    write_record(out, {"source_hash": source_hashes(model)})
    monkeypatch.delenv("TF_TRT_OP_DENYLIST")
    done = run(script, "new out", PYTHON=python, PYTHONPATH="/before")
    assert done.returncode == 0, done.stderr
    arguments, settings, path = json.loads(done.stdout)
    assert arguments == [
        *("-m", "converters", "convert", str(model), "new out"),
        *("--spec", f"{out}/conversion.json", "--calibrate", "/data/a b.npz"),
    ]
    assert settings == {"TF_TRT_OP_DENYLIST": "Relu,It's"}
    package, before = path.split(":")
    assert (Path(package) / "converters" / "repeat_check.py").is_file() and before == "/before"


def test_the_script_with_cdpath_and_names_that_are_no_utf8(out, python, monkeypatch):
    data = os.fsdecode(os.fsencode(out.parent) + b"/d\xff.npy")
    script = write_repeat_script(out, out.parent / "model", ["--verify-data", data])
    assert os.fsencode(data) in script.read_bytes()
    script = write_repeat_script(out, out.parent)
    write_record(out, {"source_hash": source_hashes(out.parent)})
    monkeypatch.chdir(out.parent)
    relative = Path(out.name, "repeat.sh")
    done = run(Path("/bin/sh"), str(relative), "new", PYTHON=python, CDPATH=str(out.parent))
    assert done.returncode == 0, done.stderr
    assert f"{out}/conversion.json" in json.loads(done.stdout)[0]


def test_the_script_runs_this_python_by_default(out, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/a place/py}thon$")
    text = write_repeat_script(out, "/m").read_text()
    assert '"${PYTHON:-/a place/py\\}thon\\$}"' in text
    done = run(Path(out / "repeat.sh"), "out", PATH=os.environ["PATH"])
    assert done.returncode == 127 and "/a place/py}thon$" in done.stderr


def test_the_script_is_really_understood(out, tmp_path):
    """The real command takes the arguments of the script and reads the spec in the record."""
    write_record(out, {"spec": ConversionSpec(precision="FP16", max_batch_size=8)})
    (tmp_path / "model.pb").touch()
    done = run(write_repeat_script(out, tmp_path / "model.pb"), str(tmp_path / "new"))
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("trt-convert: the conversion spec has a fault: max_batch_size=8")


def test_the_script_stops_where_the_source_is_another(out, python, tmp_path):
    model = tmp_path / "model"
    (model / "variables").mkdir(parents=True)
    (model / "variables" / "data").write_bytes(b"weights")
    was = file_hash(model / "variables" / "data")
    write_record(out, {"source_hash": source_hashes(model)})
    script = write_repeat_script(out, model)
    assert run(script, "new", PYTHON=python).returncode == 0
    (model / "variables" / "data").write_bytes(b"trained on")
    done = run(script, "new", PYTHON=python)
    assert done.returncode == 1 and done.stdout == ""
    now = file_hash(model / "variables" / "data")
    assert f"variables/data had the SHA-256 {was} and has {now}" in done.stderr
    assert f"--spec {out}/conversion.json" in done.stderr and "Traceback" not in done.stderr
    (model / "variables" / "data").rename(model / "variables" / "other")
    done = run(script, "new", PYTHON=python)
    assert f"{was} and has (no such file), and 1 more files have changed" in done.stderr
    (model / "variables" / "other").unlink()
    (model / "variables").rmdir()
    model.rmdir()
    assert f"{model} is not there any more" in run(script, "new", PYTHON=python).stderr


def test_data_that_is_another(tmp_path):
    data, table, model = (tmp_path / name for name in ("a.npz", "x.calib_table", "model.pb"))
    for path in (data, table, model):
        path.write_text("as it was")
    record = {
        "source_hash": source_hashes(model),
        "data_hash": {
            "calibration_data": {str(data): file_hash(data)},
            "calibration_table": {str(table): file_hash(table)},
        },
    }
    given = {"calibration_data": [str(data)]}
    check_unchanged(record, model, given)
    table.unlink()  # The conversion can still measure the ranges from the data.
    check_unchanged(record, model, given)
    data.write_text("as it is")
    with pytest.raises(ModelError, match=f"{data} had the SHA-256 .* and has {file_hash(data)}"):
        check_unchanged(record, model, given)
    data.unlink()  # The conversion reports missing data itself.
    check_unchanged(record, model, given)
    # Older records have only the hashes of the source.
    check_unchanged({"source_hash": source_hashes(model)}, model, given)


@pytest.mark.parametrize("given", ["", "/*.npz"])
def test_a_folder_or_pattern_with_other_files(tmp_path, given):
    model, folder = tmp_path / "model.pb", tmp_path / "data"
    folder.mkdir()
    for path in (model, folder / "a.npz", folder / "b.npz"):
        path.write_text("as it was")
    hashes = {str(path): file_hash(path) for path in folder.iterdir()}
    record = {"source_hash": source_hashes(model), "data_hash": {"verify_data": hashes}}
    data = {"verify_data": [f"{folder}{given}"]}
    check_unchanged(record, model, data)
    (folder / "c.npz").write_text("more")
    with pytest.raises(ModelError, match=r"c\.npz had the SHA-256 \(no such file\)"):
        check_unchanged(record, model, data)
    (folder / "c.npz").unlink()
    (folder / "b.npz").unlink()
    with pytest.raises(ModelError, match=r"b\.npz had .* and has \(no such file\)"):
        check_unchanged(record, model, data)


# Scripts of older versions run the module `unchanged`.
@pytest.mark.parametrize("module", ["repeat_check", "unchanged"])
def test_a_record_that_is_not_there_or_damaged(tmp_path, module):
    path = tmp_path / RECORD
    for content in (None, "{"):
        if content is not None:
            path.write_text(content)
        command = [sys.executable, "-m", f"converters.{module}", str(path), str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("error: the conversion is not repeated: ")
        assert "Traceback" not in done.stderr


def test_folders_that_are_links(tmp_path):
    """The hashes of a SavedModel include links in the place of its own folders, such as
    `variables`. Each one is followed once, and other links are not followed."""
    model, elsewhere = tmp_path / "model", tmp_path / "elsewhere"
    for folder in (model, elsewhere):
        folder.mkdir()
    (model / "saved_model.pb").write_bytes(b"m")
    (elsewhere / "variables.index").write_bytes(b"v")
    (elsewhere / "again").symlink_to(".")
    (model / "variables").symlink_to(elsewhere)
    (model / "data").symlink_to("/")
    assert sorted(source_hashes(model)) == ["saved_model.pb", "variables/variables.index"]


def test_files_beside_a_saved_model_are_not_of_it(tmp_path):
    (tmp_path / "assets").mkdir()
    for name in ("saved_model.pb", "assets/words.txt", "int8.calib_table", "notes.txt"):
        (tmp_path / name).write_text(name)
    for source in (tmp_path, tmp_path / "saved_model.pb"):
        assert list(source_hashes(source)) == ["assets/words.txt", "saved_model.pb"]


def test_all_files_of_a_source_are_hashed(tmp_path):
    names = [f"m[1].ckpt{end}" for end in (".meta", ".index", ".data-00000-of-00001")]
    for name in (*names, "m[1].ckpt-2.index", "saved_model.pb", "frozen.pb"):
        (tmp_path / name).write_text(name)
    assert set(source_hashes(tmp_path / "m[1].ckpt.meta")) == set(names)
    assert list(source_hashes(tmp_path / "frozen.pb")) == ["frozen.pb"]


def test_settings(monkeypatch):
    monkeypatch.setenv("TF_TRT_MAX_ALLOWED_ENGINES", "3")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    assert settings()["TF_TRT_MAX_ALLOWED_ENGINES"] == "3"
    assert all(name.startswith("TF_TRT_") for name in settings())


def test_the_script_wants_an_output(out, python):
    script = write_repeat_script(out, "/m")
    done = run(script, PYTHON=python)
    assert done.returncode == 2 and "usage:" in done.stderr and done.stdout == ""


def test_the_script_says_what_it_lacks(out, python):
    script = write_repeat_script(out, "/m", missing="the calibration data was a Python object")
    done = run(script, "new", PYTHON=python)
    assert done.returncode == 1 and done.stdout == ""
    assert "cannot be repeated: the calibration data was a Python object" in done.stderr
