"""A signature's graph as the rules of advice see it: shapes, constants, what is around a node.

Everything is read from the graph. What the graph does not state is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from converters.model.flat_graph import FlatGraph, FlatNode, node_of
from converters.model.trt_graph import PartialShape, partial_shape
from converters.segments.exclusions import PLUMBING
from converters.segments.segment_rules import constants, tensor_shape

CONVOLUTIONS = frozenset(
    ("Conv2D", "Conv2DBackpropInput", "Conv3D", "Conv3DBackpropInput", "Conv3DBackpropInputV2")
)
MATRIX_PRODUCTS = frozenset(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"))
_LOOKUPS = frozenset(("Gather", "GatherV2", "ResourceGather"))
# Ops that give the tensor that they read, in the same shape.
_SAME_SHAPE = PLUMBING | {"Cast"}
# Axes and the like are fewer.
_MOST_INTEGERS = 1024


class AdvisedGraph:
    """A FlatGraph in which the native segments of engines are in place of the engines."""

    def __init__(self, graph: FlatGraph) -> None:
        self.signature = graph.signature
        self.graph = graph
        self.folded = constants(graph)

    def computing(self, *ops: str) -> Iterator[FlatNode]:
        """The nodes of these ops (none given: of any that computes) that depend on an input."""
        for node in self.graph.nodes.values():
            wanted = node.op in ops if ops else node.op not in PLUMBING
            if wanted and node.name not in self.folded:
                yield node

    def shape(self, tensor: str) -> PartialShape:
        """The stated shape of a tensor, or that of the variable or constant it passes on."""
        for node, given in self._passed_on(tensor, _SAME_SHAPE):
            if node.op in ("VarHandleOp", "VariableV2", "Variable"):
                # The tensor of a resource is a handle; what it holds has the attribute's shape.
                attributes = node.definition.attr
                return partial_shape(attributes["shape"].shape) if "shape" in attributes else None
            stated = tensor_shape(given, self.graph)
            if stated is not None:
                return stated
        return None

    def integers(self, tensor: str) -> tuple[int, ...] | None:
        """The elements of a tensor of integers that passes on a Const; None for any other."""
        passed = list(self._passed_on(tensor, PLUMBING))
        node = passed[-1][0] if passed else None
        if node is None or node.op != "Const" or "value" not in node.definition.attr:
            return None
        from tensorflow.python.framework import tensor_util

        held = node.definition.attr["value"].tensor
        # One number can stand for any count of elements.
        if math.prod(dim.size for dim in held.tensor_shape.dim) > _MOST_INTEGERS:
            return None
        try:
            array = tensor_util.MakeNdarray(held)
        except (TypeError, ValueError):
            return None  # damaged: the type or the count is not that of the data
        return tuple(map(int, array.flat)) if array.dtype.kind in "iu" else None

    def _passed_on(self, tensor: str, ops: Collection[str]) -> Iterator[tuple[FlatNode, str]]:
        """The node that gives the tensor, and while it is one of `ops`, the one it reads from; each
        with its tensor. It ends where a damaged graph goes round."""
        seen = set()
        node = self.graph.nodes.get(node_of(tensor))
        while node is not None and node.name not in seen:
            seen.add(node.name)
            yield node, tensor
            if node.op not in ops or not node.inputs:
                return
            tensor = node.inputs[0]
            node = self.graph.nodes.get(node_of(tensor))

    @cached_property
    def readers(self) -> dict[str, list[FlatNode]]:
        """The nodes that read each node; those that only pass on are passed over."""
        direct: dict[str, dict[str, FlatNode]] = {name: {} for name in self.graph.nodes}
        for node in reversed(list(self.graph.nodes.values())):
            found = dict(direct[node.name]) if node.op in PLUMBING else {node.name: node}
            for name in dict.fromkeys(map(node_of, node.inputs)):
                if name in direct:
                    direct[name].update(found)
        return {name: list(found.values()) for name, found in direct.items()}

    def behind(self, those: Callable[[FlatNode], bool]) -> set[str]:
        """Names of the nodes that depend on one of `those`."""
        found: set[str] = set()
        for node in self.graph.nodes.values():
            for name in map(node_of, node.inputs):
                source = self.graph.nodes.get(name)
                if name in found or (source is not None and those(source)):
                    found.add(node.name)
        return found

    def before(self, those: Callable[[FlatNode], bool]) -> set[str]:
        """Names of the nodes on which one of `those` depends."""
        found: set[str] = set()
        for node in reversed(list(self.graph.nodes.values())):
            if node.name in found or those(node):
                found.update(map(node_of, node.inputs))
        return found

    def is_weighted(self, node: FlatNode) -> bool:
        """Whether the node is a layer with weights, whose sizes are the designer's choice."""
        if node.op in _LOOKUPS:
            return bool(node.inputs) and node_of(node.inputs[0]) in self.folded
        return node.op in CONVOLUTIONS or node.op in MATRIX_PRODUCTS
