"""Which nodes TF-TRT would take, and in which segments, by rule: no TensorFlow op is needed.

The rules are those of TF-TRT 2.17's segmenter, as far as a graph on disk tells: the op types and
dtypes of tftrt_ops_2_17.txt, the ranks and dimensions that the graph states, the denylists, the
smallest segment and the limit of engines. The rules do not cover a converter's checks of a node's
attributes, nor what graph optimizations change before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from converters.model.flat_graph import FlatGraph, FlatNode, index_of, node_of
from converters.model.trt_graph import ENGINE_OP, PartialShape, dtype_name, partial_shape
from converters.segments import exclusions
from converters.segments.exclusions import NOT_EFFECTIVE, PLUMBING, QUANTIZE
from converters.segments.segmenter import SegmenterOptions

Reason = tuple[str, str]  # category, text

# Constant folding leaves these alone even where nothing feeds them.
_NO_CONSTANTS = ("Placeholder", "Random", "Stateless", "Iterator", "Multinomial")
_TYPE_ATTRIBUTES = ("T", "SrcT", "Tparams", "dtype")
# With implicit batch these go by the input of highest rank, the others by the first one.
_BROADCASTING = frozenset(
    (
        *("Add", "AddV2", "BatchMatMul", "BatchMatMulV2", "BiasAdd", "Div", "FloorDiv"),
        *("Maximum", "Minimum", "Mul", "Pow", "RealDiv", "SquaredDifference", "Sub"),
    )
)
# Ops whose output has a type of its own, and what TF-TRT makes of them.
_GIVEN_TYPES = {"ArgMax": ("int32",), "ArgMin": ("int32",), "Cast": ("float32", "float16")}
# Types of outputs by default, which a SavedModel does not state.
_OUTPUT_TYPES = {"ArgMax": "int64", "ArgMin": "int64", "Shape": "int32", "Size": "int32"}


@dataclass(frozen=True)
class Segment:
    """Nodes that go into one engine; `size` is how TF-TRT measures it."""

    names: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Forecast:
    """What the rules say of a graph: the engines, largest first, and why each other node is out."""

    engines: tuple[Segment, ...]
    left_out: Mapping[str, Reason]
    unknown_shapes: int  # candidates whose shapes the graph does not state


def forecast(graph: FlatGraph, options: SegmenterOptions, static: bool = False) -> Forecast:
    """Applies the rules to a graph, converted or not; nodes that are engines stay as they are."""
    folded = constants(graph)
    left_out: dict[str, Reason] = {}
    candidates = []
    unknown = 0
    ends = {node_of(tensor) for tensor in graph.outputs.values()}
    for node in graph.nodes.values():
        if node.op == ENGINE_OP or node.name in folded:
            continue
        reason = _reason(node, graph, options, static, ends)
        if reason is not None:
            left_out[node.name] = reason
            continue
        candidates.append(node.name)
        unknown += options.implicit_batch and not _shapes_known(node, graph)
    least = max(1, options.minimum_segment_size)
    found = sorted(segments(graph, candidates, folded), key=lambda segment: -segment.size)
    large = [segment for segment in found if segment.size >= least]
    for segment in found[len(large) :]:
        reason = (
            exclusions.TOO_SMALL,
            f"its segment has {segment.size} nodes; minimum_segment_size asks for {least}",
        )
        left_out.update(dict.fromkeys(segment.names, reason))
    limit = exclusions.ENGINE_LIMIT if options.max_engines is None else options.max_engines
    if 0 < limit < len(large):
        for segment in large[limit:]:
            reason = (
                exclusions.ENGINE_CAP,
                f"its segment of {segment.size} nodes is not among the {limit} largest "
                "(TF_TRT_MAX_ALLOWED_ENGINES)",
            )
            left_out.update(dict.fromkeys(segment.names, reason))
        large = large[:limit]
    return Forecast(tuple(large), left_out, unknown)


def constants(graph: FlatGraph) -> set[str]:
    """Nodes that constant folding turns into constants: they depend on no input."""
    found: set[str] = set()
    for node in graph.nodes.values():
        if node.op.startswith(_NO_CONSTANTS) or node.op in (ENGINE_OP, "NoOp"):
            continue
        holds_value = not node.inputs and node.op in PLUMBING
        if holds_value or (node.inputs and all(node_of(t) in found for t in node.inputs)):
            found.add(node.name)
    return found


def computing(graph: FlatGraph, nodes: Iterable[FlatNode]) -> list[FlatNode]:
    """Those of the graph's `nodes` that compute something: no plumbing, nothing that is folded
    away."""
    folded = constants(graph)
    return [node for node in nodes if node.op not in PLUMBING and node.name not in folded]


def _reason(
    node: FlatNode, graph: FlatGraph, options: SegmenterOptions, static: bool, ends: set[str]
) -> Reason | None:
    """Why the node is no candidate; None when it is one."""
    if node.name in options.node_denylist:
        return exclusions.DENYLISTED, "it is on the node denylist"
    if node.op.startswith("Placeholder"):
        return exclusions.OUTPUT, "it is an input of the model"
    if node.name in ends:
        return exclusions.OUTPUT, "it is an output of the model, which TF-TRT leaves outside"
    rule = exclusions.op_rules().get(node.op)
    if rule is None or node.op == "NoOp":
        return exclusions.UNSUPPORTED_OP, f"TF-TRT has no converter for {node.op}"
    if node.op in QUANTIZE and options.precision != "INT8":
        return exclusions.UNSUPPORTED_OP, f"TF-TRT converts {node.op} in INT8 mode only"
    if node.op in options.op_denylist:
        return exclusions.DENYLISTED, f"{node.op} is on the op denylist"
    kind = _data_type(node)
    if kind is not None and kind not in rule.types:
        return (
            exclusions.DTYPE,
            f"its data is {kind}; TF-TRT converts {node.op} of {', '.join(rule.types)}",
        )
    given = tensor_dtype(f"{node.name}:0", graph)
    if given not in _GIVEN_TYPES.get(node.op, (given,)):
        allowed = ", ".join(_GIVEN_TYPES[node.op])
        return exclusions.DTYPE, f"it gives {given}; TF-TRT converts {node.op} to {allowed}"
    if options.implicit_batch:
        if rule.explicit_only:
            return exclusions.SHAPE, f"TF-TRT converts {node.op} with explicit batch only"
        ranks = [None if s is None else len(s) for s in _batch_inputs(node, graph)]
        if ranks and None not in ranks and max(rank or 0 for rank in ranks) < 2:
            return (
                exclusions.SHAPE,
                "its input has less than two dimensions, which implicit batch needs",
            )
    shape = _output_shape(node, 0)
    if static and shape is not None and None in shape[1:]:
        return (
            exclusions.SHAPE,
            f"its output {shape_text(shape)} has an unknown dimension besides the batch, which "
            "static mode does not take",
        )
    return None


def shape_text(shape: PartialShape) -> str:
    """(None, 8) as "?x8"; a scalar as "scalar"; an unknown rank as "?"."""
    if shape is None:
        return "?"
    return "x".join("?" if dim is None else str(dim) for dim in shape) or "scalar"


def _data_type(node: FlatNode) -> str | None:
    for name in _TYPE_ATTRIBUTES:
        if name in node.definition.attr and node.definition.attr[name].type:
            return dtype_name(node.definition.attr[name].type)
    return None


def _output_shape(node: FlatNode, index: int) -> PartialShape:
    """The shape that the graph states for an output; None where it states none."""
    shapes = _stated_shapes(node)
    return partial_shape(shapes[index]) if index < len(shapes) else None


def _stated_shapes(node: FlatNode) -> Any:
    attributes = node.definition.attr
    if "_output_shapes" in attributes:
        return attributes["_output_shapes"].list.shape
    if node.op == "Const" and "value" in attributes:
        return [attributes["value"].tensor.tensor_shape]
    if node.op.startswith("Placeholder") and "shape" in attributes:
        return [attributes["shape"].shape]
    if node.op == ENGINE_OP and "output_shapes" in attributes:
        return attributes["output_shapes"].list.shape
    return []


def _batch_inputs(node: FlatNode, graph: FlatGraph) -> list[PartialShape]:
    """Shapes of the inputs that decide a node's batch."""
    count = None if node.op in _BROADCASTING else 1
    return [tensor_shape(tensor, graph) for tensor in node.inputs[:count]]


