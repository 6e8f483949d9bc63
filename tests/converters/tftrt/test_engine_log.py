"""Progress reads TF-TRT's log to show engines. Some lines of this test come from a recorded log in
tests/golden/segmented. Those of V2's op, which needs a GPU, are written as in TensorFlow 2.17, and
those of TensorRT with the texts of its library, version 8.6.0."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from copied_models import SHAPES, save
from tensorflow.python.compiler.tensorrt import trt_convert

from converters import ConversionSpec, conversion_plan, convert
from converters.inputs.batch_files import write_spool
from converters.int8.proof import LOG_LAYERS
from converters.tftrt import engine_job
from converters.tftrt.engine_log import LOG_BUILDS, EngineLines
from converters.tftrt.signature_v1 import SignatureV1
from converters.tftrt.signature_v2 import SignatureV2
from converters.util import progress
from converters.util.child import run_in_child
from converters.util.progress import Progress

pytest_plugins = ["copied_tftrt"]  # fixture tftrt

SUPPORT = Path(__file__).resolve().parents[1] / "support"
RECORDED = SUPPORT.parents[1] / "golden" / "segmented" / "two_engines_reports" / "conversion.log"
OF_RECORDED = [
    "2 to build",
    "1 of 2, TRTEngineOp_000_000 with 10 nodes: built in T s",
    "2 of 2, TRTEngineOp_000_001 with 12 nodes: built in T s",
]
OP = "2026-11-21 19:13:38.5: I tensorflow/compiler/tf2tensorrt/kernels/trt_engine_op.cc:1056] "
TRT = "2026-11-21 19:13:39.5: I tf2tensorrt/utils/trt_logger.cc:87] DefaultLogger "
ONE = "PartitionedCall/TRTEngineOp_000_000_0a1b2c3d"
BEGUN = f"{OP}Building a new TensorRT engine for {ONE} with input shapes: [[8,16,16,3], [8,2]]"


def notes(text: str) -> list[str]:
    """Returns the notes that EngineLines makes of a log, with T in place of the times."""
    lines = EngineLines()
    found = [note for line in text.splitlines() if (note := lines.feed(line))]
    return [re.sub(r"\d+\.\d s", "T s", note) for note in found]


def test_recorded_lines() -> None:
    text = RECORDED.read_text()
    assert notes(text) == OF_RECORDED
    assert notes(text + text) == OF_RECORDED * 2  # The count starts again with each signature.
    failed = (
        "W tensorflow/compiler/tf2tensorrt/convert/convert_graph.cc:917] TF-TRT Warning: Cannot "
        "replace segment 0 consisting of 10 nodes by TRTEngineOp_000_000 reason: no memory "
        "(keeping original segment)."
    )
    assert notes(failed) == ["1 of 0, TRTEngineOp_000_000 with 10 nodes: failed after T s"]


def test_lines_of_the_op() -> None:
    other = BEGUN.replace("_000_000_", "_000_001_")
    log = [
        "a line of TensorRT",
        BEGUN,
        other,  # Two engines are built at once.
        f"{OP}Added new engine to cache of {ONE}. Cache size: 1",
        f"{OP}Executing TRT engine: {ONE}",
        f"{OP}Engine creation for {ONE.replace('_000_000_', '_000_001_')} failed. The native "
        "segment will be used instead. Reason: INTERNAL",
        # The log did not say that a build of this engine began, so this line gives no note.
        f"{OP}Added new engine to cache of {ONE}. Cache size: 2",
    ]
    assert notes("\n".join(log)) == [
        "TRTEngineOp_000_000_0a1b2c3d for [[8,16,16,3], [8,2]] ...",
        "TRTEngineOp_000_001_0a1b2c3d for [[8,16,16,3], [8,2]] ...",
        "TRTEngineOp_000_000_0a1b2c3d: built in T s",
        "TRTEngineOp_000_001_0a1b2c3d: failed after T s",
    ]


def test_lines_of_tensorrt() -> None:
    """TensorRT times the kernels of each layer, for one profile after the other."""
    layer = f"{TRT}=============== Computing costs for "
    profile = f"{TRT}Constructing optimization profile number "
    lines = EngineLines()

    def busy(*log: str) -> str:
        for line in log:
            lines.feed(line)
        return lines.busy[0]

    assert busy("a line") == ""
    name, times = "TRTEngineOp_000_000_0a1b2c3d", "TensorRT times kernels"
    assert busy(BEGUN) == f"{name}: {times}"
    assert busy(layer, layer) == f"{name}: {times} (2 layers so far)"
    first = lines.busy[1]
    assert notes(f"{profile}0 [1/4].") == [f"{times} for profile 1 of 4"]
    assert (
        busy(f"{profile}0 [1/4].", layer) == f"{name}: {times} for profile 1 of 4 (1 layers so far)"
    )
    assert lines.busy[1] > first
    second = f"{name}: {times} for profile 2 of 4"
    assert busy(layer, f"{profile}1 [2/4].", layer) == (
        f"{second} (1 layers so far, 2 in the profile before)"
    )
    other = BEGUN.replace("_000_000_", "_000_001_")
    assert busy(other, layer) == f"{times} (1 layers so far)"  # of one of two engines
    for engine in (ONE, ONE.replace("_000_000_", "_000_001_")):
        ended = busy(f"{OP}Added new engine to cache of {engine}. Cache size: 1")
    assert ended == ""
    # An engine with a single profile, as with implicit batch.
    assert notes(f"{profile}0 [1/1].") == []
    assert busy(f"{profile}0 [1/1].") == times


def shown(text: str) -> list[str]:
    return [re.sub(r"\d+\.\d s", "T s", line.split("] ", 1)[1]) for line in text.splitlines()]


def test_a_child_shows_them_as_they_come(tmp_path: Path, capsys: Any) -> None:
    run_in_child(
        "child_jobs:build_engines",
        {"log": str(RECORDED), "expected": len(OF_RECORDED)},
        tmp_path / "log",
    )
    assert shown(capsys.readouterr().err) == [
        "building ...",
        *(f"building: {note}" for note in OF_RECORDED),
        "building: still in the block",
        "building: done in T s",
    ]


def test_without_a_log_of_its_own_nothing_is_shown() -> None:
    code = f"import child_jobs; child_jobs.build_engines({str(RECORDED)!r})"
    paths = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert "building: still in the block" in done.stderr and "to build" not in done.stderr


@pytest.fixture
def logged(capfd: pytest.CaptureFixture[str]) -> None:
    """Makes stderr a file, as it is in a child. capfd does this."""


def test_the_engines_of_v1_are_shown(
    tmp_path: Path, logged: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Converter:
        def __init__(self, input_graph_def: Any, **_: Any) -> None:
            self.graph = input_graph_def

        def convert(self) -> Any:
            os.write(2, RECORDED.read_bytes())
            return self.graph

    monkeypatch.setattr(trt_convert, "TrtGraphConverter", Converter)
    stream = io.StringIO()
    native = tf.saved_model.load(str(save(tmp_path / "model")))
    spec = ConversionSpec(mode="static", max_batch_size=4).resolved()
    signature = SignatureV1(native, "serving_default", spec, Progress(stream=stream))
    signature.convert()
    step = "serving_default: segmenting and building engines"
    assert [f"{step}: {note}" for note in OF_RECORDED] == shown(stream.getvalue())[3:-1]


def built(
    spec: ConversionSpec, build: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Returns what a build of two shapes shows, if `build` stands in for TF-TRT's."""

    class Converter:
        _saved_model = tf.saved_model.load(str(save(tmp_path / "model")))

        def build(self, inputs: Any) -> None:
            build(inputs)

    monkeypatch.setattr(SignatureV2, "_nodes", lambda self: ["an engine"])
    stream = io.StringIO()
    signature = object.__new__(SignatureV2)
    signature.name, signature._spec = "serving_default", spec.resolved()
    signature._progress, signature._trt = Progress(stream=stream), Converter()
    signature._calibrates = False
    signature.build([{"x": (8, 16, 16, 3)}, {"x": (1, 16, 16, 3)}], [{}, {}])
    step = "serving_default: building engines"
    lines = [line.removeprefix(step).removeprefix(": ") for line in shown(stream.getvalue())]
    return [re.sub(r", \d+ s$", ", T s", line) for line in lines]


