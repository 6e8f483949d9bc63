"""inspect_model: which nodes of a model are in TensorRT engines, which are not, and why.

For a model that is not converted it makes a forecast. It needs TensorFlow 2.17 or later, but no GPU
and no TensorRT, because graphs are only read as protobuf.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from converters.model.flat_graph import FlatGraph, FlatNode, flatten
from converters.model.trt_graph import ENGINE_OP, LoadedGraph, engine_nodes, load_graph
from converters.report.advice import advise
from converters.report.engine_reports import engines_of, foreseen
from converters.report.graph_boxes import draw
from converters.report.html_report import html_report
from converters.report.layers_record import require_layers
from converters.report.report_data import EngineReport, LeftOut, NodeCount, ReportData
from converters.report.text_report import advice_text, text_report
from converters.segments import exclusions, segment_rules
from converters.segments.exclusions import PLUMBING, SegmenterLog
from converters.segments.reasons import Reasons, Record, find_record, options_of
from converters.segments.segment_rules import Forecast
from converters.segments.segmenter import (
    SegmenterOptions,
    ask_segmenter,
    tftrt_is_compiled_in,
    why_not_asked,
)
from converters.util.errors import ModelError, UnavailableError


class ModelReport(ReportData):
    """What inspect_model found; str() is the text report, without the advice."""

    def advice_text(self) -> str:
        """What to change in the model, as text."""
        return advice_text(self)

    def to_html(self) -> str:
        """The report as one page that needs no other file."""
        return html_report(self)

    def __str__(self) -> str:
        return text_report(self)


@dataclass
class _Part:
    """A signature's graph, with what is known about it before the report is made."""

    graph: FlatGraph
    rules: Forecast
    log: SegmenterLog | None = None
    # The engine of a node, as its place in the report's list. A converted node is itself an engine.
    engine_of: dict[str, int] = field(default_factory=dict)

    def outside(self) -> list[FlatNode]:
        return [node for node in self.graph.nodes.values() if node.name not in self.engine_of]


def inspect_model(
    path: str | Path,
    original: str | Path | None = None,
    tags: Sequence[str] | None = None,
    record: str | Path | Mapping[str, Any] | None = None,
    *,
    options: SegmenterOptions | None = None,
    ask: bool | None = None,
    layers: bool = False,
) -> ModelReport:
    """Reads the model at `path` (SavedModel folder, frozen .pb, .meta) and reports on it.

    Args:
      path: the model, converted or not.
      original: the model before conversion, for its count of nodes, and to ask TF-TRT about.
      tags: the MetaGraph of a SavedModel; None takes "serve", or the only one.
      record: the conversion's conversion.json, its folder or its content; None looks in `path`.
      options: how the model was (or would be) cut; None takes the record's, or the defaults.
      ask: whether to ask TF-TRT's segmenter, in a child process, for reasons that are not recorded.
        That takes about 15 s for each signature. None asks if this TensorFlow has TF-TRT inside
        and the unconverted model is given. Otherwise the rules give the reasons.
      layers: whether the report has the layers of each engine: what TensorRT fused, and in which
        type it computes. `convert` keeps them in layers.json.

    Raises:
      ModelError: a model or the record cannot be read, or `layers` is True and there are none.
      UnavailableError: `ask` is True and TF-TRT's segmenter cannot be asked.
    """
    loaded = load_graph(path, tags)
    kept = find_record(loaded.path, record)
    graphs = distinct(flatten(loaded))
    if any(node.op == ENGINE_OP for graph in graphs for node in graph.nodes.values()):
        before = None if original is None else load_graph(original, tags)
        # Known before the segmenter is asked, which takes time.
        known = require_layers(loaded) if layers else ()
        report = replace(_converted(loaded, graphs, kept, options, before, ask), layers=known)
        found = {engine.precision for engine in report.engines}
        precision = next((name for name in ("INT8", "FP16") if name in found), "FP32")
        # With the ops of each engine that still has them.
        graphs = distinct(flatten(loaded, native=True))
    else:
        if layers:
            raise ModelError(
                f"{loaded.path} is not converted, so that it has no layers of TensorRT: convert it "
                "with `trt-convert convert`, and inspect the result"
            )
        chosen = options_of(kept, options)
        report = _forecast(loaded, graphs, kept, chosen, ask)
        precision = chosen.precision
    return replace(report, advice=advise(graphs, report, precision))


