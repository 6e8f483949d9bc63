"""Calibration tables and the tensors of the graph: ranges for engines that are cut differently, and
the user's own ranges in place of measured ones.

A bisection keeps ops out of TensorRT, which splits an engine or leaves none. The scales in its
table are still valid: TF-TRT names a tensor after the node that produces it, and an engine's inputs
and outputs (TensorRTInputPH_0) are tensors of the graph. So `CalibratedGraph.of` maps the scales to
the graph's tensors while the graph still has the calibrated engines, and `CalibratedGraph.split`
maps them to the engines of another cut. Tensors that TensorRT numbers itself ("(Unnamed Layer* 8)
...") cannot be found in another engine and run without INT8 there.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from converters.int8.calibration_table import STEPS, CalibrationTable, in_segment
from converters.int8.missing_ranges import COMPUTE_OPS, MissingRange
from converters.model.node_tensors import NodeTensors, shown
from converters.model.trt_graph import ENGINE_OP, EngineNode, engine_node, engine_nodes
from converters.util.errors import CalibrationError, SpecError, listed

_NUMBERED = re.compile(r"\(Unnamed Layer\* \d+\)")
# The values of the output are those of the first input, each of them.
_SAME_VALUES = frozenset(
    (
        *("Identity", "StopGradient", "Snapshot", "PreventGradient"),
        *("Reshape", "Squeeze", "ExpandDims", "Transpose"),
    )
)


@dataclasses.dataclass(frozen=True)
class CalibratedGraph:
    """What the calibration tables of a converted graph say about the graph's tensors.

    `scales` joins all tables, by the graph's names. `tables` are the engines' own tables, and
    `segments` identifies these engines, in the same order. `ranged` are the convolutions and matrix
    products whose inputs all have a scale.
    """

    scales: CalibrationTable
    tables: tuple[CalibrationTable, ...]
    segments: tuple[tuple[str, ...], ...]
    ranged: frozenset[str]

    @classmethod
    def of(cls, graph_def: Any) -> CalibratedGraph | None:
        """None for a graph without any table, or with none whose engine's segment is known."""
        if not any(engine.calibration_table for engine in engine_nodes(graph_def)):
            return None
        engines = [engine for engine in _engines(graph_def) if engine.facts.calibration_table]
        if not engines:
            return None
        tables = [CalibrationTable.parse(engine.facts.calibration_table) for engine in engines]
        named: dict[str, float] = {}
        sources: dict[str, float] = {}
        for engine, table in zip(engines, tables):
            for name, scale in table.scales.items():
                tensor = engine.tensor(name)
                if tensor is not None:
                    sources.setdefault(shown(engine.source(tensor)), scale)
                if name not in engine.bindings and not _NUMBERED.search(name):
                    named[name] = scale
        scales = CalibrationTable(tables[0].header, {**sources, **named})
        segments = tuple(engine.segment() for engine in engines)
        ranged = {name for engine in engines for name in engine.ranged(scales.scales)}
        return cls(scales, tuple(tables), segments, frozenset(ranged))

    def split(self, graph_def: Any) -> dict[str, CalibrationTable]:
        """The table of each INT8 engine in another cut of the same graph, by the engine's canonical
        name. An engine that is cut as before gets its own table.

        CalibrationError: a convolution or matrix product had scales for all inputs and would lose
        one, or an engine would have no scale for its inputs. It names the tensors.
        """
        own = dict(zip(reversed(self.segments), reversed(self.tables)))  # the first of equal ones
        found: dict[str, CalibrationTable] = {}
        missing: list[str] = []
        for engine in _engines(graph_def):
            name = engine.facts.canonical_name
            if engine.facts.precision != "INT8" or name in found:
                continue
            lines = engine.lines(self.scales.scales)
            made = CalibrationTable(self.scales.header, lines)
            found[name] = own.get(engine.segment(), made)
            missing += [
                f"{one} in {name}"
                for one in engine.missing(self.scales.scales)
                if one.taken_by in self.ranged
            ]
            if not lines:
                missing += [
                    f"{tensor!r}, input of {name}"
                    for tensor, dtype in zip(engine.facts.input_names, engine.facts.input_dtypes)
                    if dtype.startswith("float")
                ]
        if missing:
            text = "\n  ".join(dict.fromkeys(missing))
            raise CalibrationError(
                f"the calibration table has no range for these, now that engines are cut "
                f"otherwise:\n  {text}\nGive calibration data beside the table, or calibrate "
                "with the same denylist"
            )
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            "scales": self.scales.serialize(),
            "tables": [table.serialize() for table in self.tables],
            "segments": [list(segment) for segment in self.segments],
            "ranged": sorted(self.ranged),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> CalibratedGraph:
        return cls(
            CalibrationTable.parse(values["scales"]),
            tuple(map(CalibrationTable.parse, values["tables"])),
            tuple(map(tuple, values["segments"])),
            frozenset(values["ranged"]),
        )


