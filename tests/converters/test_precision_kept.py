"""Quantize nodes that make TF-TRT change the precision are refused; so are engines of another."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import tensorflow as tf
from copied_models import SHAPES, here, left_in, save
from trt_graphs import SEGMENTED

from converters import ConversionSpec
from converters.int8.proof import check_precision, check_quantize_nodes_fit
from converters.model.model_source import freeze
from converters.model.trt_graph import engine_nodes, load_graph
from converters.segments.segmenter import SegmenterOptions, ask_segmenter, tftrt_is_compiled_in
from converters.tftrt import engine_job
from converters.util.errors import EngineError, SpecError
from converters.util.progress import Progress

pytest_plugins = ["copied_tftrt"]  # fixture tftrt

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
    """QuantizeAndDequantizeV2 counts for TF-TRT wherever it is computed."""
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
    # What keeps its precision keeps the node out.
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
    # Engines that were there before are others' business.
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