def test_the_engines_of_v2_are_shown(
    tmp_path: Path, logged: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(inputs: Any) -> None:
        for _ in inputs():
            os.write(2, f"{BEGUN}\n".encode())

    lines = built(ConversionSpec(), build, tmp_path, monkeypatch)
    assert lines[0] == " (2) ..."
    assert "TRTEngineOp_000_000_0a1b2c3d for [[8,16,16,3], [8,2]] ..." in lines


def test_a_long_build_says_which_profile_is_timed(
    tmp_path: Path, logged: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With explicit batch TF-TRT builds when all shapes have run, so they are not counted."""
    monkeypatch.setattr(progress, "_REDRAW_S", 0.01)
    monkeypatch.setattr(progress, "_STILL_RUNNING_S", 0.3)

    def build(inputs: Any) -> None:
        assert len(list(inputs())) == 2
        time.sleep(0.6)
        os.write(2, f"{BEGUN}\n{TRT}Constructing optimization profile number 1 [2/3].\n".encode())
        os.write(2, f"{TRT}=============== Computing costs for a\n".encode())
        time.sleep(1.2)

    spec = ConversionSpec(profile_strategy="Range+Optimal")
    lines = built(spec, build, tmp_path, monkeypatch)
    every = "TensorRT times kernels for each profile of each engine"
    assert lines[:4] == [" ...", "profiles get x:8x16x16x3", "profiles get x:1x16x16x3", every]
    assert f"{every}, T s" in lines
    name, times = "TRTEngineOp_000_000_0a1b2c3d", "TensorRT times kernels for profile 2 of 3"
    assert times in lines
    assert f"{name}: {times} (1 layers so far), T s" in lines


def test_calibrating_counts_the_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Progress shows the number of batches, even if the spec does not give it."""

    class Signature(SignatureV2):
        graph_def = tf.Graph().as_graph_def()
        native = tf.saved_model.load(str(save(tmp_path / "model")))

        def __init__(self, model: str, name: str, spec: Any, progress: Progress, **_: Any) -> None:
            self.name, self.node_names, self._progress = name, [], progress

        def convert(self, calibration: Any, count: int | None) -> None:
            list(self._counted(calibration, count)())

        def build(self, shapes: Any, batches: Any) -> None:
            pass

    monkeypatch.setattr(engine_job, "SignatureV2", Signature)
    source = tmp_path / "model"
    batch = {"x": tf.ones([4, 3]).numpy()}
    write_spool(tmp_path / "spool", [batch] * 3)
    spec = ConversionSpec("INT8").resolved()
    job = engine_job._Job(str(source), spec, Progress(), tmp_path)
    job.convert("serving_default", str(tmp_path / "spool"), allow_none=True)
    assert "serving_default: calibrating (3) ..." in capsys.readouterr().err


def test_a_conversion_lets_the_op_log(
    tmp_path: Path, tftrt: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    logged = {}

    def run_in_child(job: str, arguments: Any, log: Any) -> Any:
        name = job.partition(":")[2]
        logged[name] = os.environ.get("TF_CPP_VMODULE", "")
        return getattr(engine_job, name)(**arguments)

    monkeypatch.setattr(conversion_plan, "run_in_child", run_in_child)
    spec = ConversionSpec(input_shapes=SHAPES)
    convert(save(tmp_path / "model"), tmp_path / "out", spec, verify=False, progress=False)
    assert {LOG_BUILDS, LOG_LAYERS} <= set(logged["convert_signatures"].split(","))
