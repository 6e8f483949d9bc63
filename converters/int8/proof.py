"""Whether engines have the precision that the user asked for.

If ranges are missing, TF-TRT makes FP16 engines instead of INT8, often without a line in the log.
The proof of INT8 is TensorRT's build log, which has the type that each layer reads
(model/engine_layers.py). A finished plan keeps only the names of layers.

Quantize nodes in the graph also change the precision. One QuantizeAndDequantizeV2, even on the
denylist, makes TF-TRT set INT8 and turn calibration off. The other quantize nodes are converted at
INT8 only, where TF-TRT sets their ranges besides the calibrated ones; at FP32 and FP16 they stay
in TensorFlow.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from converters.int8.calibration_table import CalibrationTable
from converters.int8.quantization import CONVERTED_OPS, EXPLICIT_OP
from converters.model.engine_layers import LAYERS_HEAD, engine_of, is_of, parse_layer
from converters.model.trt_graph import EngineNode
from converters.spec.conversion_spec import ConversionSpec
from converters.util.errors import EngineError, NotInt8Error, SpecError, listed

# For TF_CPP_VMODULE: with it TensorFlow's log includes TensorRT's own, which lists the layers.
LOG_LAYERS = "trt_logger=3"

_TRT_LINE = re.compile(r"trt_logger\.cc:\d+\]")
# Layers that move and hold values and compute nothing.
_PASSIVE = ("Reformat", "Constant", "NoOp", "Shuffle", "ShuffleV2")
# Q/DQ layers that TensorRT fused with no other: the layers behind them compute in floating point.
# TF-TRT gives them no name, so TensorRT calls them "(Unnamed Layer* 7) [Quantize]".
_ONLY_CONVERTS = re.compile(r"(?:[^+]*\[(?:Quantize|Dequantize)\][^+]*(?:\+|$))+")


def layers(log: str, engines: Collection[str]) -> list[tuple[str, bool]]:
    """(name, whether it reads INT8) of every computing layer in a build log of `engines`, which are
    canonical names. The log also has the engines that only measured ranges and were thrown away."""
    found: list[tuple[str, bool]] = []
    block: list[Any] = []  # of one engine, which a layer without a name does not tell
    for line in [*log.splitlines(), LAYERS_HEAD]:
        if line.endswith(LAYERS_HEAD):
            owner = next(filter(None, (engine_of(layer.name) for layer in block)), None)
            if owner is None or any(is_of(owner, engine) for engine in engines):
                found += [
                    (layer.name, any(tensor.dtype == "Int8" for tensor in layer.inputs))
                    for layer in block
                    if layer.kind not in _PASSIVE and not _ONLY_CONVERTS.fullmatch(layer.name)
                ]
            block = []
        elif (layer := parse_layer(line)) is not None:
            block.append(layer)
    return found


def without_layers(log: str) -> str:
    """The log to keep: without the many thousand lines about TensorRT's tactics."""
    kept = [
        line
        for line in log.splitlines()
        if not (parse_layer(line) or (_TRT_LINE.search(line) and " I " in line[:40]))
        and re.match(r"\d{4}-|\[|\w+Error|Traceback|WARNING|  ", line)
    ]
    return "\n".join(kept) + "\n"


def last_warnings(log: str | None) -> str:
    """TensorFlow's last warnings and errors, to be appended to an error's text."""
    lines = [line for line in without_layers(log or "").splitlines() if re.search(r": [EW] ", line)]
    return "".join(f"\n  {line}" for line in lines[-8:])


def without_build_log(spec: ConversionSpec, asked: bool | None) -> ConversionSpec:
    """The resolved spec for a conversion without a child process, where TensorRT's log cannot be
    read. SpecError if `asked`, the user's require_int8, is True."""
    if spec.precision != "INT8":
        return spec
    if asked:
        raise SpecError(
            "require_int8=True is proved by TensorRT's build log, which only a child process has: "
            "leave out child=False (--no-child), or give require_int8=False (--no-require-int8): "
            "INT8 is then proved by engines of that precision and tables that are not empty"
        )
    return dataclasses.replace(spec, require_int8=False)


