"""What TensorRT's build log and the tables prove about INT8."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from converters.int8.calibration_table import CalibrationTable
from converters.int8.proof import layers, prove_int8, without_layers
from converters.model.trt_graph import engine_nodes, load_graph
from converters.spec.conversion_spec import ConversionSpec
from converters.util.errors import CalibrationError, NotInt8Error

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "segmented" / "two_engines"
# The form of TensorRT 8.6.0's own lines; names shortened.
LOG = """\
2026-11-21 19:30:01.000001: I trt_logger.cc:87] DefaultLogger Engine Layer Information:
Layer(Shuffle): op/mul_1-0-Transpose:SHUFFLE, Tactic: 0x0000000000000000, TensorRTInputPH_0 (Float[-1,16,16,3]) -> a (Float[-1,3,16,16])
Layer(Reformat): Reformatting CopyNode for Input Tensor 0 to conv, Tactic: 0x00000000000003ea, a (Float[-1,3,16,16]) -> b (Int8[-1,3:4,16,16])
Layer(CaskConvolution): conv + relu, Tactic: 0x4037b478ce77e422, b (Int8[-1,3:4,16,16]) -> c (Int8[-1,16:4,8,8])
Layer(CaskSoftMaxV2): op/Softmax:SOFTMAX, Tactic: 0x48c115a824ac468d, c (Float[-1,10]) -> TensorRTOutputPH_0 (Float[-1,10])
2026-11-21 19:30:02.000001: I trt_engine_op.cc:1308] Added new engine to cache
"""  # noqa: E501
INT8 = ConversionSpec("INT8").resolved()
TABLE = CalibrationTable.parse("TRT-8600-EntropyCalibration2\nx: 3c010a14\ny: 0\n")
FLOAT = LOG.replace("Int8", "Float")


def int8_engine():
    return dataclasses.replace(engine_nodes(load_graph(GOLDEN).graph_def)[0], precision="INT8")


def tables(found):
    return {found.canonical_name: TABLE}


def test_layers_that_compute():
    assert layers(LOG) == [("conv + relu", True), ("op/Softmax:SOFTMAX", False)]
    assert layers("no layers here") == []


def test_layers_that_only_convert_prove_nothing():
    """Q/DQ layers beside a convolution in floating point, and inside one in INT8."""
    scale, tactic = "Layer(Scale)", "Tactic: 0x0000000000000000"
    log = f"""\
{scale}: (Unnamed Layer* 2) [Quantize], {tactic}, a (Float[-1,3,16,16]) -> b (Int8[-1,3,16,16])
{scale}: (Unnamed Layer* 4) [Dequantize]_clone_1, {tactic}, b (Int8[-1,3,16,16]) -> c (Float[-1,3])
{scale}: (Unnamed Layer* 7) [Dequantize] + (Unnamed Layer* 9) [Quantize], {tactic}, d (Int8[-1]) -> e (Int8[-1])
Layer(CaskConvolution): conv + relu, {tactic}, c (Float[-1,3]) -> d (Float[-1,16])
"""  # noqa: E501
    assert layers(log) == [("conv + relu", False)]
    with pytest.raises(NotInt8Error, match="1 computing layers and none reads INT8"):
        prove_int8(INT8, [int8_engine()], tables(int8_engine()), log)
    fused = "weights + (Unnamed Layer* 3) [Quantize] + conv + relu"
    assert layers(LOG.replace("conv + relu", fused))[0] == (fused, True)


def test_the_log_that_is_kept():
    kept = without_layers(LOG)
    assert "Added new engine" in kept
    assert "Layer(" not in kept and "trt_logger" not in kept


def test_share_and_ranges():
    found = int8_engine()
    proof = prove_int8(INT8, [found], tables(found), LOG)
    assert proof["int8_share"] == 0.5
    assert proof["ranges"] == {found.canonical_name: 1}  # y has no range: its scale is 0
    assert proof["summary"] == (
        "1 ranges (1 tensor has no range, being 0 in all batches or no float: 'y'), "
        "1 of 2 computing layers read INT8 (50 %)"
    )
    assert proof["without_range"] == {found.canonical_name: ["y"]}
    full = {found.canonical_name: CalibrationTable(TABLE.header, {"x": 1.0})}
    proof = prove_int8(INT8, [found], full, LOG)
    assert proof["summary"].startswith("1 ranges, 1 of 2") and not proof["without_range"]
    assert prove_int8(INT8, [found], tables(found), None)["int8_share"] is None
    assert prove_int8(ConversionSpec("FP16").resolved(), [found], {}, LOG) is None


def test_no_int8_kernel_is_an_error_unless_that_is_fine():
    found = int8_engine()
    with pytest.raises(CalibrationError, match=r"2 computing layers and none reads INT8.*FP16"):
        prove_int8(INT8, [found], tables(found), FLOAT)
    with pytest.raises(
        NotInt8Error, match=r"In the calibration tables 1 tensor has no range, .*: 'y'"
    ):
        prove_int8(INT8, [found], tables(found), FLOAT)
    with pytest.raises(CalibrationError, match="names no layer"):
        prove_int8(INT8, [found], tables(found), "nothing of layers")
    spec = dataclasses.replace(INT8, require_int8=False)
    assert prove_int8(spec, [found], tables(found), FLOAT)["int8_layers"] == 0


def test_an_engine_without_ranges_or_precision_is_an_error():
    found = int8_engine()
    empty = CalibrationTable.parse("TRT-8600-EntropyCalibration2\nx: 0\n")
    for given in ({}, {found.canonical_name: empty}):
        with pytest.raises(CalibrationError, match="has an empty calibration table"):
            prove_int8(INT8, [found], given, LOG)
    with pytest.raises(
        NotInt8Error, match="empty calibration table: 1 tensor has no range.*: 'x'$"
    ):
        prove_int8(INT8, [found], {found.canonical_name: empty}, LOG)
    many = CalibrationTable(TABLE.header, {"x": 1.0, **dict.fromkeys("abcdefg", 0.0)})
    proof = prove_int8(INT8, [found], {found.canonical_name: many}, LOG)
    assert "7 tensors have no range" in proof["summary"] and "'e' and 2 more)" in proof["summary"]
    assert proof["without_range"] == {found.canonical_name: list("abcdefg")}
    half = dataclasses.replace(found, precision="FP16")
    with pytest.raises(CalibrationError, match="has the precision FP16"):
        prove_int8(INT8, [half], tables(found), LOG)
