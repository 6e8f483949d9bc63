"""Finds tensors of INT8 engines that have no range: TensorRT uses a higher precision there.

In implicit quantisation TensorRT runs a layer in INT8 only if it knows the scales of the layer's
data inputs. Otherwise it warns "Missing scale and zero-point" and takes a higher precision, and
TF-TRT reports nothing. This module raises an error that names the tensor.

A tensor has a range when a quantize node gives it or takes it (also through Identity, which is no
layer), when a custom range names it, or when it is
- the output of an op that keeps its input's range (quantization.KEEP_RANGE_OPS), or a ConcatV2 of
  tensors that all have one. insert_ranges puts quantize nodes there; a graph from training may
  lack them. Such a layer then runs in a higher precision, but the range itself is known;
- the output of Relu6, whose range TF-TRT sets.

In explicit mode a range counts only where the values come from Q/DQ nodes, over no more than ops
that move values, and weights need Q/DQ nodes of their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from converters.int8.quantization import KEEP_RANGE_OPS, nodes_of, quantize_mode
from converters.model.node_tensors import NodeTensors, shown
from converters.model.trt_graph import engine_nodes
from converters.util.errors import NotInt8Error

# The ops that INT8 speeds up. Their first inputs are data; the others are data or weights.
COMPUTE_OPS = {
    **dict.fromkeys(("Conv2D", "DepthwiseConv2dNative", "Conv3D"), (0, 1)),
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), (0, 1)),
    # Input 0 is the output's shape.
    **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInputV2"), (2, 1)),
}
_NO_LAYER = ("Identity", "StopGradient", "Snapshot")
_DT_FLOAT = 1


@dataclasses.dataclass(frozen=True)
class MissingRange:
    """A float tensor without a range, and the compute op that then does not run in INT8."""

    tensor: str
    taken_by: str
    op: str
    engine: str = ""

    def __str__(self) -> str:
        where = f" in {self.engine}" if self.engine else ""
        return f"{self.tensor!r}, input of {self.op} {self.taken_by!r}{where}"


def missing_ranges(
    nodes: Iterable[Any], custom_ranges: Iterable[str] = (), explicit: bool = False
) -> list[MissingRange]:
    """The inputs of compute ops without a range, in the nodes' order.

    `nodes` are NodeDefs of one segment (a function's body or a frozen graph); a tensor from outside
    has no range unless a node inside quantises it. `custom_ranges` are tensors that will get one.
    `explicit` is quantize_mode's answer for the whole graph.
    """
    graph = NodeTensors(nodes)
    finder = _Finder(graph, {graph.key(name) for name in custom_ranges}, explicit)
    found = []
    for node in graph.nodes.values():
        inputs = graph.inputs(node)
        for index in COMPUTE_OPS.get(node.op, ()):
            if index < len(inputs) and not finder.has_range(inputs[index]):
                found.append(MissingRange(shown(inputs[index]), node.name, node.op))
    return found


def missing_in_engines(graph_def: Any, custom_ranges: Iterable[str] = ()) -> list[MissingRange]:
    """missing_ranges of every INT8 engine that is not calibrated, in a converted graph."""
    custom = list(custom_ranges)
    functions = {function.signature.name: function for function in graph_def.library.function}
    explicit = quantize_mode(graph_def) == "explicit"
    found = []
    for engine in engine_nodes(graph_def):
        calibrated = engine.use_calibration or bool(engine.calibration_table)
        if engine.precision != "INT8" or calibrated or not engine.has_segment:
            continue
        body = functions[engine.segment_func].node_def
        found += [
            dataclasses.replace(missing, engine=engine.canonical_name)
            for missing in missing_ranges(body, custom, explicit)
        ]
    return found


def require_ranges(missing: Sequence[MissingRange]) -> None:
    """NotInt8Error that names every tensor of `missing`; nothing when it is empty."""
    if not missing:
        return
    lines = "\n  ".join(map(str, missing))
    raise NotInt8Error(
        "TensorRT would not compute these in INT8, because a tensor has no range:"
        f"\n  {lines}\nGive each a custom range, as custom_ranges={{{missing[0].tensor!r}: (min, "
        "max)}, put a quantize node behind it, keep the op out with node_denylist, or calibrate"
    )


class _Finder:
    def __init__(self, graph: NodeTensors, custom: set[str], explicit: bool) -> None:
        self._graph = graph
        self._explicit = explicit
        mode = "explicit" if explicit else "dynamic_range"
        self._quantize = {q.name for q in nodes_of("", graph.nodes.values(), mode) if not q.problem}
        self._known: dict[str, bool] = dict.fromkeys(custom, True)

    def has_range(self, tensor: str) -> bool:
        if tensor not in self._known:
            # A loop in the graph is no source of ranges.
            self._known[tensor] = False
            self._known[tensor] = self._find(tensor)
        return self._known[tensor]

    def _find(self, tensor: str) -> bool:
        graph = self._graph
        if graph.constant(tensor) is not None:
            return not self._explicit
        if graph.dtype(tensor) not in (None, 0, _DT_FLOAT):
            return True
        if not self._explicit and self._is_quantized_after(tensor):
            return True
        node = graph.producer(tensor)
        if node is None:
            return False
        if node.name in self._quantize:
            return True
        inputs = graph.inputs(node)
        if node.op in KEEP_RANGE_OPS and not (self._explicit and node.op == "Relu"):
            return self.has_range(inputs[0])
        if node.op == "ConcatV2":
            return all(map(self.has_range, inputs[:-1]))
        return node.op == "Relu6" and not self._explicit

    def _is_quantized_after(self, tensor: str) -> bool:
        """Whether a quantize node takes `tensor`; its range is then set on the tensor itself."""
        for node, index in self._graph.takers.get(tensor, ()):
            if index == 0 and node.name in self._quantize:
                return True
            if node.op in _NO_LAYER and self._is_quantized_after(f"{node.name}:0"):
                return True
        return False