def prove_int8(
    spec: ConversionSpec,
    engines: Iterable[EngineNode],
    tables: Mapping[str, CalibrationTable],
    build_log: str | None,
) -> dict[str, Any] | None:
    """What shows that engines compute in INT8; None for another precision.

    `build_log` is TensorRT's, None where it was not recorded (conversion in this process): the
    share of INT8 layers is then None. "without_range" has the tensors that TensorRT could not
    calibrate, by engine: the layers that take them do not compute in INT8.

    Raises:
      NotInt8Error: an engine has another precision or no ranges, or no layer reads INT8.
    """
    if spec.precision != "INT8":
        return None
    engines = list(engines)
    for engine in engines:
        if engine.precision != "INT8":
            raise NotInt8Error(
                f"engine {engine.canonical_name} has the precision {engine.precision}, not INT8"
            )
        table = tables.get(engine.canonical_name)
        if spec.use_calibration and (
            table is None or len(table.without_scale()) == len(table.scales)
        ):
            named = f": {_rangeless(table.without_scale())}" if table and table.scales else ""
            raise NotInt8Error(
                f"engine {engine.canonical_name} has an empty calibration table{named}"
            )
    without = {name: table.without_scale() for name, table in tables.items()}
    lacking = [tensor for names in without.values() for tensor in names]
    names = [engine.canonical_name for engine in engines]
    found = layers(build_log, names) if build_log is not None else []
    int8 = sum(reads for _, reads in found)
    if engines and build_log is not None and not found and spec.require_int8:
        raise NotInt8Error(
            "TensorRT's build log names no layer, so that INT8 is not proved; require_int8=False "
            "takes the engines all the same"
        )
    if found and not int8 and spec.require_int8:
        raise NotInt8Error(
            f"TensorRT built {len(found)} computing layers and none reads INT8: it found other "
            "kernels faster, or the ranges do not reach them. Use FP16, or require_int8=False if "
            "that is fine; quantize nodes must be at the inputs of convolutions and matrix products"
            + (f". In the calibration tables {_rangeless(lacking)}" if lacking else "")
        )
    scales = {name: len(table.scales) - len(without[name]) for name, table in tables.items()}
    share = int8 / len(found) if found else None
    summary = f"{sum(scales.values())} ranges" if scales else "ranges from quantize nodes"
    if lacking:
        summary += f" ({_rangeless(lacking)})"
    if share is not None:
        summary += f", {int8} of {len(found)} computing layers read INT8 ({100 * share:.0f} %)"
    return {
        "summary": summary,
        "ranges": scales,
        "without_range": {name: names for name, names in without.items() if names},
        "layers": len(found) or None,
        "int8_layers": int8 if found else None,
        "int8_share": share,
    }


def _rangeless(tensors: list[str]) -> str:
    """Says which tensors TensorRT could not calibrate."""
    shown = listed(list(map(repr, tensors)))
    have = "tensor has" if len(tensors) == 1 else "tensors have"
    return f"{len(tensors)} {have} no range, being 0 in all batches or no float: {shown}"


def read_log(path: Path) -> str | None:
    return path.read_text(errors="replace") if path.exists() else None


def check_quantize_nodes_fit(graph_def: Any, spec: ConversionSpec) -> None:
    """SpecError if the quantize nodes of a frozen graph would make TF-TRT change the precision or
    the calibration of `spec`, which is resolved."""
    # TF-TRT looks at the main graph only.
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
    """EngineError if one of the engines `names` has another precision than the FP32 or FP16 of
    `spec`. prove_int8 checks INT8."""
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
    return listed([f"{node.op} {node.name!r}" for node in nodes])