def distinct(graphs: list[FlatGraph]) -> list[FlatGraph]:
    """The graphs without duplicates: signatures may share one graph."""
    found: dict[Any, FlatGraph] = {}
    for graph in graphs:
        # The graphs of two such signatures differ only in the names of placeholders.
        names = {tensor: f"input {key}" for key, tensor in graph.inputs.items()}
        body = frozenset(
            (node.name, node.op, tuple(names.get(tensor, tensor) for tensor in node.inputs))
            for node in graph.nodes.values()
            if not node.op.startswith("Placeholder")
        )
        found.setdefault((body, frozenset(graph.outputs.values())), graph)
    return list(found.values())


def _converted(
    loaded: LoadedGraph,
    graphs: list[FlatGraph],
    kept: Record,
    given: SegmenterOptions | None,
    before: LoadedGraph | None,
    ask: bool | None,
) -> ModelReport:
    engines = engines_of(loaded, graphs)
    options = options_of(kept, given)
    if given is None and not kept.spec:
        # The engines themselves know how they were cut.
        options = replace(
            options,
            precision=engines[0].precision,
            implicit_batch=engines[0].batch == "implicit",
        )
    notes = []
    reached = {engine.name for engine in engines}
    others = [e for e in engine_nodes(loaded.graph_def) if e.canonical_name not in reached]
    if others:
        names = ", ".join(engine.canonical_name for engine in others)
        notes.append(f"no signature reaches these engines of the function library: {names}")
    static = any(engine.mode == "static" for engine in engines)
    place = {engine.name: i for i, engine in enumerate(engines)}
    parts = [
        _Part(
            graph,
            # The limit of engines is used up: they exist already.
            segment_rules.forecast(graph, replace(options, max_engines=0), static),
            engine_of={
                node.name: place[node.name.rpartition("/")[2]]
                for node in graph.nodes.values()
                if node.op == ENGINE_OP
            },
        )
        for graph in graphs
    ]
    asked = None
    if before is not None and not kept.log and _may_ask(ask, before):
        try:
            asked = _asked_log(before, options)
        except UnavailableError as error:
            _refuse_or_note(ask, error, notes)
    outside = [node for part in parts for node in part.outside()]
    if before is not None:
        flat = flatten(before)
        # Two signatures with one graph before the conversion can have two graphs after it.
        served = {part.graph.signature for part in parts}
        original = [graph for graph in flat if graph.signature in served] or distinct(flat)
        count = _count([node for graph in original for node in graph.nodes.values()])
    else:
        rest, inside = _count(outside), sum(engine.nodes for engine in engines)
        compute = rest.compute + sum(engine.compute_nodes for engine in engines)
        count = NodeCount(rest.total + inside, compute)
    reasons = Reasons(kept, asked, options, len(engines))
    counted = "reconstructed" if before is None else "original"
    return _report(loaded, parts, engines, reasons, kept, (count, counted), False, notes)


def _forecast(
    loaded: LoadedGraph,
    graphs: list[FlatGraph],
    kept: Record,
    options: SegmenterOptions,
    ask: bool | None,
) -> ModelReport:
    count = _count([node for graph in graphs for node in graph.nodes.values()])
    notes: list[str] = []
    parts: list[_Part] = []
    engines: list[EngineReport] = []
    if _may_ask(ask, loaded):
        try:
            for graph in graphs:
                part, made = _asked_part(loaded, graph, options, len(engines))
                parts.append(part)
                engines += made
        except UnavailableError as error:
            _refuse_or_note(ask, error, notes)
            parts, engines = [], []
    if not parts:
        for graph in graphs:
            part = _Part(graph, segment_rules.forecast(graph, options))
            places = {name: place for place, name in enumerate(graph.nodes)}
            for segment in sorted(part.rules.engines, key=lambda s: places[s.names[-1]]):
                part.engine_of.update(dict.fromkeys(segment.names, len(engines)))
                engines.append(foreseen(graph, segment, options))
            parts.append(part)
        notes.append(
            "a forecast by rule: what TensorFlow optimizes before, and what TF-TRT's converters "
            "think of a node's attributes, is not in it"
        )
    engines = [replace(engine, name=f"engine {i}", problems=()) for i, engine in enumerate(engines)]
    nothing = Record()
    reasons = Reasons(nothing, None, options, len(engines))
    return _report(loaded, parts, engines, reasons, nothing, (count, "model"), True, notes)