def check_ranges(graph_def: Any, ranges: Iterable[str]) -> None:
    """SpecError for a tensor of `ranges` that a converted graph does not have, before anything is
    measured: TensorFlow's optimizer merges ops."""
    _refuse_lost(ranges, list(_engines(graph_def)), graph_def, inside=True)


def with_ranges(
    graph_def: Any, tables: Mapping[str, CalibrationTable], ranges: Mapping[str, float]
) -> dict[str, CalibrationTable]:
    """The tables of a converted graph's engines, with `ranges` (amax by tensor of the graph) in
    place of what was measured. A tensor outside of engines needs no range.

    SpecError: a tensor is in an engine whose table lacks it, or not in the graph.
    """
    found = dict(tables)
    left = dict.fromkeys(ranges)
    engines = list(_engines(graph_def))
    for engine in engines:
        table = tables.get(engine.facts.canonical_name)
        if table is None:
            continue
        wanted = {engine.origin(tensor): tensor for tensor in ranges}
        tensors = {line: engine.tensor(line) for line in table.scales}
        scales = dict(table.scales)
        replaced: dict[float, float] = {}
        for line, tensor in tensors.items():
            given = None if tensor is None else wanted.get(engine.source(tensor))
            if given is not None:
                left.pop(given, None)
                old, scales[line] = scales[line], ranges[given] / STEPS
                replaced[old] = max(scales[line], replaced.get(old, 0.0))
        for line, tensor in tensors.items():
            # A layer that a converter adds to move values has the very scale of what it moves.
            if tensor is None:
                scales[line] = replaced.get(scales[line], scales[line])
        found[engine.facts.canonical_name] = dataclasses.replace(table, scales=scales)
    _refuse_lost(left, engines, graph_def, inside=False)
    return found


def _refuse_lost(
    ranges: Iterable[str], engines: Sequence[_Engine], graph_def: Any, inside: bool
) -> None:
    """SpecError for a tensor that is neither outside of the engines nor, with `inside`, in one."""
    nodes = [node for engine in engines for node in engine.inside.nodes.values()]
    own = {node.name for node in nodes if node.op != "Const"}
    there = {node.name for node in graph_def.node}.union(*(e.around.nodes for e in engines))
    there |= own if inside else set()
    lost = [shown(tensor) for tensor in ranges if tensor.rpartition(":")[0] not in there]
    if lost:
        near = difflib.get_close_matches(lost[0], sorted(own), n=3, cutoff=0.4)
        hint = f" Near it are {', '.join(map(repr, near))}." if near else ""
        raise SpecError(
            f"custom_ranges: {listed(list(map(repr, lost)))}: the converted engines have no range "
            "of that name; TensorFlow's optimizer may have merged the op with the one behind it."
            f"{hint} Name another tensor, or leave this one out"
        )


