"""Tests bisection within a conversion: which errors count as a difference, and where the ranges of
INT8 come from."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from copied_models import SHAPES, Model, X, here, left_in, save

from converters import ConversionSpec
from converters.repeat_check import check_unchanged
from converters.util.errors import (
    CalibrationError,
    ConverterError,
    CrashError,
    EngineError,
    ModelError,
    NotInt8Error,
    OutputError,
    UnavailableError,
    VerificationDataError,
    VerificationError,
)

pytest_plugins = ["copied_tftrt"]  # fixture tftrt

# The nodes in engines. Outputs differ as long as the second convolution is among them.
NODES = {"one": "Conv2D", "two": "Conv2D", "three": "Relu", "four": "Sigmoid"}


@pytest.fixture
def trials(
    tmp_path: Path, tftrt: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Makes every trial with the second convolution in an engine raise `result["error"]`, which the
    test sets. The first conversion gives a model with other outputs."""
    source, other = save(tmp_path / "model"), save(tmp_path / "other", Model(offset=0.5))
    monkeypatch.setattr("converters.denylist_search.nodes_in_engines", lambda graph_def: NODES)
    result: dict[str, Any] = {"source": source, "out": tmp_path / "out"}

    def converted(spec: ConversionSpec) -> Path | None:
        if "two" in spec.node_denylist or "Conv2D" in spec.op_denylist:
            return None
        if spec.op_denylist or spec.node_denylist:
            raise result["error"]
        return other

    tftrt["model"] = converted
    return result


@pytest.mark.parametrize("kind", [EngineError, VerificationError, NotInt8Error, CrashError])
def test_what_a_denylist_can_cause_counts_as_a_difference(
    trials: dict[str, Any], kind: type[ConverterError]
) -> None:
    trials["error"] = kind("of this trial")
    spec = ConversionSpec("FP16", input_shapes=SHAPES)
    report = here(trials["source"], trials["out"], spec, bisect=True)
    assert report.denylist["node_denylist"] == ["two"]
    assert report.verification.passed


@pytest.mark.parametrize(
    "error",
    [
        OutputError("out cannot be written"),
        UnavailableError("the GPU is gone"),
        CalibrationError("the table is another model's"),
        ModelError("the model is gone"),
        VerificationDataError("the data is empty"),
        ConverterError("the child process failed: MemoryError"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_it_cannot_cause_ends_the_search(
    tmp_path: Path, trials: dict[str, Any], error: ConverterError
) -> None:
    trials["error"] = error
    spec = ConversionSpec("FP16", input_shapes=SHAPES)
    with pytest.raises(type(error)) as caught:
        here(trials["source"], trials["out"], spec, bisect=True)
    assert type(caught.value) is type(error) and str(caught.value) == str(error)
    assert left_in(tmp_path) == ["model", "other"]


@pytest.mark.parametrize("kind", [CrashError, EngineError, ConverterError])
def test_a_full_disk_ends_the_search(
    tmp_path: Path, trials: dict[str, Any], kind: type[ConverterError]
) -> None:
    trials["error"] = kind("the last that it said:\n  OSError: [Errno 28] No space left on device")
    spec = ConversionSpec("FP16", input_shapes=SHAPES)
    with pytest.raises(OutputError, match="cannot be written: .* MB are free there"):
        here(trials["source"], trials["out"], spec, bisect=True)
    assert left_in(tmp_path) == ["model", "other"]


class Detector(Model):
    """Its output has the values above a threshold: none of random inputs, which are below 1."""

    def __init__(self, threshold: float) -> None:
        super().__init__()
        self.threshold = threshold

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"found": tf.boolean_mask(x, x > self.threshold)}


def test_nothing_to_compare_is_no_difference(
    tmp_path: Path, tftrt: dict[str, Any], trials: dict[str, Any]
) -> None:
    source, spec = save(tmp_path / "detector", Detector(1)), ConversionSpec(input_shapes=SHAPES)
    tftrt["model"] = source
    with pytest.raises(VerificationDataError, match="'found': nothing was compared: .* is empty"):
        here(source, trials["out"], spec, bisect=True)
    assert len(tftrt["calls"]) == 1  # There was no bisection.
    # Real inputs are the cure.
    data = [X[:4] + 1]
    report = here(source, trials["out"], spec, bisect=True, verify_data=data)
    assert report.verification.passed and "found" in str(report)
    # It also ends a search that began with a difference.
    other = save(tmp_path / "eager", Detector(0.5))
    tftrt["model"] = lambda spec: None if spec.op_denylist else other
    with pytest.raises(VerificationDataError, match="nothing was compared"):
        here(source, tmp_path / "no", spec, bisect=True)
    assert len(tftrt["calls"]) == 1 + 1 + 2


@pytest.mark.parametrize("data", [None, [X[:4], X[4:8]]], ids=["no data", "data"])
def test_a_table_serves_engines_that_are_cut_otherwise(
    tmp_path: Path, tftrt: dict[str, Any], trials: dict[str, Any], data: Any
) -> None:
    trials["error"] = NotInt8Error("of this trial")
    table = tmp_path / "x.calib_table"
    table.write_text("TRT-8600-EntropyCalibration2\nx: 3c010a14\ny: 3f800000\n")
    text = table.read_text()
    spec = ConversionSpec("INT8", input_shapes=SHAPES, calibration_table=str(table))
    report = here(trials["source"], trials["out"], spec, bisect=True, calibration_data=data)
    assert report.denylist["node_denylist"] == ["two"]
    first, *later = tftrt["calls"]
    assert first["calibrated"] is None and not first["calibration"]
    # The first call returned this as the ranges of the calibrated graph.
    of_graph = {"serving_default": {"signature": "serving_default"}}
    assert len(later) > 3
    for call in later:
        assert call["calibrated"] == of_graph
        assert bool(call["calibration"]) == (data is not None)
    # The original table stays. A new one, for the new engines, lets repeat.sh repeat the
    # conversion.
    assert table.read_text() == text
    kept = trials["out"] / "calibration.calib_table"
    assert kept.read_text() == "TRT-8600-EntropyCalibration2\nx: 3c010a14\n"
    record = json.loads((trials["out"] / "conversion.json").read_text())
    assert record["spec"]["calibration_table"] == str(kept)
    assert report.spec.calibration_table == str(kept)
    script = (trials["out"] / "repeat.sh").read_text()
    assert "cannot be repeated" not in script
    assert script.endswith(' --calibration-table "$here/calibration.calib_table"\n')
    table.write_text("of something else by now")
    check_unchanged(record, trials["source"], {})
    again = here(trials["source"], tmp_path / "again", ConversionSpec.from_json(record["spec"]))
    assert again.verification.passed
    assert tftrt["calls"][-1]["tables"] == {"": kept.read_text()}


def test_measured_ranges_are_measured_again(
    tmp_path: Path, tftrt: dict[str, Any], trials: dict[str, Any]
) -> None:
    trials["error"] = NotInt8Error("of this trial")
    spec = ConversionSpec("INT8", input_shapes=SHAPES)
    table = tmp_path / "x.calib_table"
    for made in (spec, dataclasses.replace(spec, calibration_table=str(table))):
        out = trials["out"].with_name(f"out{made.calibration_table is None}")
        here(trials["source"], out, made, bisect=True, calibration_data=[X[:4]])
        assert not (out / "calibration.calib_table").exists()
    assert table.exists()
    assert all(call["calibrated"] is None and call["calibration"] for call in tftrt["calls"])
