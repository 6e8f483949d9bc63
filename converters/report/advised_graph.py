"""A signature's graph as the rules of advice see it: shapes, constants, what is around a node.

Everything is read from the graph. What the graph does not state is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

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
        node: FlatNode | None
        while (node := self.graph.nodes.get(node_of(tensor))) is not None:
            if node.op in ("VarHandleOp", "VariableV2", "Variable"):
                # The tensor of a resource is a handle; what it holds has the attribute's shape.
                attributes = node.definition.attr
                return partial_shape(attributes["shape"].shape) if "shape" in attributes else None
            stated = tensor_shape(tensor, self.graph)
            if stated is not None or node.op not in _SAME_SHAPE or not node.inputs:
                return stated
            tensor = node.inputs[0]
        return None

    def value(self, tensor: str) -> Any:
        """The NumPy array of a tensor that passes on a Const; None for any other."""
        node = self.graph.nodes.get(node_of(tensor))
        while node is not None and node.op in PLUMBING and node.inputs:
            node = self.graph.nodes.get(node_of(node.inputs[0]))
        if node is None or node.op != "Const" or "value" not in node.definition.attr:
            return None
        from tensorflow.python.framework import tensor_util

        return tensor_util.MakeNdarray(node.definition.attr["value"].tensor)

    def source(self, tensor: str) -> FlatNode | None:
        """The node that makes the tensor, behind nodes that only pass it on."""
        node = self.graph.nodes.get(node_of(tensor))
        while node is not None and node.op in PLUMBING and node.inputs:
            node = self.graph.nodes.get(node_of(node.inputs[0]))
        return node

    @cached_property
    def readers(self) -> dict[str, list[FlatNode]]:
        """The nodes that read each node; those that only pass on are passed over."""
        direct: dict[str, list[FlatNode]] = {name: [] for name in self.graph.nodes}
        for node in reversed(list(self.graph.nodes.values())):
            found = direct[node.name] if node.op in PLUMBING else [node]
            for name in dict.fromkeys(map(node_of, node.inputs)):
                if name in direct:
                    direct[name] += [reader for reader in found if reader not in direct[name]]
        return direct

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