class _Engine:
    """An engine in the graph or function body `around` it. Tensors go by NodeTensors' names."""

    def __init__(self, node: Any, facts: EngineNode, around: NodeTensors, body: Any) -> None:
        self.facts = facts
        self.node = node
        self.around = around
        self.siblings: Mapping[str, _Engine] = {}
        self._nodes = list(body.node_def)
        self.inside = NodeTensors(self._nodes)
        self.inputs = [f"{arg.name}:0" for arg in body.signature.input_arg]
        self.outputs = [self.inside.key(body.ret[arg.name]) for arg in body.signature.output_arg]
        # TensorRT's names for them.
        self.bindings = {
            **{f"TensorRTInputPH_{i}": tensor for i, tensor in enumerate(self.inputs)},
            **{f"TensorRTOutputPH_{j}": tensor for j, tensor in enumerate(self.outputs)},
        }

    def tensor(self, name: str) -> str | None:
        """The segment's tensor that a table's line names; None for what TensorRT or a converter
        adds."""
        if name in self.bindings:
            return self.bindings[name]
        node, colon, index = name.rpartition(":")
        if not (colon and index.isdigit()):
            node, index = name, "0"
        return f"{node}:{index}" if node in self.inside.nodes else None

    def source(self, tensor: str) -> str:
        """Follows a tensor of the segment to the tensor that its values come from: in the segment,
        in the graph around it, or in another engine."""
        return self._followed(tensor, self.inside)

    def origin(self, tensor: str) -> str:
        """Like `source`, of a tensor that is anywhere in the graph around or in its engines."""
        for engine in self.siblings.values():
            if engine.inside.producer(tensor) is not None:
                return engine.source(tensor)
        return self._followed(tensor, self.around)

    def _followed(self, tensor: str, graph: NodeTensors) -> str:
        engine: _Engine | None = self if graph is self.inside else None
        while True:
            node = graph.producer(tensor)
            if node is None:
                if engine is None or tensor not in engine.inputs:
                    return tensor
                index = engine.inputs.index(tensor)
                graph, node = engine.around, engine.node
                tensor, engine = graph.inputs(node)[index], None
            elif node.op == ENGINE_OP and node.name in self.siblings:
                engine = self.siblings[node.name]
                graph = engine.inside
                tensor = engine.outputs[int(tensor.rpartition(":")[2])]
            elif node.op in _SAME_VALUES:
                tensor = graph.inputs(node)[0]
            else:
                return tensor

    def segment(self) -> tuple[str, ...]:
        """What identifies the engine in any cut: its nodes, and the tensors that its bindings
        number."""
        inputs = (shown(self.source(tensor)) for tensor in self.inputs)
        return (*sorted(self.inside.nodes), *inputs, *self.outputs)

    def lines(self, given: Mapping[str, float]) -> dict[str, float]:
        """The engine's table: the scales in `given` of its tensors, and of the layers that TF-TRT's
        converters add to its nodes."""
        scales = self._scales(given)
        bound = {name: scales[tensor] for name, tensor in self.bindings.items() if tensor in scales}
        inner = {
            shown(tensor): scale
            for tensor, scale in scales.items()
            if tensor not in self.bindings.values()
        }
        nodes = set(self.inside.nodes)
        added = {
            name: scale
            for name, scale in given.items()
            if self.tensor(name) is None and in_segment(name, nodes)
        }
        return {**bound, **inner, **added}

    def missing(self, given: Mapping[str, float]) -> list[MissingRange]:
        """The inputs of convolutions and matrix products for which `given` has no scale. Unlike a
        quantize node's range, a scale holds for its own tensor only."""
        scales = self._scales(given)
        found = []
        for node in self._nodes:
            inputs = self.inside.inputs(node)
            for tensor in (inputs[i] for i in COMPUTE_OPS.get(node.op, ()) if i < len(inputs)):
                if tensor not in scales and self.inside.constant(tensor) is None:
                    found.append(MissingRange(shown(tensor), node.name, node.op))
        return found

    def ranged(self, given: Mapping[str, float]) -> set[str]:
        """The convolutions and matrix products for which `missing` lists no input."""
        lacking = {one.taken_by for one in self.missing(given)}
        return {node.name for node in self._nodes if node.op in COMPUTE_OPS} - lacking

    def _scales(self, given: Mapping[str, float]) -> dict[str, float]:
        tensors = [
            *self.inputs,
            *(f"{node.name}:0" for node in self._nodes if node.op != "Const"),
            *filter(None, map(self.tensor, given)),
        ]
        found = {}
        for tensor in dict.fromkeys(tensors):
            for name in (shown(tensor), shown(self.source(tensor))):
                if name in given:
                    found[tensor] = given[name]
                    break
        return found


def _engines(graph_def: Any) -> Iterator[_Engine]:
    """Those whose segments are in the graph: a source may have engines without."""
    functions = {function.signature.name: function for function in graph_def.library.function}
    bodies = [("", graph_def.node), *((name, f.node_def) for name, f in functions.items())]
    for where, nodes in bodies:
        if not any(node.op == ENGINE_OP for node in nodes):
            continue
        around = NodeTensors(nodes)
        facts = [(n, engine_node(n, where, functions)) for n in nodes if n.op == ENGINE_OP]
        engines = [
            _Engine(node, known, around, functions[known.segment_func])
            for node, known in facts
            if known.has_segment
        ]
        for engine in engines:
            engine.siblings = {other.node.name: other for other in engines}
        yield from engines