def _asked_part(
    loaded: LoadedGraph, graph: FlatGraph, options: SegmenterOptions, first: int
) -> tuple[_Part, list[EngineReport]]:
    """The graph as TF-TRT's segmenter cuts it; its engines are numbered from `first`."""
    answer = ask_segmenter(
        loaded.path, options, tags=loaded.tags or None, signature=graph.signature or None
    )
    cut = LoadedGraph(loaded.path, "frozen_graph", answer.graph_def, {}, (), "")
    (flat,) = flatten(cut)
    flat = replace(flat, signature=graph.signature)
    engines = engines_of(cut, [flat])
    place = {engine.name: first + i for i, engine in enumerate(engines)}
    part = _Part(
        flat,
        segment_rules.forecast(flat, replace(options, max_engines=0)),
        exclusions.read_segmenter_log(answer.log),
        {n.name: place[n.name] for n in flat.nodes.values() if n.op == ENGINE_OP},
    )
    return part, engines


def _asked_log(before: LoadedGraph, options: SegmenterOptions) -> SegmenterLog:
    """What the segmenter says of every signature of the model before its conversion."""
    logs = [
        ask_segmenter(
            before.path, options, tags=before.tags or None, signature=graph.signature or None
        ).log
        for graph in distinct(flatten(before))
    ]
    return exclusions.read_segmenter_log("\n".join(logs))


def _may_ask(ask: bool | None, model: LoadedGraph) -> bool:
    why_not = why_not_asked(model)
    if ask and why_not:
        raise UnavailableError(
            f"TF-TRT's segmenter cannot be asked about {model.path}: {why_not}. Go by the rules "
            "(--no-ask), or give a frozen graph or a SavedModel with signatures"
        )
    return bool(ask) or (ask is None and not why_not and tftrt_is_compiled_in())


def _refuse_or_note(ask: bool | None, error: UnavailableError, notes: list[str]) -> None:
    if ask:
        raise error
    notes.append(f"by rule, because: {error}")


def _report(
    loaded: LoadedGraph,
    parts: list[_Part],
    engines: list[EngineReport],
    reasons: Reasons,
    kept: Record,
    before: tuple[NodeCount, str],
    forecast: bool,
    notes: list[str],
) -> ModelReport:
    outside = [node for part in parts for node in part.outside()]
    if forecast:
        # TensorFlow folds them away before TF-TRT sees them.
        folded = set().union(*(segment_rules.constants(part.graph) for part in parts))
        outside = [node for node in outside if node.name not in folded]
    after = _count(outside)
    left_out = [
        LeftOut(node.name, node.op, part.graph.signature, *_why(reasons, node, part))
        for part in parts
        for node in segment_rules.computing(part.graph, part.outside())
    ]
    unknown = sum(part.rules.unknown_shapes for part in parts)
    if unknown and any(out.source == exclusions.RULE for out in left_out):
        notes.append(f"the graph does not state the shapes of {unknown} nodes; by rule they pass")
    sources = Counter(out.source for out in left_out)
    asked = any(part.log for part in parts)
    report = ModelReport(
        path=str(loaded.path),
        kind=loaded.kind,
        tags=loaded.tags,
        tensorflow_version=loaded.tensorflow_version,
        signatures=loaded.signatures,
        forecast=forecast,
        reasons_from=sources.most_common(1)[0][0]
        if sources
        else exclusions.RECORDED
        if kept.log or kept.rows
        else exclusions.ASKED
        if asked
        else exclusions.RULE,
        nodes_before=before[0],
        before_from=before[1],
        nodes_after=NodeCount(after.total + len(engines), len(left_out) + len(engines)),
        engines=tuple(engines),
        left_out=tuple(left_out),
        plumbing=dict(Counter(n.op for n in outside if n.op in PLUMBING).most_common()),
        notes=tuple(notes),
    )
    return replace(report, drawings=tuple(draw(p.graph, p.engine_of, report) for p in parts))


def _why(reasons: Reasons, node: FlatNode, part: _Part) -> tuple[str, str, str]:
    return reasons.of(node, part.graph.signature, part.rules, part.log)


def _count(nodes: Sequence[FlatNode]) -> NodeCount:
    return NodeCount(len(nodes), sum(node.op not in PLUMBING for node in nodes))