def tensor_shape(tensor: str, graph: FlatGraph) -> PartialShape:
    """The shape that the graph states for a tensor; None where it states none."""
    source = graph.nodes.get(node_of(tensor))
    return None if source is None else _output_shape(source, index_of(tensor))


def tensor_dtype(tensor: str, graph: FlatGraph) -> str:
    """The type of a tensor as its node's attributes tell it; "" where they do not."""
    source = graph.nodes.get(node_of(tensor))
    if source is None:
        return ""
    for name in ("DstT", "output_type", "out_type", "Tout"):
        if name in source.definition.attr and source.definition.attr[name].type:
            return dtype_name(source.definition.attr[name].type)
    return _OUTPUT_TYPES.get(source.op) or _data_type(source) or ""


def _shapes_known(node: FlatNode, graph: FlatGraph) -> bool:
    return all(shape is not None for shape in _batch_inputs(node, graph))


def segments(graph: FlatGraph, candidates: list[str], folded: set[str]) -> Iterator[Segment]:
    """Groups of candidates that can be one engine each: they are connected, and no path leaves a
    group and comes back.

    TF-TRT grows its segments from the outputs. Counting levels from the outputs gives the same
    result: a level ends where a path crosses a node that is no candidate.
    """
    among = set(candidates)
    level: dict[str, int] = dict.fromkeys(graph.nodes, 0)
    for node in reversed(list(graph.nodes.values())):
        for name in {node_of(tensor) for tensor in node.inputs} & level.keys():
            crosses = name in among and node.name not in among
            level[name] = max(level[name], level[node.name] + crosses)
    group = {name: name for name in candidates}

    def root(name: str) -> str:
        while group[name] != name:
            group[name] = group[group[name]]
            name = group[name]
        return name

    for name in candidates:
        for tensor in graph.nodes[name].inputs:
            source = node_of(tensor)
            if source in among and level[source] == level[name]:
                group[root(source)] = root(name)
    members: dict[str, list[str]] = {}
    for name in candidates:
        members.setdefault(root(name), []).append(name)
    for names in members.values():
        nodes = [graph.nodes[name] for name in names]
        # A constant belongs to each segment that reads it, and counts in its size.
        read = {tensor for n in nodes for tensor in n.inputs if node_of(tensor) in folded}
        yield Segment(tuple(names), len(read) + sum(n.op not in NOT_EFFECTIVE for n in nodes))
