"""Which tensors the nodes of a GraphDef or of a function's body give and take, as protobuf.

A tensor goes by "node:k", output k of its node, whether it was written "node", "node:k" (graphs)
or "node:output_arg:i" (functions). An argument of a function is "argument:0".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class NodeTensors:
    """The nodes of one graph or function body, with who takes which tensor."""

    def __init__(self, nodes: Iterable[Any]) -> None:
        self.nodes: dict[str, Any] = {node.name: node for node in nodes}
        self.takers: dict[str, list[tuple[Any, int]]] = {}
        for node in self.nodes.values():
            for index, tensor in enumerate(self.inputs(node)):
                self.takers.setdefault(tensor, []).append((node, index))

    def inputs(self, node: Any) -> list[str]:
        """The tensors that `node` takes, without control dependencies."""
        return [self.key(name) for name in node.input if not name.startswith("^")]

    def key(self, name: str) -> str:
        """ "node:k" of a tensor as an input writes it."""
        node, *rest = name.split(":")
        if not rest:
            return f"{node}:0"
        if len(rest) == 1:
            return f"{node}:{rest[0]}"
        index = int(rest[1])
        if node in self.nodes:
            for arg, types in output_args(self.nodes[node]):
                if arg == rest[0]:
                    break
                index += len(types)
        return f"{node}:{index}"

    def producer(self, tensor: str) -> Any | None:
        """The node that gives `tensor`; None for an argument of the function."""
        return self.nodes.get(tensor.rpartition(":")[0])

    def dtype(self, tensor: str) -> int | None:
        """The DataType number of `tensor`; None where the op is not known here, 0 where its node
        has no such output."""
        node = self.producer(tensor)
        if node is None or op_def(node.op) is None:
            return None
        types = [number for _, numbers in output_args(node) for number in numbers]
        index = int(tensor.rpartition(":")[2])
        return types[index] if index < len(types) else 0

    def constant(self, tensor: str) -> Any | None:
        """The value of a Const, also behind Identity nodes, as an array; else None."""
        node = self.producer(tensor)
        while node is not None and node.op in ("Identity", "StopGradient", "Snapshot"):
            node = self.producer(self.inputs(node)[0])
        if node is None or node.op != "Const":
            return None
        import tensorflow as tf

        return tf.make_ndarray(node.attr["value"].tensor)


def shown(tensor: str) -> str:
    """The tensor as users write it: "node" for "node:0"."""
    return tensor[:-2] if tensor.endswith(":0") else tensor


def op_def(op: str) -> Any | None:
    """TensorFlow's definition of an op; None for one that this TensorFlow does not have."""
    from tensorflow.python.framework import op_def_registry

    return op_def_registry.get(op)


def output_args(node: Any) -> list[tuple[str, list[int]]]:
    """The node's outputs by the names of its op's definition, with their DataType numbers."""
    definition = op_def(node.op)
    if definition is None:
        return []
    attributes = {attr.name: attr.default_value for attr in definition.attr}
    # Asking protobuf's map for a missing key would add it to the node.
    attributes.update({name: node.attr[name] for name in node.attr})
    found = []
    for arg in definition.output_arg:
        if arg.type_list_attr:
            types = list(attributes[arg.type_list_attr].list.type)
        else:
            dtype = attributes[arg.type_attr].type if arg.type_attr else arg.type
            types = [dtype] * (attributes[arg.number_attr].i if arg.number_attr else 1)
        found.append((arg.name, types))
    return found
