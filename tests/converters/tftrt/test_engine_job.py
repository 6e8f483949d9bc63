"""Tests when a conversion loads TensorRT's kernels, and which shapes it builds. The tests replace
TF-TRT, so they need no GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from trt_graphs import SEGMENTED

from converters import ConversionSpec
from converters.inputs.batch_files import write_spool
from converters.model.trt_graph import load_graph
from converters.tftrt import engine_job

SHAPES = {"x": (2, 3)}


@pytest.fixture
def model(tmp_path: Path) -> str:
    module = tf.Module()
    module.serve = tf.function(
        lambda x: {"y": x + 1.0}, input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")]
    )
    tf.saved_model.save(module, str(tmp_path / "model"), {"serving_default": module.serve})
    return str(tmp_path / "model")


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces TF-TRT. Returns the steps of a conversion in the order in which they happen."""
    said: list[str] = []

    class MadeUp:
        converter, node_names = "made up", ("a",)

        def __init__(self, *_: Any, **options: Any) -> None:
            converted = load_graph(SEGMENTED / "two_engines").graph_def
            self.graph_def = tf.compat.v1.GraphDef() if "empty" in said else converted

        def convert(self, *_: Any) -> None:
            said.append("convert")

        def build(self, *_: Any) -> None:
            said.append("build")

        def tables(self) -> dict[str, str]:
            return {}

    @contextlib.contextmanager
    def kernels_kept() -> Iterator[Callable[[], bool]]:
        def keep() -> bool:
            said.append("load")
            return True

        yield keep
        said.append("drop")

    for name in ("SignatureV1", "SignatureV2"):
        monkeypatch.setattr(engine_job, name, MadeUp)
    monkeypatch.setattr(engine_job, "kernels_kept", kernels_kept)
    monkeypatch.setattr(engine_job._Job, "save", lambda *_: said.append("save"))
    return said


def convert(
    model: str,
    folder: Path,
    calibration: dict[str, str],
    calibrated: dict[str, Any] | None = None,
    **spec: Any,
) -> Any:
    folder.mkdir()
    return engine_job.convert_signatures(
        saved_model=model,
        folder=str(folder),
        spec=ConversionSpec(**{"input_shapes": SHAPES, **spec}).to_json(),
        signatures=["serving_default"],
        kept=[],
        calibration=calibration,
        tables=None,
        progress=False,
        allow_none=True,
        calibrated=calibrated,
    )["signatures"]["serving_default"]


def test_kernels_are_loaded_before_engines_are_built_and_dropped_before_saving(
    model: str, events: list[str], tmp_path: Path
) -> None:
    convert(model, tmp_path / "dynamic", {}, precision="FP16")
    assert events == ["convert", "load", "build", "drop", "save"]
    events.clear()
    convert(model, tmp_path / "static", {}, precision="FP16", mode="static")
    assert events == ["load", "convert", "drop", "save"]
    events.clear()
    spool = tmp_path / "spool"
    write_spool(spool, [{"x": np.zeros(SHAPES["x"], np.float32)}])
    convert(model, tmp_path / "int8", {"serving_default": str(spool)}, precision="INT8")
    assert events == ["load", "convert", "build", "drop", "save"]


def test_kernels_are_not_loaded_for_nothing(model: str, events: list[str], tmp_path: Path) -> None:
    events.append("empty")
    convert(model, tmp_path / "out", {}, precision="FP16")
    assert events == ["empty", "convert", "drop", "save"]


def test_data_beside_ranges_declares_no_shapes(
    model: str, events: list[str], tmp_path: Path
) -> None:
    """In a bisection with a table, the first conversion has no data, and the trials may have some.
    The trials must build the same shapes as the first one, not those of the data."""
    spool = tmp_path / "spool"
    write_spool(spool, [{"x": np.zeros(SHAPES["x"], np.float32)}])
    data = {"serving_default": str(spool)}
    header = "TRT-8600-EntropyCalibration2\n"
    ranges = {"scales": header, "tables": [], "segments": [], "ranged": []}
    spec: dict[str, Any] = {
        "precision": "INT8",
        "input_shapes": None,
        "allow_build_at_runtime": True,
    }
    first = convert(model, tmp_path / "first", {}, **spec)
    assert first["shapes"] == []
    for name, known in (("ranges", ranges), ("none", None)):
        told = {"serving_default": known}
        trial = convert(model, tmp_path / name, data, told, **spec)
        assert trial["shapes"] == first["shapes"]
    measured = convert(model, tmp_path / "measured", data, **spec)
    assert measured["shapes"] == [SHAPES]
