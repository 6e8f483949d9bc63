"""That engines have the precision that was asked for: TF-TRT changes it where the graph has
quantize nodes, with a line in the log.

With one QuantizeAndDequantizeV2 in the graph, be it on the denylist, TF-TRT sets INT8 and turns
calibration off. The other quantize nodes are converted at INT8 only, where TF-TRT sets their ranges
beside those that are calibrated; at FP32 and FP16 they stay in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from converters.int8.quantization import CONVERTED_OPS, EXPLICIT_OP
from converters.model.trt_graph import EngineNode
from converters.spec.conversion_spec import ConversionSpec
from converters.util.errors import EngineError, SpecError
from converters.util.first_of import first_of


def check_quantize_nodes_fit(graph_def: Any, spec: ConversionSpec) -> None:
    """SpecError when the quantize nodes of a frozen graph make TF-TRT change what `spec`, which is
    resolved, asks for."""
    # As TF-TRT, which looks at the main graph.
    explicit = [node for node in graph_def.node if node.op == EXPLICIT_OP]
    if spec.precision == "INT8" and not spec.use_calibration:
        if explicit and not spec.explicit_batch:
            raise SpecError(
                f"mode={spec.mode!r}, explicit_batch=False: the graph has {_named(explicit)}. "
                "Kernels behind such nodes are no constants to TF-TRT, which leaves their "
                "convolutions in TensorFlow with an implicit batch. Choose mode='dynamic' with "
                "explicit_batch=True (--explicit-batch) or shape ranges"
            )
        return
    asked = f"precision={spec.precision!r}"
    if spec.precision == "INT8":
        asked += ", use_calibration=True"
    also = " and explicit_batch=True (--explicit-batch)" if explicit else ""
    cure = (
        "Choose precision='INT8' with use_calibration=False (--precision int8 --no-calibration)"
        f"{also}, or remove the quantize nodes"
    )
    if explicit:
        raise SpecError(
            f"{asked}: the graph has {_named(explicit)}, which makes TF-TRT set INT8 and turn "
            f"calibration off by itself, for all of the graph. {cure}"
        )
    if spec.precision != "INT8":
        return
    out = {*spec.op_denylist, *spec.node_denylist}
    ranged = [
        node
        for node in graph_def.node
        if node.op in CONVERTED_OPS and node.op not in out and node.name not in out
    ]
    if ranged:
        raise SpecError(
            f"{asked}: the graph has {_named(ranged)}, whose ranges TF-TRT sets while it also "
            f"calibrates: a tensor would have two. {cure}, or keep them out (op_denylist)"
        )


def check_precision(
    spec: ConversionSpec, engines: Iterable[EngineNode], names: Collection[str]
) -> None:
    """EngineError when an engine of those named was converted at another precision than FP32 or
    FP16 that `spec` asks for; int8_proof looks at INT8."""
    if spec.precision == "INT8":
        return
    other = [
        f"{engine.canonical_name} has {engine.precision}"
        for engine in engines
        if engine.canonical_name in names and engine.precision != spec.precision
    ]
    if other:
        raise EngineError(
            f"precision={spec.precision!r}: TF-TRT changed it ({', '.join(other)}); its log says "
            "why. Quantize nodes in the graph do that: choose INT8 with use_calibration=False, or "
            "remove them"
        )


def _named(nodes: list[Any]) -> str:
    return first_of([f"{node.op} {node.name!r}" for node in nodes])
