"""Runs the commands of trt-convert on a GPU, each on what the one before it made."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import gpu_models
import numpy as np
import pytest
import tensorflow as tf

from converters.model.trt_graph import load_graph

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

SHAPE = "image:8x16x16x3"


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "converters", *map(str, arguments)]


def trt_convert(*arguments: object, code: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a folder with a network in "cnn", its conversion in "out", and inputs in
    "images.npy"."""
    folder = tmp_path_factory.mktemp("commands")
    gpu_models.save_cnn(folder / "cnn")
    images = np.random.default_rng(0).normal(size=(8, 16, 16, 3)).astype(np.float32)
    np.save(folder / "images.npy", images)
    data = ("--verify-data", folder / "images.npy")
    options = ("--precision", "fp16", "--shape", SHAPE, *data)
    done = trt_convert("convert", folder / "cnn", folder / "out", *options)
    assert "no engine built" in done.stdout
    assert "building engines" in done.stderr and SHAPE in done.stderr
    assert re.search(r"building engines: TRTEngineOp_\w+: built in \d", done.stderr)
    return folder


def test_progress_names_the_profile_that_tensorrt_times(folder: Path, tmp_path: Path) -> None:
    """A strategy of both has a profile for each of the two shapes, and one from min to max."""
    sizes = ("--range", "image:1x16x16x3..8x16x16x3", "--profile-strategy", "Range+Optimal")
    out = tmp_path / "out"
    said = trt_convert("convert", folder / "cnn", out, "--no-verify", *sizes).stderr
    assert "TensorRT times kernels for each profile of each engine" in said
    for profile in (1, 2, 3):
        assert f"TensorRT times kernels for profile {profile} of 3" in said
    # TensorRT's many thousand lines are not kept.
    assert "Computing costs for" not in (out / "conversion.log").read_text()


def test_convert_is_repeated_by_its_script(folder: Path, tmp_path: Path) -> None:
    again = trt_convert("convert", folder / "cnn", folder / "out", "--shape", SHAPE, code=1)
    assert "exists already" in again.stderr
    done = subprocess.run(
        [folder / "out" / "repeat.sh", tmp_path / "again"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    specs = [
        json.loads((made / "conversion.json").read_text())["spec"]
        for made in (folder / "out", tmp_path / "again")
    ]
    assert specs[0] == specs[1] and specs[0]["precision"] == "FP16"


def test_verify(folder: Path) -> None:
    models = (folder / "cnn", folder / "out", "--data", folder / "images.npy")
    report = json.loads(trt_convert("verify", *models, "--json").stdout)
    assert report["passed"] and report["precision"] == "FP16"
    assert [output["name"] for output in report["outputs"]] == ["scores"]
    failed = trt_convert("verify", *models, "--threshold", "max_abs=0", code=1)
    assert "output 'scores': max_abs" in failed.stderr


def test_inspect(folder: Path, tmp_path: Path) -> None:
    page, events = tmp_path / "page.html", tmp_path / "events"
    more = ("--original", folder / "cnn", "--html", page, "--events", events, "--json")
    report = json.loads(trt_convert("inspect", folder / "out", *more).stdout)
    (engine,) = report["engines"]
    assert engine["plan_bytes"] > 0 and "Conv2D" in engine["ops"]
    written = page.read_text(encoding="utf-8")
    assert written.startswith("<!") and "Conv2D" in written
    assert len(list(events.rglob("*tfevents*"))) == 2


def test_extract_plan(folder: Path, tmp_path: Path) -> None:
    more = ("--compare", "--json")
    report = json.loads(trt_convert("extract-plan", folder / "out", tmp_path / "p", *more).stdout)
    assert report["whole_model"] == {"serving_default": True}
    (plan,) = report["plans"]
    assert (tmp_path / "p" / plan["file"]).stat().st_size == plan["size"]
    assert [output["equal"] for made in report["comparisons"] for output in made["outputs"]] == [
        True
    ]


def test_calibrate(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "cnn.calib_table"
    source = folder / "cnn"
    data = ("--calibrate", folder / "images.npy")
    done = trt_convert("calibrate", source, table, "--shape", SHAPE, *data)
    assert "calibrating (1) ..." in done.stderr  # There is one batch.
    assert table.read_text().startswith("TRT-")
    int8 = ("--precision", "int8", "--no-require-int8", "--calibration-table", table)
    # The weights are random, so the bounds are loose. The test of digits judges INT8's accuracy.
    loose = [f"--threshold={bound}" for bound in ("max_abs=0.5", "mean_abs=none", "cosine=0.9")]
    done = trt_convert("convert", source, tmp_path / "int8", "--shape", SHAPE, *int8, *loose)
    assert "calibrating" not in done.stderr and "no engine built" in done.stdout


def test_static_mode_shows_its_engine(folder: Path, tmp_path: Path) -> None:
    options = ("--mode", "static", "--shape", SHAPE, "--no-verify")
    done = trt_convert("convert", folder / "cnn", tmp_path / "out", *options)
    engine = r"building engines: 1 of 1, TRTEngineOp_\w+ with \d+ nodes: built in \d"
    assert re.search(engine, done.stderr)


def test_doctor_finds_nothing_missing() -> None:
    report = json.loads(trt_convert("doctor", "--json").stdout)
    assert report["ok"] and report["environment"]["gpus"]


def test_ctrl_c_while_engines_are_built(tmp_path: Path) -> None:
    with tf.device("CPU:0"):
        model = tf.keras.applications.MobileNetV2((96, 96, 3), weights=None)
        model.export(str(tmp_path / "model"), verbose=False)
    (tmp_path / "work").mkdir()
    (name,) = load_graph(tmp_path / "model").signatures["serving_default"].inputs
    options = ("--precision", "fp16", "--shape", f"{name}:8x96x96x3")
    child = subprocess.Popen(
        command("convert", tmp_path / "model", tmp_path / "above" / "out", *options),
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "work")},
    )
    try:
        said = ""
        while "building engines" not in said:
            line = child.stderr.readline()
            assert line, said
            said += line
        time.sleep(3)  # By now TensorRT is building.
        child.send_signal(signal.SIGINT)
        _, rest = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130, said + rest
    assert "interrupted" in rest and "Traceback" not in rest
    assert not (tmp_path / "above").exists()
    assert os.listdir(tmp_path / "work") == []
