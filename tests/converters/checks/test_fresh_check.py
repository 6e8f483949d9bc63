"""engine_use finds shapes that no engine serves, and says what it could not find out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from converters.checks import fresh_check as module
from converters.checks.fresh_check import MOST_SHAPES, FreshReport, ShapeRun, engine_use, events
from converters.checks.runnable import FrozenGraph
from converters.checks.verify import verify
from converters.util.errors import CrashError, EngineError, VerificationError

LOG = """trt-convert: serving_default
I trt_engine_op.cc:5] Executing TRT engine: TRTEngineOp_000_000_ab
trt-convert: serving_default
I trt_engine_op.cc:7] Executing native segment: PartitionedCall/TRTEngineOp_000_000_ab
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    net = tf.Module()
    net.serve = tf.function(
        lambda x: {"y": tf.matmul(x, np.ones((3, 2), np.float32))},
        input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")],
    )
    net.words = tf.function(
        lambda names: {"lengths": tf.strings.length(names)},
        input_signature=[tf.TensorSpec([None], tf.string, "names")],
    )
    signatures = {"serving_default": net.serve, "words": net.words}
    tf.saved_model.save(net, str(tmp_path / "model"), signatures=signatures)
    return tmp_path / "model"


def with_engine(folder: Path) -> Path:
    """Turns the model's MatMul into a TRTEngineOp by editing its file. Such a model can be read,
    but not run."""
    from tensorflow.core.protobuf import saved_model_pb2

    path = folder / "saved_model.pb"
    message = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for function in message.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            if node.op == "MatMul":
                node.op = "TRTEngineOp"
    path.write_bytes(message.SerializeToString())
    return folder


def sets(*batches: int) -> list[dict[str, tuple[int, ...]]]:
    return [{"x": (batch, 3)} for batch in batches]


@pytest.fixture
def serves(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Replaces the fresh process. The test puts the batches that the engine serves into this
    list."""
    batches: list[int] = []

    def check(folder: Path, requests: Sequence[Any], tags: Any) -> FreshReport:
        runs = []
        for name, shapes, _ in requests:
            ran = shapes["x"][0] in batches
            part = events(LOG)[0 if ran else 1]
            runs.append(ShapeRun(name, shapes, 0.1, part["engine"], part["built"], part["native"]))
        return FreshReport(0.1, 0.1, tuple(runs))

    monkeypatch.setattr(module, "fresh_check", check)
    return batches


def test_no_shape_that_an_engine_serves(model: Path, serves: list[int]) -> None:
    use = engine_use(with_engine(model), {"serving_default": sets(4, 5)})
    assert len(use.native) == 1 and not use.notes
    assert "no engine serves x:4x3; x:5x3" in use.native[0]


def test_some_shapes(model: Path, serves: list[int]) -> None:
    serves += [4, 8]
    use = engine_use(with_engine(model), {"serving_default": sets(4, 5)})
    assert not use.native
    assert use.notes == (
        "signature 'serving_default': TensorFlow ran instead of engines for x:5x3",
    )
    assert engine_use(model, {"serving_default": sets(4, 8)}) == module.EngineUse()


def test_what_is_known_to_be_served_is_not_run(model: Path, serves: list[int]) -> None:
    known = {"serving_default": sets(4)}
    assert engine_use(with_engine(model), known, served=known) == module.EngineUse()
    use = engine_use(model, {"serving_default": sets(4, 5)}, served=known)
    assert not use.native and "x:5x3" in use.notes[0]
    # The shape that an engine serves is not among those that were compared.
    assert engine_use(model, {"serving_default": sets(5)}, served=known).native


def test_many_shapes_and_strings(model: Path, serves: list[int]) -> None:
    serves += range(1, 100)
    shapes: Any = {"serving_default": sets(*range(1, 30)), "words": [{"names": (2,)}]}
    use = engine_use(with_engine(model), shapes)
    assert not use.native
    assert use.notes == (
        f"signature 'serving_default': of 29 shapes, {MOST_SHAPES} were looked up in the engines",
        "signature 'words' takes strings: whether its engines ran is not known",
    )


def test_models_without_engines_are_not_run(model: Path) -> None:
    shapes = {"serving_default": sets(4)}
    assert engine_use(model, shapes) == module.EngineUse()
    assert engine_use(lambda x: x, shapes) == module.EngineUse()


def test_where_the_engines_cannot_run_that_is_said(model: Path) -> None:
    """This test starts a real fresh process. No TensorFlow can run the engine of this model."""
    use = engine_use(with_engine(model), {"serving_default": sets(4)})
    assert not use.native
    assert len(use.notes) == 1 and "was not checked: " in use.notes[0]


@pytest.mark.parametrize("error", [CrashError("SIGSEGV"), EngineError("no log")])
def test_a_process_that_crashed_is_no_note(
    model: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def check(*_: Any) -> FreshReport:
        raise error

    monkeypatch.setattr(module, "fresh_check", check)
    with pytest.raises(type(error), match=str(error)):
        engine_use(with_engine(model), {"serving_default": sets(4)})


def test_a_frozen_graph_with_an_engine(tmp_path: Path) -> None:
    node = {"name": "TRTEngineOp_000_000", "op": "TRTEngineOp"}
    path = tmp_path / "frozen.pb"
    path.write_bytes(tf.compat.v1.GraphDef(node=[node]).SerializeToString())
    use = engine_use(FrozenGraph(path, ["y"]), {"serving_default": sets(4)})
    assert "was not checked: a frozen graph" in use.notes[0]


def test_verify_fails_and_says_why(
    model: Path, serves: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "engine_nodes", lambda graph: ["one"])
    data = [np.ones((5, 3), np.float32), np.ones((5, 3), np.float32)]
    arguments: dict[str, Any] = {"signatures": ["serving_default"], "precision": "FP32"}
    report = verify(model, model, data, **arguments)
    assert not report.passed
    assert not any(output.failures for output in report.outputs)
    with pytest.raises(VerificationError, match="proves nothing of the engines") as caught:
        report.raise_if_failed()
    assert "Give data of the shapes" in str(caught.value)
    assert "no engine serves x:5x3" in str(report)
    assert report.to_json()["native"] == list(report.native)
    assert verify(model, model, data, **arguments, check_engines=False).passed
    serves.append(5)
    assert verify(model, model, data, **arguments).passed
