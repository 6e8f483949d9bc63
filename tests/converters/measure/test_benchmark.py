"""benchmark on the CPU. Most tests run the children's job in this process, which is quick; the slow
ones start real children."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from copied_models import keras_file, save, session_graph

from converters import MeasureError, ModelError, UnavailableError, benchmark
from converters.checks.fresh_check import FreshReport, ShapeRun
from converters.measure import benchmark as module
from converters.measure import subject
from converters.measure.subject import is_plan, open_subject
from converters.util.errors import EngineError

QUICK: dict[str, Any] = {"seconds": 0.05, "warm_up": 0.0, "progress": False}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("benchmark") / "model")


def check_figures(report: Any) -> None:
    for cell in report.cells:
        for figures in filter(None, (cell.model, cell.original)):
            latency = figures.latency_ms
            assert 0 < latency.median <= latency.p95 <= latency.p99 <= latency.max
            assert figures.requests >= 20
            rate = cell.batch * figures.requests / figures.seconds
            assert figures.items_per_s == pytest.approx(rate)
            assert len(figures.rounds) == 5
            # A caller with one request in flight is never idle.
            busy = cell.callers * 1e3 * figures.seconds
            if report.queued == 1:
                assert figures.requests * latency.mean <= 1.01 * busy


def test_cells_are_shapes_by_callers(model: Path, here: None) -> None:
    report = benchmark(model, batch_sizes=[1, 8], concurrency=[1, 2], **QUICK)
    found = [(dict(cell.shapes), cell.batch, cell.callers) for cell in report.cells]
    assert found == [({"x": (batch, 3)}, batch, callers) for batch in (1, 8) for callers in (1, 2)]
    check_figures(report)
    assert (report.kind, report.signature, report.queued) == ("model", "serving_default", 1)
    assert report.library.startswith("TensorFlow ") and report.original is None
    first = report.first["model"]
    assert first.request_s > 0 and first.load_s > 0
    assert first.total_s == first.import_s + first.load_s + first.request_s
    assert all(cell.model.memory is None and cell.speed_up is None for cell in report.cells)


def test_each_cell_runs_for_its_time(model: Path, here: None) -> None:
    report = benchmark(model, seconds=0.3, warm_up=0.0, progress=False)
    assert 0.3 <= report.cells[0].model.seconds < 3.0


def test_queued_requests(model: Path, here: None) -> None:
    report = benchmark(model, queued=4, inputs="host", **QUICK)
    check_figures(report)
    assert (report.queued, report.inputs) == (4, "host")


def test_memory_of_the_process(model: Path, here: None) -> None:
    use = benchmark(model, memory=True, **QUICK).cells[0].model.memory
    assert use is not None and use.source == "the process"
    assert 10_000_000 < use.held <= use.peak and use.loaded > 10_000_000


def test_few_requests_are_noted(model: Path, here: None) -> None:
    report = benchmark(model, seconds=1e-6, warm_up=0.0, progress=False)
    assert report.cells[0].model.requests == 20
    assert "1 of 1 cells have fewer than 100 requests" in report.notes[0]


def test_requests_take_the_data_in_turn(here: None, tmp_path: Path) -> None:
    """The model fails at a batch of zeros, which is the second."""

    class Picky(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
        def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            with tf.control_dependencies([tf.debugging.assert_positive(x, "a zero came")]):
                return {"y": x + 1.0}

    net = Picky()
    tf.saved_model.save(net, str(tmp_path / "picky"), signatures=net.serve)
    rows = np.ones((8, 3), np.float32)
    report = benchmark(tmp_path / "picky", data=rows, batch_sizes=[4], **QUICK)
    assert report.cells[0].shapes == {"x": (4, 3)}
    rows[4:] = 0
    with pytest.raises(MeasureError, match=r"(?s)failed at a request of x:4x3.*a zero came"):
        benchmark(tmp_path / "picky", data=rows, batch_sizes=[4], **QUICK)


def test_strings_need_data(here: None, tmp_path: Path) -> None:
    net = tf.Module()
    net.serve = tf.function(
        lambda names: {"lengths": tf.strings.length(names)},
        input_signature=[tf.TensorSpec([None], tf.string, "names")],
    )
    tf.saved_model.save(net, str(tmp_path / "words"), signatures=net.serve)
    with pytest.raises(MeasureError, match="'names' takes strings"):
        benchmark(tmp_path / "words", **QUICK)
    words = np.array([b"one", b"three"], object)
    report = benchmark(tmp_path / "words", data=words, **QUICK)
    assert report.cells[0].shapes == {"names": (2,)}
    check_figures(report)


def test_models_that_are_no_saved_model(here: None, tmp_path: Path) -> None:
    session_graph(tmp_path)
    frozen = benchmark(tmp_path / "frozen.pb", outputs=["y"], batch_sizes=[4], **QUICK)
    assert frozen.model == str(tmp_path / "frozen.pb")
    keras = benchmark(keras_file(tmp_path / "net.keras"), batch_sizes=[4], **QUICK)
    for report in (frozen, keras):
        assert report.cells[0].batch == 4
        check_figures(report)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"signature": "nope"}, ModelError, "no signature 'nope'; it has: serving_default"),
        ({"shapes": {"x": (4, 5)}}, MeasureError, "the shape 4x5 does not fit"),
        ({"shapes": {"x": (4, 3)}, "data": "x.npy"}, MeasureError, "shapes or data, not both"),
        ({"concurrency": []}, MeasureError, "concurrency is"),
        ({"concurrency": [2, 0]}, MeasureError, "concurrency is"),
        ({"batch_sizes": [1, 1]}, MeasureError, "batch_sizes is .* comes once"),
        ({"queued": 0}, MeasureError, "queued is"),
        ({"seconds": 0.0}, MeasureError, "seconds is 0.0"),
        ({"seconds": float("inf")}, MeasureError, "seconds is inf"),
        ({"warm_up": -1.0}, MeasureError, "warm_up is -1.0"),
        ({"max_latency_ms": 0.0}, MeasureError, "max_latency_ms is 0.0"),
        ({"seed": -1}, MeasureError, "seed is -1"),
        ({"inputs": "disk"}, MeasureError, "inputs is 'disk'; it is one of device, host"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(
    model: Path, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        benchmark(model, **{"progress": False, **options})


def test_models_that_are_missing_or_have_other_inputs(model: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nowhere does not exist"):
        benchmark(tmp_path / "nowhere", progress=False)
    net = tf.Module()
    net.serve = tf.function(
        lambda image: {"y": image}, input_signature=[tf.TensorSpec([None, 3], tf.float32, "image")]
    )
    tf.saved_model.save(net, str(tmp_path / "other"), signatures=net.serve)
    with pytest.raises(MeasureError, match="their inputs need the same names"):
        benchmark(model, tmp_path / "other", progress=False)


def test_several_signatures(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", one="serve", two="twice")
    with pytest.raises(ModelError, match="several signatures: say which"):
        benchmark(folder, progress=False)
    assert open_subject(folder, tmp_path / "work", "two").signature == "two"


@pytest.mark.skipif(
    importlib.util.find_spec("tensorrt") is not None, reason="TensorRT's Python package is here"
)
def test_a_plan_without_tensorrt(tmp_path: Path) -> None:
    (tmp_path / "engine.plan").write_bytes(b"ftrt" + bytes(40))
    with pytest.raises(UnavailableError, match="Install tensorrt==8.6.0"):
        benchmark(tmp_path / "engine.plan", progress=False)


def test_plans_are_known_by_name_or_content(tmp_path: Path) -> None:
    (tmp_path / "x.plan").write_bytes(b"")
    (tmp_path / "x.bin").write_bytes(b"ftrt123")
    (tmp_path / "x.pb").write_bytes(b"")
    (tmp_path / "folder.trt").mkdir()
    found = {path.name: is_plan(path) for path in sorted(tmp_path.iterdir())}
    assert found == {"x.plan": True, "x.bin": True, "x.pb": False, "folder.trt": False}
    assert not is_plan(tmp_path) and not is_plan(tmp_path / "nowhere")


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, ...]]:
    """Lets the model count as converted, and says what its engines did in the fresh process."""
    events: dict[str, tuple[str, ...]] = {"built": (), "native": ()}
    monkeypatch.setattr(subject, "engine_nodes", lambda graph: ["an engine"])

    def check(folder: Path, requests: Any, tags: Any) -> FreshReport:
        assert [Path(request.file).exists() for request in requests] == [True] * len(requests)
        runs = [
            ShapeRun(request.signature, request.shapes, 0.1, ("TRTEngineOp_000_000",), **events)
            for request in requests
        ]
        return FreshReport(0.1, 0.1, tuple(runs))

    monkeypatch.setattr(module, "fresh_check", check)
    return events


def test_tensorflow_in_place_of_an_engine_is_an_error(
    model: Path, here: None, engines: dict[str, tuple[str, ...]]
) -> None:
    engines["native"] = ("TRTEngineOp_000_000",)
    with pytest.raises(EngineError) as caught:
        benchmark(model, batch_sizes=[4, 8], **QUICK)
    said = str(caught.value)
    assert "TensorFlow ran in place of engines" in said and "--shape" in said
    assert "x:4x3: TRTEngineOp_000_000" in said and "x:8x3: TRTEngineOp_000_000" in said


def test_an_engine_that_is_built_at_the_first_request_is_noted(
    model: Path, here: None, engines: dict[str, tuple[str, ...]]
) -> None:
    engines["built"] = ("TRTEngineOp_000_000",)
    report = benchmark(model, concurrency=[1, 2], **QUICK)
    (note,) = [text for text in report.notes if "built" in text]
    assert note.startswith(f"{model} built TRTEngineOp_000_000 for x:1x3")


def test_a_request_that_no_engine_serves(
    model: Path, here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child forbids TensorFlow to run in place of an engine. This is TensorFlow's error."""
    from converters.measure.model_requests import ModelRequests

    def send(self: Any, caller: int) -> None:
        raise tf.errors.AbortedError(None, None, "User disallowed engine native segment execution")

    monkeypatch.setattr(ModelRequests, "send", send)
    with pytest.raises(EngineError, match="no engine serves x:1x3: TensorFlow would run"):
        benchmark(model, **QUICK)


@pytest.mark.slow
@pytest.mark.serial
def test_a_model_against_itself_in_two_children(model: Path) -> None:
    report = benchmark(
        model,
        model,
        batch_sizes=[1, 64],
        concurrency=[1, 2],
        seconds=1.0,
        warm_up=0.2,
        memory=True,
        max_latency_ms=1000.0,
        progress=False,
    )
    check_figures(report)
    for cell in report.cells:
        assert cell.speed_up == pytest.approx(1.0, rel=0.5)
        assert cell.original is not None and cell.original.memory is not None
    # The children import TensorFlow, which this process has long done.
    assert report.first["model"].import_s > 0.5 and report.first["original"].import_s > 0.5
    assert report.best is not None and report.cells[report.best].batch == 64
    assert json.loads(json.dumps(report.to_json()))["original"] == str(model)


@pytest.mark.slow
def test_a_model_that_fails_in_its_child(model: Path, tmp_path: Path) -> None:
    broken = save(tmp_path / "broken")
    (broken / "variables" / "variables.index").unlink()
    with pytest.raises(ModelError, match="cannot be loaded"):
        benchmark(model, broken, **QUICK)
