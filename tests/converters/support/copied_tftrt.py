"""Makes conversions run without a GPU. Instead of converting, TF-TRT only copies the model."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from converters import ConversionSpec
from converters.checks.fresh_check import FreshReport, ShapeRun, fresh_check
from converters.inputs.batch_files import read_spool
from converters.model.trt_graph import load_graph
from converters.tftrt import engine_job
from converters.tftrt.spec_for_model import declared_shapes
from converters.util.shapes import shapes_of


@pytest.fixture
def tftrt(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Lets a conversion copy the model, without TF-TRT.

    A test may set `result["model"]` to another model, or to a function that makes one from the
    spec, and `result["engines"]` to names of engines. `result["calls"]` keeps the calls.
    """
    result: dict[str, Any] = {"model": None, "calls": [], "engines": []}

    def convert_signatures(**arguments: Any) -> dict[str, Any]:
        # A copy, because the conversion may change its own dict later.
        result["calls"].append({**arguments, "calibration": dict(arguments["calibration"])})
        spec = ConversionSpec.from_json(arguments["spec"])
        loaded = load_graph(arguments["saved_model"], spec.tags)
        found = {}
        for name in arguments["signatures"]:
            spool = arguments["calibration"].get(name)
            batches = list(read_spool(spool)()) if spool else []
            built = arguments["building"].get(name)
            shape = shapes_of(batches[0]) if batches else None
            found[name] = {
                "converter": "copy",
                "engines": list(result["engines"]),
                "tables": {"TRTEngineOp_000_000": "TRT-8600-EntropyCalibration2\nx: 3c010a14\n"}
                if batches or arguments["tables"]
                else {},
                "calibrated": {"signature": name},
                "shapes": [shapes_of(batch) for batch in read_spool(built)()]
                if built
                else declared_shapes(spec, loaded.signatures[name], shape),
            }
        if arguments["save"]:
            chosen = result["model"](spec) if callable(result["model"]) else result["model"]
            source = chosen or arguments["saved_model"]
            shutil.copytree(source, arguments["folder"], dirs_exist_ok=True)
        if "raise" in result:
            raise result["raise"]
        return {"signatures": found, "timings": [["copying", 0.5]]}

    monkeypatch.setattr(engine_job, "convert_signatures", convert_signatures)
    monkeypatch.setattr(engine_job, "check_environment", lambda: {"tensorrt_loaded": "8.6.0"})

    # A real fresh process takes seconds to import TensorFlow, and few tests need one.
    def fresh(folder: Path, requests: Any, tags: Any) -> FreshReport:
        ran = tuple(result["engines"])
        runs = tuple(ShapeRun(name, shapes, 0.1, ran, (), ()) for name, shapes, _ in requests)
        return FreshReport(0.1, 0.1, runs)

    monkeypatch.setattr("converters.conversion_stages.fresh_check", fresh)
    return result


@pytest.fixture
def in_a_fresh_process(tftrt: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Undoes a part of `tftrt`: a real fresh process runs every shape."""
    monkeypatch.setattr("converters.conversion_stages.fresh_check", fresh_check)
