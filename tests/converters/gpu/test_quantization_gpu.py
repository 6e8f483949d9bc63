"""Converts graphs with quantize nodes of each type that TF-TRT knows. The engines compute in INT8,
and their results are those of TensorFlow."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import gpu_models
import numpy as np
import pytest
import tensorflow as tf
from gpu_conversions import run, spec_of

from converters import ConversionSpec, convert
from converters.int8.calibration_table import CalibrationTable
from converters.int8.quantization import CONVERTED_OPS, EXPLICIT_OP
from converters.model.model_source import freeze
from converters.model.trt_graph import EngineNode, engine_nodes, load_graph
from converters.util.errors import CalibrationError, SpecError

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

SHAPE = (16, 32, 32, 128)


def int8_spec(mode: str) -> ConversionSpec:
    return dataclasses.replace(spec_of("INT8", mode, {"image": SHAPE}), use_calibration=False)


def int8_engine(source: Path, out: Path, spec: ConversionSpec) -> EngineNode:
    """Converts a model and returns its engine, most of whose layers must read INT8."""
    images = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    # A child converts the model, because its log shows which layers read INT8.
    report = convert(source, out, spec, verify_data=[images])
    print(f"{report.calibration['int8_share']:.2f} of the layers read INT8")
    assert report.fresh.passed and report.verification.passed
    assert report.calibration["int8_share"] >= 0.5
    (engine,) = engine_nodes(load_graph(out).graph_def)
    assert engine.precision == "INT8" and not engine.calibration_table
    return engine


@pytest.mark.alone  # Other work on the GPU can make INT8's kernels look slow to TensorRT.
@pytest.mark.parametrize("mode", ["implicit", "explicit"])
@pytest.mark.parametrize("op", CONVERTED_OPS)
def test_each_type_of_quantize_node(tmp_path: Path, op: str, mode: str) -> None:
    source = gpu_models.save_quantized(tmp_path / "model", op)
    if op == EXPLICIT_OP and mode == "implicit":
        with pytest.raises(SpecError, match="Kernels behind such nodes are no constants"):
            convert(source, tmp_path / "out", int8_spec(mode))
        return
    engine = int8_engine(source, tmp_path / "out", int8_spec(mode))
    assert engine.implicit_batch == (mode == "implicit")


def frozen_name(source: Path, name: str) -> str:
    """Returns the full name of a node in the frozen graph."""
    model = tf.saved_model.load(str(source))
    nodes = freeze(model.signatures["serving_default"]).graph.as_graph_def().node
    (found,) = (node.name for node in nodes if node.name.split("/")[-1] == name)
    return found


@pytest.mark.parametrize("mode", ["implicit", "explicit"])
def test_custom_ranges_take_the_place_of_measured_ones(tmp_path: Path, mode: str) -> None:
    """A range that is far too narrow cuts values off, which the engine's results show."""
    plain = ("image", "one", "two", "three")
    source = gpu_models.save_quantized(tmp_path / "model", without=plain)
    images = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    two = frozen_name(source, "two")
    measured = spec_of("INT8", mode, {"image": SHAPE})
    tables, means = {}, {}
    for name in ("measured", "custom"):
        spec = measured
        if name == "custom":
            narrow = tables["measured"].ranges()[two] / 20
            spec = dataclasses.replace(measured, custom_ranges={two: (0.0, narrow)})
        out = tmp_path / name
        report = convert(source, out, spec, calibration_data=[images] * 2, verify=False)
        assert report.fresh.passed and report.calibration["int8_share"] >= 0.5
        (engine,) = engine_nodes(load_graph(out).graph_def)
        tables[name] = CalibrationTable.parse(engine.calibration_table)
        means[name] = run(out, image=images)["features"].mean()
    print(means)
    found = tables["custom"].ranges()
    assert found[two] == pytest.approx(narrow, rel=1e-5)
    one = frozen_name(source, "one")
    assert found[one] == pytest.approx(tables["measured"].ranges()[one], rel=0.02)
    assert means["custom"] < means["measured"] / 2


def test_nodes_and_custom_ranges_together(tmp_path: Path) -> None:
    source = gpu_models.save_quantized(tmp_path / "model", without=("two",))
    with pytest.raises(CalibrationError, match="no range:\n.*two', input of Conv2D"):
        convert(source, tmp_path / "none", int8_spec("static"), child=False)
    assert not (tmp_path / "none").exists()
    bare = frozen_name(source, "two")
    # The mode is not static: there TensorRT chooses no INT8 kernel for this model, and `convert`
    # rightly fails.
    spec = dataclasses.replace(int8_spec("implicit"), custom_ranges={bare: (0, 8)})
    int8_engine(source, tmp_path / "out", spec)
