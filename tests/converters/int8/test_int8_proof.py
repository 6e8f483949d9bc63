"""Engines must have the precision that the user asked for. The tests cover the proof of INT8, and
quantize nodes that would change a precision.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import tensorflow as tf
from copied_models import SHAPES, here, left_in, save
from recorded_layers import CONVERTED, build_log, layer_names, plan_of
from trt_graphs import SEGMENTED

from converters import ConversionSpec
from converters.int8.calibration_table import CalibrationTable
from converters.int8.proof import (
    check_precision,
    check_quantize_nodes_fit,
    layers,
    prove_int8,
    without_layers,
)
from converters.model.engine_layers import engine_of
from converters.model.model_source import freeze
from converters.model.trt_graph import engine_nodes, load_graph
from converters.segments.segmenter import SegmenterOptions, ask_segmenter, tftrt_is_compiled_in
from converters.tftrt import engine_job
from converters.util.errors import CalibrationError, EngineError, NotInt8Error, SpecError
from converters.util.progress import Progress

pytest_plugins = ["copied_tftrt"]  # fixture tftrt

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "segmented" / "two_engines"
# Lines of TensorRT 8.6.0's build log, with shorter names.
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
    assert layers(LOG, []) == [("conv + relu", True), ("op/Softmax:SOFTMAX", False)]
    assert layers("no layers here", []) == []


@pytest.mark.parametrize("model", ["int8", "static"])
def test_engines_that_are_not_saved_prove_nothing(model):
    """Custom ranges beside calibration build engines twice. The first ones measure only, and the
    names of their layers begin with another engine. The names are those of recorded plans."""
    (engine,) = engine_nodes(load_graph(CONVERTED / model).graph_def)
    names = layer_names(plan_of(CONVERTED / model, engine))
    own = {name for name in names if not name.startswith("Reformatting")}
    (logged,) = {engine_of(name) for name in names}
    other = [name.replace(logged, "TRTEngineOp_000_000_0a0a0a0a") for name in names]
    thrown_away = build_log([*other, "(Unnamed Layer* 8) [Shuffle]"], "Int8")
    saved = dataclasses.replace(engine, precision="INT8")
    log = thrown_away + build_log(names, "Float")
    assert layers(log, [engine.canonical_name]) == [(name, False) for name in names if name in own]
    with pytest.raises(NotInt8Error, match=f"{len(own)} computing layers and none reads INT8"):
        prove_int8(INT8, [saved], tables(saved), log)
    log = thrown_away + build_log(names, "Int8")
    proof = prove_int8(INT8, [saved], tables(saved), log)
    assert (proof["int8_layers"], proof["layers"]) == (len(own), len(own))


def test_layers_that_only_convert_prove_nothing():
    """A layer that only quantizes or dequantizes does not count. A convolution in INT8 does, even
    if TensorRT fused a quantize layer into it."""
    scale, tactic = "Layer(Scale)", "Tactic: 0x0000000000000000"
    log = f"""\
{scale}: (Unnamed Layer* 2) [Quantize], {tactic}, a (Float[-1,3,16,16]) -> b (Int8[-1,3,16,16])
{scale}: (Unnamed Layer* 4) [Dequantize]_clone_1, {tactic}, b (Int8[-1,3,16,16]) -> c (Float[-1,3])
{scale}: (Unnamed Layer* 7) [Dequantize] + (Unnamed Layer* 9) [Quantize], {tactic}, d (Int8[-1]) -> e (Int8[-1])
Layer(CaskConvolution): conv + relu, {tactic}, c (Float[-1,3]) -> d (Float[-1,16])
"""  # noqa: E501
    assert layers(log, []) == [("conv + relu", False)]
    with pytest.raises(NotInt8Error, match="1 computing layers and none reads INT8"):
        prove_int8(INT8, [int8_engine()], tables(int8_engine()), log)
    fused = "weights + (Unnamed Layer* 3) [Quantize] + conv + relu"
    assert layers(LOG.replace("conv + relu", fused), [])[0] == (fused, True)


def test_the_log_that_is_kept():
    kept = without_layers(LOG)
    assert "Added new engine" in kept
    assert "Layer(" not in kept and "trt_logger" not in kept


def test_share_and_ranges():
    found = int8_engine()
    proof = prove_int8(INT8, [found], tables(found), LOG)
    assert proof["int8_share"] == 0.5
    assert proof["ranges"] == {found.canonical_name: 1}  # The scale of y is 0, so it has no range.
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


QUANTIZE: dict[str, Callable[[Any], Any]] = {
    "QuantizeAndDequantizeV2": lambda x: tf.raw_ops.QuantizeAndDequantizeV2(
        input=x, input_min=-2.0, input_max=2.0, range_given=True, name="q"
    ),
    "QuantizeAndDequantizeV3": lambda x: tf.raw_ops.QuantizeAndDequantizeV3(
        input=x, input_min=-2.0, input_max=2.0, num_bits=8, name="q"
    ),
    "FakeQuantWithMinMaxVars": lambda x: tf.quantization.fake_quant_with_min_max_vars(
        x, -2.0, 2.0, name="q"
    ),
    "FakeQuantWithMinMaxArgs": lambda x: tf.quantization.fake_quant_with_min_max_args(
        x, -2.0, 2.0, name="q"
    ),
}
SPECS = {
    "FP32": ConversionSpec(),
    "FP16": ConversionSpec("FP16"),
    "calibrated": ConversionSpec("INT8"),
    "own ranges": ConversionSpec("INT8", use_calibration=False, explicit_batch=True),
}


def net(x: tf.Tensor, op: str | None) -> tf.Tensor:
    y = x if op is None else QUANTIZE[op](x)
    y = tf.nn.relu(tf.nn.conv2d(y, np.ones((3, 3, 2, 4), np.float32), 1, "VALID", name="conv"))
    return tf.sigmoid(tf.nn.max_pool2d(y, 2, 2, "VALID"), name="out")


def graph_of(op: str | None) -> Any:
    with tf.Graph().as_default() as graph:
        net(tf.compat.v1.placeholder(tf.float32, [4, 8, 8, 2], name="x"), op)
    return graph.as_graph_def()


@pytest.mark.parametrize("op", QUANTIZE)
@pytest.mark.parametrize("kind", SPECS)
def test_what_tftrt_would_change_is_refused(op: str, kind: str) -> None:
    spec = SPECS[kind].resolved()
    check_quantize_nodes_fit(graph_of(None), spec)
    explicit = op == "QuantizeAndDequantizeV2"
    if kind == "own ranges" or (kind != "calibrated" and not explicit):
        check_quantize_nodes_fit(graph_of(op), spec)
        return
    why = "makes TF-TRT set INT8 and turn calibration off" if explicit else "also calibrates"
    with pytest.raises(SpecError, match=f"the graph has {op} 'q', .*{why}") as caught:
        check_quantize_nodes_fit(graph_of(op), spec)
    assert str(caught.value).startswith(f"precision={spec.precision!r}")
    assert "precision='INT8' with use_calibration=False" in str(caught.value)
    assert ("explicit_batch=True" in str(caught.value)) == explicit
    assert "or remove the quantize nodes" in str(caught.value)


@pytest.mark.parametrize("mode", ["dynamic", "static"])
def test_explicit_precision_takes_an_explicit_batch(mode: str) -> None:
    spec = ConversionSpec("INT8", mode=mode, use_calibration=False).resolved()
    for op in QUANTIZE.keys() - {"QuantizeAndDequantizeV2"}:
        check_quantize_nodes_fit(graph_of(op), spec)
    why = f"mode='{mode}', .* has QuantizeAndDequantizeV2 'q'.* explicit_batch=True"
    with pytest.raises(SpecError, match=why):
        check_quantize_nodes_fit(graph_of("QuantizeAndDequantizeV2"), spec)


def test_nodes_kept_out_have_no_ranges_beside_calibrated_ones() -> None:
    """A denylist keeps quantize nodes out of TensorRT. But for a QuantizeAndDequantizeV2, TF-TRT
    turns calibration off even if TensorFlow computes it."""
    for denied in ({"op_denylist": list(QUANTIZE)}, {"node_denylist": ["q"]}):
        spec = ConversionSpec("INT8", **denied).resolved()
        check_quantize_nodes_fit(graph_of("FakeQuantWithMinMaxVars"), spec)
        with pytest.raises(SpecError, match="turn calibration off"):
            check_quantize_nodes_fit(graph_of("QuantizeAndDequantizeV2"), spec)


def test_many_nodes_are_counted() -> None:
    graph = graph_of(None)
    for number in range(8):
        graph.node.add(name=f"q{number}", op="QuantizeAndDequantizeV2")
    with pytest.raises(SpecError, match=r"'q4' and 3 more, which"):
        check_quantize_nodes_fit(graph, SPECS["FP16"].resolved())


@pytest.mark.slow
@pytest.mark.skipif(not tftrt_is_compiled_in(), reason="this TensorFlow has no TF-TRT inside")
@pytest.mark.parametrize(
    ("op", "precision", "made"),
    [
        ("QuantizeAndDequantizeV2", "FP32", "INT8"),
        ("QuantizeAndDequantizeV2", "FP16", "INT8"),
        ("QuantizeAndDequantizeV3", "FP16", "FP16"),
        ("FakeQuantWithMinMaxArgs", "FP32", "FP32"),
    ],
)
def test_it_is_what_tftrt_does(tmp_path: Path, op: str, precision: str, made: str) -> None:
    (tmp_path / "graph.pb").write_bytes(graph_of(op).SerializeToString())
    options = SegmenterOptions(precision, minimum_segment_size=2)
    graph = ask_segmenter(tmp_path / "graph.pb", options).graph_def
    assert {engine.precision for engine in engine_nodes(graph)} == {made}
    # Where the engines keep the precision asked for, the quantize node stays outside of them.
    assert (op in {node.op for node in graph.node}) == (made == precision)


@pytest.mark.parametrize("mode", ["dynamic", "static"])
def test_the_conversion_refuses_before_tftrt_sees_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    class Quantized(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([4, 8, 8, 2], tf.float32, "x")])
        def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": net(x, "QuantizeAndDequantizeV2")}

    module = Quantized()
    signatures = {"serving_default": module.serve}
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=signatures)
    frozen = freeze(tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"])

    class Signature:
        def __init__(self, *args: Any, edit: Callable[[Any], None], **options: Any) -> None:
            self._edit = edit

        def convert(self, *args: Any) -> None:
            self._edit(frozen.graph.as_graph_def())
            raise AssertionError("TF-TRT got the graph")

    monkeypatch.setattr(engine_job, "SignatureV1", Signature)
    monkeypatch.setattr(engine_job, "SignatureV2", Signature)
    own = ConversionSpec("INT8", mode=mode, use_calibration=False)
    if mode == "dynamic":
        own = dataclasses.replace(own, explicit_batch=True)
    for spec, error in (
        (ConversionSpec("FP16", mode=mode), SpecError),
        (own, AssertionError if mode == "dynamic" else SpecError),
    ):
        job = engine_job._Job(
            str(tmp_path / "model"), spec.resolved(), Progress(False), tmp_path / "out"
        )
        with pytest.raises(error, match="QuantizeAndDequantizeV2|got the graph"):
            job.convert("serving_default", None, allow_none=False)


def test_engines_of_another_precision_are_an_error() -> None:
    engines = engine_nodes(load_graph(SEGMENTED / "two_engines").graph_def)  # FP16
    names = [engine.canonical_name for engine in engines]
    check_precision(ConversionSpec("FP16").resolved(), engines, names)
    with pytest.raises(EngineError, match=rf"'FP32'.*\({names[0]} has FP16, {names[1]} has FP16"):
        check_precision(ConversionSpec().resolved(), engines, names)
    changed = [engines[0], dataclasses.replace(engines[1], precision="INT8")]
    with pytest.raises(EngineError, match=rf"'FP16'.*\({names[1]} has INT8\).*use_calibration"):
        check_precision(ConversionSpec("FP16").resolved(), changed, names)
    # The last argument names the engines to check. Engines that the source had already are not
    # among them.
    check_precision(ConversionSpec("FP16").resolved(), changed, names[:1])


def test_a_conversion_with_other_engines_leaves_nothing(
    tmp_path: Path, tftrt: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = save(tmp_path / "model")
    (engine, _) = engine_nodes(load_graph(SEGMENTED / "two_engines").graph_def)
    monkeypatch.setattr("converters.conversion_stages.engine_nodes", lambda graph_def: [engine])
    tftrt["engines"] = [engine.canonical_name]
    with pytest.raises(EngineError, match="TF-TRT changed it"):
        here(source, tmp_path / "out", ConversionSpec("FP32", input_shapes=SHAPES))
    assert left_in(tmp_path) == ["model"]
