"""Turns a signature's graph into boxes to draw: engines, left-out nodes, inputs and outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from converters.model.flat_graph import FlatGraph, node_of
from converters.report.report_data import Box, Drawing, ReportData
from converters.segments import segment_rules
from converters.segments.exclusions import PLUMBING
from converters.segments.reasons import names_of
from converters.segments.segment_rules import shape_text

# With more left-out nodes than this, connected ones share a box.
_MOST_SINGLE = 60
_MOST_OPS = 4


def draw(graph: FlatGraph, engine_of: Mapping[str, int], report: ReportData) -> Drawing:
    """The boxes and edges of one signature; `engine_of` places nodes in `report.engines`.

    Plumbing and constants get no box: an edge runs through them.
    """
    boxes: dict[str, Box] = {}
    box_of: dict[str, str] = {}
    for name, place in engine_of.items():
        key = f"engine {place}"
        box_of[name] = key
        if key not in boxes:
            boxes[key] = _engine_box(key, place, report)
    for key, tensor in graph.inputs.items():
        node = node_of(tensor)
        if node in graph.nodes:
            box_of[node] = f"input {key}"
            shape = shape_text(segment_rules.tensor_shape(tensor, graph))
            text = f"{segment_rules.tensor_dtype(tensor, graph)} {shape}".strip()
            boxes[f"input {key}"] = Box(f"input {key}", "input", key, (text,), 1)
    categories = {out.node: out for out in report.left_out if out.signature == graph.signature}
    for names in _groups(graph, [name for name in categories if name in graph.nodes]):
        key = f"left {names[0]}"
        box_of.update(dict.fromkeys(names, key))
        ops = Counter(graph.nodes[name].op for name in names)
        whys = Counter(categories[name].category for name in names)
        if len(names) == 1:
            title, lines = next(iter(ops)), [names_of(names[0])[-1], next(iter(whys))]
        else:
            title, lines = f"{len(names)} nodes", [ops_text(ops), ", ".join(whys)]
        boxes[key] = Box(key, "left out", title, tuple(lines), len(names))
    edges = _edges(graph, box_of)
    for key, tensor in graph.outputs.items():
        box = Box(f"output {key}", "output", key, (), 1)
        boxes[box.key] = box
        edges.update(dict.fromkeys((source, box.key) for source in _sources(graph, box_of, tensor)))
    return Drawing(graph.signature, tuple(boxes.values()), tuple(edges))


def ops_text(ops: Mapping[str, int]) -> str:
    """The most frequent ops: "Conv2D x53, Relu x49, 4 more"; plumbing comes last."""
    order = sorted(ops.items(), key=lambda item: (item[0] in PLUMBING, -item[1], item[0]))
    shown = [op if count == 1 else f"{op} \u00d7{count}" for op, count in order[:_MOST_OPS]]
    more = len(order) - _MOST_OPS
    return ", ".join(shown) + (f", {more} more" if more > 0 else "")


def _engine_box(key: str, place: int, report: ReportData) -> Box:
    engine = report.engines[place]
    lines = (f"{engine.compute_nodes} ops, {engine.precision}", ops_text(engine.ops))
    return Box(key, "engine", engine.name, lines, engine.nodes, place)


def _groups(graph: FlatGraph, names: list[str]) -> Iterable[tuple[str, ...]]:
    if len(names) <= _MOST_SINGLE:
        return [(name,) for name in names]
    return [segment.names for segment in segment_rules.segments(graph, names, set())]


def _edges(graph: FlatGraph, box_of: Mapping[str, str]) -> dict[tuple[str, str], None]:
    """Edges between boxes, in order and each once."""
    found: dict[tuple[str, str], None] = {}
    # The boxes whose values reach each node that has no box.
    behind: dict[str, set[str]] = {}
    for node in graph.nodes.values():
        sources = set()
        for name in map(node_of, node.inputs):
            sources |= {box_of[name]} if name in box_of else behind.get(name, set())
        if node.name in box_of:
            box = box_of[node.name]
            found.update(((source, box), None) for source in sorted(sources) if source != box)
        behind[node.name] = sources
    return found


def _sources(graph: FlatGraph, box_of: Mapping[str, str], tensor: str) -> list[str]:
    waiting = [node_of(tensor)]
    seen: set[str] = set()
    found: dict[str, None] = {}
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in box_of:
            found[box_of[name]] = None
        elif name in graph.nodes:
            waiting.extend(map(node_of, graph.nodes[name].inputs))
    return list(found)
