"""inspect takes odd inputs: models that the segmenter cannot read, unusual paths, and records of
other models."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from copied_models import save, session_graph
from trt_graphs import SEGMENTED, GraphMaker

from converters.model.trt_graph import load_graph
from converters.report.inspect_model import inspect_model
from converters.segments.segmenter import _last_lines
from converters.util.errors import ModelError, UnavailableError

TEXT = """\
2024-01-01 00:00:00.1: I tensorflow/core/platform/cpu_feature_guard.cc:210] This binary is optimized
To enable the following instructions: AVX512F, rebuild TensorFlow with the appropriate flags.
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1700000000.000000 1 devices.cc:67] Number of eligible GPUs: 0
Traceback (most recent call last):
  File "segmenter_child.py", line 100, in <module>
    main(sys.argv[1])
converters.errors.ModelError: a.pb is damaged.
Copy it again.
2024-01-01 00:00:00.2: W tensorflow/core/a.cc:1] at the end
"""


def bare(folder: Path) -> Path:
    tf.saved_model.save(tf.Module(), str(folder / "bare"))
    return folder / "bare"


@pytest.mark.parametrize("make", [lambda folder: session_graph(folder)[1], bare])
def test_what_the_segmenter_cannot_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    inspect = sys.modules[inspect_model.__module__]
    monkeypatch.setattr(inspect, "tftrt_is_compiled_in", lambda: True)
    monkeypatch.setattr(inspect, "ask_segmenter", lambda *_, **__: pytest.fail("it was asked"))
    model = make(tmp_path)
    report = inspect_model(model)
    assert not any("because" in note for note in report.notes)
    with pytest.raises(UnavailableError, match=r"cannot be asked about .*: a (MetaGraph|SavedMod)"):
        inspect_model(model, ask=True)


def test_the_last_lines_are_the_error() -> None:
    assert _last_lines(TEXT) == "converters.errors.ModelError: a.pb is damaged. / Copy it again."
    assert _last_lines(TEXT[: TEXT.index("Traceback")] + "no signature 'a'\n") == "no signature 'a'"
    assert _last_lines(TEXT[: TEXT.index("Traceback")]) == "it said nothing"
    fatal = "2026-11-23 10:00:00.1: F tensorflow/segment.cc:77] Check failed: a == b"
    assert _last_lines(TEXT[: TEXT.index("Traceback")] + fatal + "\n") == fatal


@pytest.mark.parametrize("text", ['{"spec": {"precision": "INT8"}}', "no json"])
def test_a_record_beside_a_graph_is_of_another_model(tmp_path: Path, text: str) -> None:
    path = Path(shutil.copy(SEGMENTED / "frozen_native.pb", tmp_path))
    (tmp_path / "conversion.json").write_text(text)
    (tmp_path / "left_out.serving_default.csv").write_text("no report")
    plain = inspect_model(SEGMENTED / "frozen_native.pb", ask=False)
    report = inspect_model(path, ask=False)
    assert [e.precision for e in report.engines] == [e.precision for e in plain.engines]
    given = inspect_model(path, ask=False, record={"spec": {"precision": "FP16"}})
    assert {engine.precision for engine in given.engines} == {"FP16"}


def trt_inspect(*arguments: Any, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "converters", "inspect", *arguments, "--no-ask"],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )


def test_names_that_stdout_cannot_show(tmp_path: Path) -> None:
    model = save(tmp_path / "\u4e2d")
    done = trt_inspect(model, PYTHONIOENCODING="ascii")
    assert (done.returncode, b"\\u4e2d" in done.stdout) == (0, True), done.stderr
    assert b"Traceback" not in done.stderr


def test_a_path_that_is_no_utf_8(tmp_path: Path) -> None:
    model = save(tmp_path / "model").rename(os.fsdecode(os.fsencode(tmp_path) + b"/m\xff"))
    page = tmp_path / "page.html"
    done = trt_inspect(model, "--html", page, "--json")
    assert done.returncode == 0, done.stderr
    assert "m\\udcff" in page.read_text("utf-8")
    json.loads(done.stdout)


def test_a_function_that_calls_itself(tmp_path: Path) -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    call = maker.graph.node.add(name="call", op="PartitionedCall", input=["x"])
    function = maker.graph.library.function.add()
    function.signature.name = "again"
    function.signature.input_arg.add(name="a").type = 1
    function.signature.output_arg.add(name="r").type = 1
    inner = function.node_def.add(name="inner", op="PartitionedCall", input=["a"])
    function.ret["r"] = "inner:output:0"
    for node in (call, inner):
        node.attr["f"].func.name = "again"
    path = maker.write(tmp_path / "graph.pb")
    assert load_graph(path)
    with pytest.raises(ModelError, match=r"graph\.pb: a function calls itself"):
        inspect_model(path, ask=False)
