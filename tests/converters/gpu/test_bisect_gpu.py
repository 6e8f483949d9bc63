"""Bisection finds the op that overflows half precision, keeps it out of TensorRT and writes it to a
denylist. With a calibration table, all tensors keep their ranges when the engines change."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gpu_models
import numpy as np
import pytest

from converters import ConversionSpec, calibrate, convert, convert_model
from converters.denylist_search import Denylist
from converters.int8.calibration_table import CalibrationTable, read_tables
from converters.model.trt_graph import engine_nodes, load_graph
from converters.spec.thresholds import default_thresholds
from converters.util.errors import VerificationError

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(1200)]

SHAPE = (16, 28, 28, 64)


def test_an_overflow_is_found_and_kept_out(tmp_path: Path) -> None:
    source = gpu_models.save_loud(tmp_path / "loud")
    data = [np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)]
    # Segments may have any size: an op next to a denied one must not stay native because its
    # segment is small. The thresholds are those for random inputs, because the weights are random:
    # for one of the 16 images, two classes nearly tie, and any rounding decides between them.
    spec = ConversionSpec(
        "FP16",
        input_shapes={"image": SHAPE},
        minimum_segment_size=1,
        thresholds=default_thresholds("FP16", generated=True),
    )
    with pytest.raises(VerificationError, match="differs from the native one at FP16"):
        convert(source, tmp_path / "none", spec, verify_data=data, child=False)
    assert not (tmp_path / "none").exists()
    report = convert(source, tmp_path / "out", spec, verify_data=data, bisect=True, child=False)
    assert report.verification.passed and report.fresh.passed
    found = Denylist.read(tmp_path / "out" / "denylist.json")
    assert not found.op_denylist  # Other convolutions stay in TensorRT.
    # At least one of the two must be out, so that they do not share an engine at half precision. It
    # depends on TensorRT's kernels which one that is, and whether another convolution must be out.
    kept_out = {name.split("/")[-1] for name in found.node_denylist}
    assert kept_out & {"loud", "quiet"}
    assert found.provenance["minimal"]
    assert report.spec.node_denylist == found.node_denylist
    assert report.denylist == found.to_json()
    inside = {
        name.split("/")[-1]
        for engine in engine_nodes(load_graph(tmp_path / "out").graph_def)
        for name in engine.node_names
    }
    assert inside & {"first", "loud", "quiet", "last"} and not inside & kept_out


def test_a_table_serves_the_engines_of_each_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison is made up: outputs differ as long as one Relu in the middle is in an engine.
    Keeping it out splits this engine in two, and both need their ranges from the table."""
    source = gpu_models.save_cnn(tmp_path / "cnn")
    spec = ConversionSpec(
        "INT8",
        input_shapes={"image": (4, 16, 16, 3)},
        minimum_segment_size=1,
        require_int8=False,  # For so small a network TensorRT has faster kernels.
    )
    random = np.random.default_rng(0)
    data = [random.normal(size=(4, 16, 16, 3)).astype(np.float32) for _ in range(3)]
    table = tmp_path / "cnn.calib_table"
    calibrate(source, table, spec, calibration_data=data, child=False)
    (measured,) = read_tables(table).values()
    relus = [name for name in measured.scales if name.endswith("/Relu")]
    culprit = relus[1]
    real = convert_model.compare

    def compare(plan: Any, built: Any, folder: Path, *args: Any) -> Any:
        engines = engine_nodes(load_graph(folder).graph_def)
        if any(culprit in engine.node_names for engine in engines):
            return SimpleNamespace(native=(), uncompared=False, passed=False)
        return real(plan, built, folder, *args)

    monkeypatch.setattr(convert_model, "compare", compare)
    spec = dataclasses.replace(spec, calibration_table=str(table))
    report = convert(source, tmp_path / "out", spec, bisect=True, child=False)
    assert report.denylist is not None and report.denylist["node_denylist"] == [culprit]
    engines = engine_nodes(load_graph(tmp_path / "out").graph_def)
    assert len(engines) == 2 and {engine.precision for engine in engines} == {"INT8"}
    tables = [CalibrationTable.parse(engine.calibration_table) for engine in engines]
    inputs = {found.scales["TensorRTInputPH_0"] for found in tables}
    assert inputs == {measured.scales["TensorRTInputPH_0"], measured.scales[culprit]}
    for found in tables:
        for name in set(found.scales) & set(relus):
            assert found.scales[name] == measured.scales[name]
    assert sorted(read_tables(tmp_path / "out" / "calibration.calib_table")) == sorted(
        engine.canonical_name for engine in engines
    )
    # The report's spec names the new table, so the model can be converted again with it.
    assert convert(source, tmp_path / "again", report.spec, child=False).fresh.passed
