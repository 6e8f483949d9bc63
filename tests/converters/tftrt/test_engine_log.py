"""Progress reads TF-TRT's log to show engines. Some lines of this test come from a recorded log in
tests/golden/segmented. Those of V2's op, which needs a GPU, are written as in TensorFlow 2.17."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from copied_models import SHAPES, save
from tensorflow.python.compiler.tensorrt import trt_convert

from converters import ConversionSpec, conversion_plan, convert
from converters.inputs.batch_files import write_spool
from converters.tftrt import engine_job
from converters.tftrt.engine_log import LOG_BUILDS, EngineLines
from converters.tftrt.signature_v1 import SignatureV1
from converters.tftrt.signature_v2 import SignatureV2
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


def test_the_engines_of_v2_are_shown(
    tmp_path: Path, logged: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Converter:
        _saved_model = tf.saved_model.load(str(save(tmp_path / "model")))

        def build(self, inputs: Any) -> None:
            for _ in inputs():
                os.write(2, f"{BEGUN}\n".encode())

    monkeypatch.setattr(SignatureV2, "_nodes", lambda self: ["an engine"])
    stream = io.StringIO()
    signature = object.__new__(SignatureV2)
    signature.name, signature._spec = "serving_default", ConversionSpec().resolved()
    signature._progress, signature._trt = Progress(stream=stream), Converter()
    signature._calibrates = False
    signature.build([{"x": (8, 16, 16, 3)}], [{}])
    note = "TRTEngineOp_000_000_0a1b2c3d for [[8,16,16,3], [8,2]] ..."
    assert f"serving_default: building engines: {note}" in shown(stream.getvalue())


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
    assert LOG_BUILDS in logged["convert_signatures"].split(",")
