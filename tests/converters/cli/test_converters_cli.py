"""The command line: what its options mean, what it prints, and how it ends."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from copied_models import keras_file, session_graph
from processes import wait_for

from converters.cli import main
from converters.model.model_source import open_source
from converters.spec.conversion_spec import ConversionSpec
from converters.util.errors import EngineError
from converters.util.shapes import ShapeRange

pytest_plugins = ["recorded_cli"]  # fixture calls

COMMANDS = ["convert", "calibrate", "inspect", "verify", "benchmark", "extract-plan", "doctor"]


def test_convert_without_options(calls, capsys):
    assert main(["convert", "in", "out"]) == 0
    (source, output, spec), given = calls["convert"]
    assert (source, output) == ("in", "out")
    assert spec == ConversionSpec()
    assert given == {
        "build_data": None,
        "calibration_data": None,
        "verify_data": None,
        "verify": True,
        "bisect": False,
        "overwrite": False,
        "child": True,
        "progress": None,
    }
    assert capsys.readouterr().out == "the report\n"


def test_every_option_of_convert(calls, spec_of, capsys):
    options = """
        --precision int8 --mode Dynamic --shape x:32x8,y:32 --shape x:1x8,y:1
        --profile-strategy Range+Optimal --explicit-batch --workspace 2GiB
        --minimum-segment-size 5 --maximum-cached-engines 4 --deny-op Relu --deny-op Add
        --deny-node a/b --build-at-runtime --no-save-engines
        --calibrate a.npz --calibrate b.npz --calibration-batches 7
        --calibration-table t.calib_table
        --signature s1 --signature s2 --tag serve --tag gpu --output out:0
        --threshold max_abs=0.5 --threshold top1=none
        --build-data c.mp4 --verify --verify-data v.npz --bisect --overwrite --no-child
        --json --quiet
    """
    spec = spec_of(*options.split())
    assert calls["convert"][1] == {
        "build_data": ["c.mp4"],
        "calibration_data": ["a.npz", "b.npz"],
        "verify_data": ["v.npz"],
        "verify": True,
        "bisect": True,
        "overwrite": True,
        "child": False,
        "progress": False,
    }
    thresholds = spec.thresholds
    assert thresholds.max_abs == 0.5 and thresholds.top1 is None
    # The user gave data, so INT8's defaults hold for the bounds that no option sets.
    assert thresholds.top5 is not None
    assert spec == ConversionSpec(
        precision="INT8",
        mode="dynamic",
        input_shapes=({"x": (32, 8), "y": (32,)}, {"x": (1, 8), "y": (1,)}),
        profile_strategy="Range+Optimal",
        explicit_batch=True,
        max_workspace_size_bytes=2 * 2**30,
        minimum_segment_size=5,
        maximum_cached_engines=4,
        op_denylist=("Relu", "Add"),
        node_denylist=("a/b",),
        calibration_batches=7,
        calibration_table="t.calib_table",
        allow_build_at_runtime=True,
        save_gpu_specific_engines=False,
        signatures=("s1", "s2"),
        tags=("serve", "gpu"),
        outputs=("out:0",),
        thresholds=thresholds,
    )
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"engines": 2} and shown.err == ""


def test_ranges(spec_of):
    spec = spec_of("--range", "x:1x8..32x8", "--range", "serve:y:0:1..4..2")
    assert spec.shape_ranges == {
        "x": ShapeRange((1, 8), (32, 8)),
        "serve:y": ShapeRange((1,), (4,), (2,)),
    }
    spec = spec_of("--mode", "static", "--max-batch-size", "8", "--no-explicit-batch")
    assert spec == ConversionSpec(mode="static", max_batch_size=8, explicit_batch=False)
    assert spec_of("--no-native-segments") == ConversionSpec(native_segments=False)
    options = ("--precision", "INT8", "--no-calibration", "--custom-range", "conv:0=-1,6.5")
    assert spec_of(*options) == ConversionSpec(
        precision="INT8", use_calibration=False, custom_ranges={"conv:0": (-1.0, 6.5)}
    )


@pytest.mark.parametrize("command", ["convert", "calibrate"])
def test_op_libraries(calls, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    libraries = ["--op-library", "a.so", "--op-library", str(tmp_path / "lib" / "b.so")]
    assert (
        main([command, "in", "out", "--calibrate", "x.npz", "--precision", "int8", *libraries]) == 0
    )
    spec = calls[command][0][2].resolved()
    assert spec.op_libraries == (str(tmp_path / "a.so"), str(tmp_path / "lib" / "b.so"))


def test_a_denylist_of_bisect(spec_of, tmp_path):
    path = tmp_path / "deny.json"
    path.write_text(json.dumps({"op_denylist": ["Softmax"], "node_denylist": ["a/b"]}))
    spec = spec_of("--denylist", str(path), "--deny-op", "Relu")
    assert spec.op_denylist == ("Relu", "Softmax") and spec.node_denylist == ("a/b",)
    # It is added to what the spec in a file keeps out; --deny-op replaces that.
    spec_file = tmp_path / "spec.json"
    written = ConversionSpec(op_denylist=["Elu", "Softmax"], node_denylist=["c"])
    spec_file.write_text(json.dumps(written.to_json()))
    spec = spec_of("--denylist", str(path), "--spec", str(spec_file))
    assert spec.op_denylist == ("Elu", "Softmax") and spec.node_denylist == ("c", "a/b")
    spec = spec_of("--denylist", str(path), "--spec", str(spec_file), "--deny-op", "Relu")
    assert spec.op_denylist == ("Relu", "Softmax")


def test_calibrate(calls):
    assert main(["calibrate", "in", "x.calib_table", "--calibrate", "a.npz", "--overwrite"]) == 0
    (source, table, spec), given = calls["calibrate"]
    assert (source, table) == ("in", "x.calib_table")
    assert spec == ConversionSpec(precision="INT8")
    assert given == {
        "calibration_data": ["a.npz"],
        "overwrite": True,
        "child": True,
        "progress": None,
    }


@pytest.mark.parametrize(
    ("text", "number"),
    [("1024", 1024), ("1k", 1000), ("1.5MB", 1_500_000), ("2GiB", 2**31), ("1KiB", 1024)],
)
def test_sizes(spec_of, text, number):
    assert spec_of("--workspace", text).max_workspace_size_bytes == number


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("", "the following arguments are required: COMMAND"),
        ("convert in", "OUT"),
        ("transmogrify", "invalid choice: 'transmogrify'"),
        ("convert in out --precision fp8", "'FP8'"),
        ("convert in out --shape x", "'x' names no input: write INPUT:32x224x224x3"),
        ("convert in out --shape x:3x-1", "'3x-1' is no shape"),
        ("convert in out --shape x:3x0", "dimension 0"),
        ("convert in out --range x:1x2", "write INPUT:MIN..MAX"),
        ("convert in out --range x:1..2 --range x:1..4", "argument --range: 'x' is given twice"),
        ("convert in out --workspace lots", "'lots' is no size"),
        ("convert in out --workspace 5XB", "'5XB' is no size"),
        ("convert in out --custom-range x=3", "write TENSOR=MIN,MAX"),
        ("convert in out --threshold max_abs=tiny", "NAME=NUMBER"),
        ("calibrate in table", "required: --calibrate"),
        ("verify a b --seed one", "invalid int value: 'one'"),
    ],
)
def test_wrong_options_exit_with_2(options, says, capsys):
    assert main(options.split()) == 2
    shown = capsys.readouterr()
    assert says in shown.err and shown.out == ""
    assert shown.err.count("\n") == 1 and "--help" in shown.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--max-batch-size 8", "max_batch_size=8"),
        ("--mode static --precision int8 --calibrate x.npz", "TF-TRT turns dynamic mode on"),
        ("--threshold speed=1", "no figure 'speed'"),
        ("--spec nowhere.json", "nowhere.json cannot be read"),
    ],
)
def test_faults_of_the_spec_exit_with_1(options, says, capsys):
    assert main(["convert", "in", "out", *options.split()]) == 1
    shown = capsys.readouterr()
    assert says in shown.err and "Traceback" not in shown.err and shown.out == ""


@pytest.mark.parametrize("text", ["no json", "[]", '{"precision": {}, "colour": 1}'])
def test_a_spec_file_that_is_none(tmp_path, text, capsys):
    path = tmp_path / "spec.json"
    path.write_text(text)
    assert main(["convert", "in", "out", "--spec", str(path)]) == 1
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"trt-convert {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("failure", "code", "says"),
    [
        (EngineError("x:3x3 was not built: declare it"), 1, "trt-convert: x:3x3 was not built"),
        (KeyboardInterrupt(), 130, "trt-convert: interrupted"),
        (
            ModuleNotFoundError("No module named 'tensorflow'", name="tensorflow"),
            1,
            "trt-convert: tensorflow is not installed: pip install 'tensorflow[and-cuda]==2.17.1'",
        ),
    ],
)
def test_failures_have_no_traceback(calls, monkeypatch, capsys, failure, code, says):
    def fail(*_, **__):
        raise failure

    monkeypatch.setattr(sys.modules["converters.convert_model"], "convert", fail)
    assert main(["convert", "in", "out"]) == code
    shown = capsys.readouterr()
    assert shown.err.startswith(says) and shown.err.count("\n") == 1 and shown.out == ""
    if code == 1:
        with pytest.raises(type(failure)):
            main(["convert", "in", "out", "--debug"])


def test_a_bug_shows_itself(calls, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(sys.modules["converters.convert_model"], "convert", fail)
    with pytest.raises(ZeroDivisionError):
        main(["convert", "in", "out"])


def trt_convert(*arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "converters", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    ("number", "ends"),
    [
        (signal.SIGTERM, (143, "trt-convert: terminated\n")),
        (signal.SIGHUP, (129, "")),
    ],
    ids=["SIGTERM", "SIGHUP"],
)
def test_signals(tmp_path, number, ends):
    """A signal in the middle of a command ends it, and removes its temporary folder."""
    code = (
        "import signal, sys, time, types; import converters.cli as cli\n"
        # The tests may run below nohup, whose children ignore SIGHUP.
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "from converters.util.outputs import new_output\n"
        "module = types.ModuleType('converters.convert_model')\n"
        "def convert(source, output, *_, **__):\n"
        "    with new_output(output):\n"
        f"        open({str(tmp_path / 'started')!r}, 'w').close()\n"
        "        time.sleep(60)\n"
        "module.convert = convert\n"
        "sys.modules['converters.convert_model'] = module\n"
        f"sys.exit(cli.main(['convert', 'in', {str(tmp_path / 'out')!r}]))\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert wait_for((tmp_path / "started").exists, 100)
        child.send_signal(number)
        _, said = child.communicate(timeout=60)
    finally:
        child.kill()
    assert (child.returncode, said) == ends
    assert os.listdir(tmp_path) == ["started"]


# --- commands on real models


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """Saves two SavedModels, a and b. The output of b is that of a times 1.01."""
    folder = tmp_path_factory.mktemp("models")
    for name, scale in (("a", 2.0), ("b", 2.02)):
        module = tf.Module()
        module.serve = tf.function(
            lambda x, scale=scale: {"y": x * scale},
            input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")],
        )
        tf.saved_model.save(module, str(folder / name), signatures=module.serve)
    np.savez(folder / "data.npz", x=np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))
    return folder


def test_verify(models, capsys):
    same = [str(models / "a"), str(models / "a"), "--data", str(models / "data.npz"), "--json"]
    assert main(["verify", *same, "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] and found["outputs"][0]["max_abs"] == 0
    other = ["verify", str(models / "a"), str(models / "b"), "--precision", "fp32"]
    assert main(other) == 1
    shown = capsys.readouterr()
    assert "trt-convert: signature 'serving_default', output 'y': max_abs" in shown.err
    assert "comparing: done in" in shown.err and shown.out.strip()
    loose = [f"--threshold={name}=1" for name in ("max_abs", "mean_abs")]
    assert main([*other, *loose, "--threshold=cosine=0.5", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_verify_of_what_convert_takes(tmp_path, capsys):
    """NATIVE may be a Keras file, a MetaGraph beside its checkpoint, or a frozen graph."""
    meta_graph = session_graph(tmp_path)[1]
    natives = {
        keras_file(tmp_path / "a.keras"): None,
        meta_graph: "y",
        tmp_path / "frozen.pb": None,
    }
    for native, output in natives.items():
        work = tmp_path / native.suffix
        outputs = [output] if output else None
        same = str(open_source(native, work, outputs=outputs).saved_model)
        options = [] if output is None else ["--output", output]
        argv = ["verify", str(native), same, "--shape", "x:4x3", "--quiet", *options]
        assert main(argv) == 0
        if native.suffix == ".pb":
            assert main([*argv, "--separate-processes"]) == 0
            assert main([*argv[:2], f"{same}/saved_model.pb", *argv[3:]]) == 0
    assert main(["verify", str(tmp_path / "none.keras"), same]) == 1
    assert "none.keras does not exist" in capsys.readouterr().err


def test_verify_of_a_missing_model(models, tmp_path, capsys):
    assert main(["verify", str(models / "a"), str(tmp_path / "none"), "--quiet"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("trt-convert: ") and str(tmp_path / "none") in shown.err
    assert "Traceback" not in shown.err


def test_inspect(models, tmp_path, capsys):
    page = tmp_path / "page.html"
    options = ["--no-ask", "--html", str(page), "--events", str(tmp_path / "events")]
    assert main(["inspect", str(models / "a"), *options]) == 0
    shown = capsys.readouterr()
    assert "serving_default" in shown.out and shown.err == ""
    assert page.read_text().startswith("<!")
    assert list((tmp_path / "events").rglob("*tfevents*"))
    assert main(["inspect", str(models / "a"), "--no-ask", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert main(["inspect", str(tmp_path / "none")]) == 1
    assert str(tmp_path / "none") in capsys.readouterr().err
    assert main(["inspect", str(models / "a"), "--no-ask", "--html", "/proc/page.html"]) == 1
    assert "/proc/page.html cannot be written" in capsys.readouterr().err


def test_extract_plan_of_a_model_without_plans(models, tmp_path, capsys):
    assert main(["extract-plan", str(models / "a"), str(tmp_path / "out"), "--no-compare"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("trt-convert: ") and shown.out == ""
    assert str(models / "a") in shown.err and "Traceback" not in shown.err
    assert os.listdir(tmp_path) == []


def test_every_option_of_extract_plan(report, monkeypatch, capsys):
    seen = []

    def extract(*args, **kwargs):
        seen.append((args, kwargs))
        return report

    monkeypatch.setattr(
        importlib.import_module("converters.plans.extract_plan"), "extract_plans", extract
    )
    assert main(["extract-plan", "in", "out"]) == 0
    options = "--signature s --partial --no-compare --tag gpu --overwrite --tolerance 0.5 --json"
    assert main(["extract-plan", "in", "out", *options.split()]) == 0
    assert seen == [
        (
            ("in", "out", None, False, None),
            {"tags": None, "overwrite": False, "tolerance": 0.0},
        ),
        (
            ("in", "out", "s", True, False),
            {"tags": ["gpu"], "overwrite": True, "tolerance": 0.5},
        ),
    ]
    assert capsys.readouterr().out == 'the report\n{\n  "engines": 2\n}\n'


def test_convert_where_nothing_can(models, tmp_path):
    """Without TF-TRT, TensorRT or a GPU, convert prints one message and writes no output."""
    done = trt_convert("convert", models / "a", tmp_path / "above" / "out", "--shape", "x:4x3")
    if done.returncode == 0:
        pytest.skip("this machine can convert")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    (message,) = (part for part in done.stderr.split("\ntrt-convert: ")[1:])
    assert "TensorRT" in message or "TF-TRT" in message or "GPU" in message
    assert os.listdir(tmp_path) == []


def test_doctor(capfd):
    code = main(["doctor", "--json"])
    shown = capfd.readouterr()
    report = json.loads(shown.out)
    assert code == (0 if report["ok"] else 1)
    assert report["environment"]["tensorflow"] == tf.__version__
    assert {finding["name"] for finding in report["findings"]} >= {"TensorFlow", "TensorRT", "GPU"}
    assert shown.err == ""


# A command that prints a result and imports no TensorFlow.
PRINTS = """
import sys, types
from converters import cli
from converters.environment import doctor
doctor.doctor = lambda fix: types.SimpleNamespace(ok=True, to_text=lambda: "a report")
sys.exit(cli.main(["doctor"]))
"""


@pytest.mark.parametrize(
    ("redirection", "code", "says"),
    [
        ("| cat", 0, ""),
        ("| true", 1, ""),
        ("> /dev/full", 1, "trt-convert: standard output: No space left on device\n"),
        ("<&- >&-", 0, ""),
    ],
    ids=["read", "the reader leaves", "full", "closed"],
)
def test_standard_output_that_takes_nothing(tmp_path, redirection, code, says):
    (tmp_path / "prints.py").write_text(f"import time; time.sleep(0.2)\n{PRINTS}")
    command = f'"{sys.executable}" "{tmp_path}/prints.py" {redirection}; exit ${{PIPESTATUS[0]}}'
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, says)
    assert done.stdout == ("a report\n" if redirection == "| cat" else "")


@pytest.mark.parametrize("argv", [["inspect", ""], ["convert", "model", ""], ["verify", "", "b"]])
def test_an_empty_name_is_not_the_working_folder(argv, capsys):
    assert main(argv) == 2
    assert "'' names nothing" in capsys.readouterr().err
