"""Tests the rules for paths. An output must not replace what it is made from, inputs must be local
files, and the name of a signature becomes the name of a file."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copied_models import SHAPES, X, here, left_in, save
from trt_graphs import SEGMENTED

from converters import ConversionSpec, calibrate
from converters.cli import main
from converters.plans.extract_plan import extract_plans
from converters.report.event_files import write_event_files
from converters.report.inspect_model import inspect_model
from converters.segments.exclusions import RECORDED
from converters.util.errors import ModelError, OutputError
from converters.util.paths import (
    as_file_name,
    check_apart,
    check_outside,
    require_local,
    signature_of,
)

pytest_plugins = ["copied_tftrt"]  # fixture tftrt

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "converted"


@pytest.mark.parametrize("output", ["a/model", "a", "a/model/variables", "a/model/new", "link"])
@pytest.mark.parametrize("named", ["a/model", "a/model/saved_model.pb"])
def test_the_model(tmp_path: Path, output: str, named: str) -> None:
    (tmp_path / "a" / "model" / "variables").mkdir(parents=True)
    (tmp_path / "a" / "model" / "saved_model.pb").touch()
    (tmp_path / "link").symlink_to("a/model")
    with pytest.raises(OutputError, match="name another output"):
        check_apart(tmp_path / output, tmp_path / named)
    for apart in ("b", "a/model2", "a/other"):
        check_apart(tmp_path / apart, tmp_path / named)


def test_extracted_plans_do_not_replace_the_model(tmp_path: Path) -> None:
    model = shutil.copytree(GOLDEN / "fp16_explicit", tmp_path / "models" / "one")
    files = sorted(model.rglob("*"))
    for out in (model, tmp_path / "models", model / "assets"):
        with pytest.raises(OutputError, match="and the source .* overlap"):
            extract_plans(model, out, partial=True, compare=False, overwrite=True)
    assert sorted(model.rglob("*")) == files


@pytest.mark.parametrize("what", ["calibration_table", "calibration_data", "verify_data"])
def test_files_in_the_old_output(tmp_path: Path, tftrt: dict[str, Any], what: str) -> None:
    source, out = save(tmp_path / "model"), tmp_path / "out"
    out.mkdir()
    file = out / ("a.calib_table" if what == "calibration_table" else "a.npy")
    np.save(out / "a.npy", X[:4])
    spec = ConversionSpec("INT8", input_shapes=SHAPES)
    options: dict[str, Any] = {"calibration_data": {"x": X[:4]}}
    if what == "calibration_table":
        spec = ConversionSpec("INT8", input_shapes=SHAPES, calibration_table=str(file))
    else:
        options[what] = str(file)
    with pytest.raises(OutputError, match=r"out/a\.(npy|calib_table), .*is inside the output"):
        here(source, out, spec, overwrite=True, **options)
    assert left_in(out) == ["a.npy"] and not tftrt["calls"]


def test_a_file_that_is_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "model" / "variables").mkdir(parents=True)
    (tmp_path / "link").symlink_to("model")
    for source in ("model", "model/saved_model.pb", "link"):
        for file in ("model", "model/saved_model.pb", "model/variables/new", "link/assets"):
            with pytest.raises(OutputError, match="a part of the model .* name another output"):
                check_outside(tmp_path / file, tmp_path / source)
        for apart in ("page.html", "model.html", "events", "model/page.html", "link/events/new"):
            check_outside(tmp_path / apart, tmp_path / source)
    for file in ("frozen.pb", "c.meta", "c.index", "c.data-00000-of-00001"):
        source = "frozen.pb" if file == "frozen.pb" else "c.meta"
        with pytest.raises(OutputError, match="a part of the model"):
            check_outside(tmp_path / file, tmp_path / source)
    check_outside(tmp_path / "c.meta", tmp_path / "frozen.pb")
    for beside in ("c.calib_table", "c.html"):
        check_outside(tmp_path / beside, tmp_path / "c.meta")
    (tmp_path / "model" / "saved_model.pb").symlink_to(tmp_path / "stored.pb")
    with pytest.raises(OutputError, match="a part of the model"):
        check_outside(tmp_path / "model" / "saved_model.pb", tmp_path / "model")


@pytest.mark.parametrize("what", ["model", "original"])
@pytest.mark.parametrize("kind", ["saved_model", "frozen_graph"])
def test_a_page_does_not_replace_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, what: str, kind: str
) -> None:
    inspect = importlib.import_module("converters.report.inspect_model")
    monkeypatch.setattr(inspect, "inspect_model", lambda *_, **__: pytest.fail("it was inspected"))
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "saved_model.pb").write_bytes(b"model")
        (folder / "frozen.pb").write_bytes(b"model")
    given = [one, other] if kind == "saved_model" else [one / "frozen.pb", other / "frozen.pb"]
    folder = one if what == "model" else other
    page = folder / ("frozen.pb" if kind == "frozen_graph" else "saved_model.pb")
    command = ["inspect", str(given[0]), "--original", str(given[1])]
    assert main([*command, "--html", str(page), "--overwrite"]) == 1
    assert f"{page} is a part of the model" in capsys.readouterr().err
    assert page.read_bytes() == b"model"
    if kind == "saved_model":
        assert main([*command, "--events", str(folder / "assets")]) == 1
        assert "is a part of the model" in capsys.readouterr().err
        assert left_in(folder) == ["frozen.pb", "saved_model.pb"]


def test_event_files_do_not_go_into_a_model_of_their_name(tmp_path: Path) -> None:
    model = shutil.copytree(GOLDEN / "fp16_explicit", tmp_path / "converted")
    with pytest.raises(OutputError, match="is a part of the model"):
        write_event_files(model, tmp_path)


@pytest.mark.parametrize("table", ["model/saved_model.pb", "model/variables/table", "a.npy"])
def test_a_table_does_not_replace_what_it_is_made_from(
    tmp_path: Path, tftrt: dict[str, Any], table: str
) -> None:
    source = save(tmp_path / "model")
    np.save(tmp_path / "a.npy", X[:4])
    path = tmp_path / table
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(OutputError, match="name another output"):
        calibrate(
            source,
            path,
            ConversionSpec("INT8", input_shapes=SHAPES),
            calibration_data=[str(tmp_path / "*.npy")],
            overwrite=True,
            child=False,
            progress=False,
        )
    assert (path.read_bytes() if path.exists() else None) == before and not tftrt["calls"]


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


ODD = ("../../ESC", "/tmp/x", "a/b", "a_b", "a%2Fb", ".", "..", "n\0l", "\u00e9\u4e2d", "100 %")


def test_every_name_is_one_component_and_comes_back() -> None:
    written = [as_file_name(name) for name in ODD]
    assert not any(set("/\0") & set(name) for name in written)
    assert not {".", ".."} & set(written)
    assert [signature_of(name) for name in written] == list(ODD)
    for plain in ("serving_default", "predict-2.x", "a b"):
        assert as_file_name(plain) == plain


def test_long_names_stay_apart(tmp_path: Path) -> None:
    first, second = (as_file_name("\u4e2d" * 400 + end) for end in "ab")
    assert first != second
    (tmp_path / f"left_out.{first}.csv").touch()


def renamed(folder: Path, name: str, source: str = "two_engines") -> Path:
    """Copies a golden model and gives its signature this name."""
    from tensorflow.core.protobuf import saved_model_pb2

    message = saved_model_pb2.SavedModel.FromString(
        (SEGMENTED / source / "saved_model.pb").read_bytes()
    )
    signatures = message.meta_graphs[0].signature_def
    signatures[name].CopyFrom(signatures["serving_default"])
    del signatures["serving_default"]
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(message.SerializeToString())
    return folder


@pytest.mark.parametrize("name", ["../../../ESC", "n\0l", "x" * 5000])
def test_event_files_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a" / "events"
    written = write_event_files(renamed(tmp_path / "a" / "model", name), folder)
    assert len(written) == 2
    for path in written:
        assert path.parent.parent.parent == folder and path.resolve().is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]


@pytest.mark.parametrize("name", ["a/b", "a_b", "\u4e2d" * 100])
def test_the_report_of_a_signature_is_its_own(tmp_path: Path, name: str) -> None:
    model = renamed(tmp_path / "model", name)
    row = "OP Name|Reason|Count\nCumsum|TF-TRT has it so|1\n"
    other = as_file_name("a_b" if name == "a/b" else "a/b")
    (model / f"left_out.{other}.csv").write_text(row.replace("has it so", "has it otherwise"))
    (model / f"left_out.{as_file_name(name)}.csv").write_text(row)
    (out,) = inspect_model(model, ask=False).left_out
    assert (out.reason, out.source) == ("TF-TRT has it so", RECORDED)
