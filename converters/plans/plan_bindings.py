"""Which of a signature's inputs and outputs a plan's bindings are, and whether the plan is all.

Input i of a TRTEngineOp is the plan's binding TensorRTInputPH_i, output j TensorRTOutputPH_j.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from converters.model.flat_graph import FlatGraph, FlatNode, node_of
from converters.model.trt_graph import ENGINE_OP, EngineNode, PartialShape
from converters.util.first_of import first_of

INPUT, OUTPUT = "TensorRTInputPH_", "TensorRTOutputPH_"

# All that may stand outside a plan that is the whole model.
_NEUTRAL = frozenset(("Placeholder", "PlaceholderWithDefault", "Const", "Identity", "NoOp"))


@dataclass(frozen=True)
class Binding:
    """A plan's input or output; `signature_names` are what the signature calls it, none where it
    is no tensor of the signature."""

    name: str
    io: str  # "input" or "output"
    dtype: str
    shape: PartialShape
    tensor: str
    signature_names: tuple[str, ...]


@dataclass(frozen=True)
class Excluded:
    """A node that no plan covers."""

    name: str
    op: str
    signature: str


def bindings_of(engine: EngineNode, node: FlatNode, graph: FlatGraph) -> tuple[Binding, ...]:
    """The bindings of an engine that is `node` in `graph`."""
    fed, given = _names(graph.inputs, graph), _names(graph.outputs, graph)
    found = []
    for i, tensor in enumerate(node.inputs):
        origin = _origin(tensor, graph)
        dtype = engine.input_dtypes[i]
        shape = engine.input_shapes[i] if i < len(engine.input_shapes) else None
        found.append(Binding(f"{INPUT}{i}", "input", dtype, shape, tensor, fed.get(origin, ())))
    for i, dtype in enumerate(engine.output_dtypes):
        tensor = f"{node.name}:{i}"
        shape = engine.output_shapes[i] if i < len(engine.output_shapes) else None
        found.append(Binding(f"{OUTPUT}{i}", "output", dtype, shape, tensor, given.get(tensor, ())))
    return tuple(found)


def excluded_nodes(graph: FlatGraph) -> list[Excluded]:
    """The nodes outside every engine that do more than hold and pass on values."""
    return [
        Excluded(node.name, node.op, graph.signature)
        for node in graph.nodes.values()
        if node.op != ENGINE_OP and node.op not in _NEUTRAL
    ]


def why_not_whole(graph: FlatGraph) -> str | None:
    """Why no single plan does all that the graph does; None where one does."""
    engines = [node for node in graph.nodes.values() if node.op == ENGINE_OP]
    outside = excluded_nodes(graph)
    if len(engines) != 1 or outside:
        count = f"{len(engines) or 'no'} engine{'s' if len(engines) > 1 else ''}"
        shown = first_of([f"{node.op} {node.name}" for node in outside])
        return f"it has {count}" + (f", and outside are {shown}" if outside else "")
    (engine,) = engines
    fed = {_origin(tensor, graph) for tensor in graph.inputs.values()}
    for i, tensor in enumerate(engine.inputs):
        if _origin(tensor, graph) not in fed:
            return f"input {i} of the engine, {tensor}, is no input of the signature"
    for key, tensor in graph.outputs.items():
        origin = _origin(tensor, graph)
        if node_of(origin) != engine.name:
            return f"the output {key!r} does not come from the engine"
    return None


def _origin(tensor: str, graph: FlatGraph) -> str:
    """The tensor that `tensor` is a copy of."""
    while (node := graph.nodes.get(node_of(tensor))) is not None and node.op == "Identity":
        tensor = node.inputs[0]
    return tensor


def _names(tensors: Mapping[str, str], graph: FlatGraph) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for key, tensor in tensors.items():
        origin = _origin(tensor, graph)
        found[origin] = (*found.get(origin, ()), key)
    return found
