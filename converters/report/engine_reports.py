"""Makes EngineReports: of the engines in a graph, and of engines that a conversion would cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from converters.model.engine_file import StoredEngine, plan_hash, plan_header, read_engine_file
from converters.model.flat_graph import FlatGraph, FlatNode, node_of
from converters.model.trt_graph import (
    ENGINE_OP,
    EngineNode,
    LoadedGraph,
    PartialShape,
    engine_nodes,
)
from converters.report.report_data import EngineReport, PlanReport, TensorReport
from converters.segments import segment_rules
from converters.segments.exclusions import PLUMBING, compute_count
from converters.segments.segment_rules import Segment
from converters.segments.segmenter import SegmenterOptions
from converters.util.errors import PlanError
from converters.util.shapes import Shape


def engines_of(loaded: LoadedGraph, graphs: list[FlatGraph]) -> list[EngineReport]:
    """The engines that the graphs reach, in the order of the graphs; each once."""
    known = {engine.canonical_name: engine for engine in engine_nodes(loaded.graph_def)}
    found: dict[str, EngineReport] = {}
    for graph in graphs:
        for node in graph.nodes.values():
            if node.op != ENGINE_OP:
                continue
            engine = known[node.name.rpartition("/")[2]]
            made = found.get(engine.canonical_name)
            if made is None:
                found[engine.canonical_name] = _engine(loaded, engine, node, graph.signature)
            elif graph.signature not in made.signatures:
                signatures = (*made.signatures, graph.signature)
                found[engine.canonical_name] = replace(made, signatures=signatures)
    return list(found.values())


def stored_plans(loaded: LoadedGraph, engine: EngineNode) -> list[StoredEngine]:
    """The engine's plans, in the graph or in the model's assets; PlanError if the file is damaged.

    A static engine has one, whose batch is max_batch_size.
    """
    if engine.static:
        return [StoredEngine(_static_shapes(engine), engine.plan)] if engine.plan else []
    path = loaded.engine_file(engine)
    return [] if path is None else read_engine_file(path, allow_empty=True)


def _static_shapes(engine: EngineNode) -> tuple[Shape, ...]:
    return tuple(
        tuple(engine.max_batch_size if dim is None else dim for dim in shape or ())
        for shape in engine.input_shapes
    )


def foreseen(graph: FlatGraph, segment: Segment, options: SegmenterOptions) -> EngineReport:
    """The engine that a segment of an unconverted graph would become."""
    folded = segment_rules.constants(graph)
    inside = set(segment.names)
    nodes = [graph.nodes[name] for name in segment.names]
    fed = [t for n in nodes for t in n.inputs if node_of(t) not in inside | folded]
    ends = set(graph.outputs.values())
    read = [
        tensor
        for node in graph.nodes.values()
        if node.name not in inside
        for tensor in node.inputs
        if node_of(tensor) in inside
    ]
    return EngineReport(
        name="",
        signatures=(graph.signature,),
        function="",
        precision=options.precision,
        mode="dynamic",
        batch="implicit" if options.implicit_batch else "explicit",
        device="",
        nodes=len(nodes),
        compute_nodes=sum(node.op not in PLUMBING for node in nodes),
        ops=dict(sorted(Counter(node.op for node in nodes).items())),
        node_names=segment.names,
        inputs=tuple(_foreseen_tensor(t, graph) for t in dict.fromkeys(fed)),
        outputs=tuple(
            _foreseen_tensor(t, graph)
            for t in dict.fromkeys([*read, *(t for t in ends if node_of(t) in inside)])
        ),
        plans=(),
        calibrated_tensors=0,
        max_cached_engines=0,
        workspace_bytes=0,
        profile_strategy="",
        allow_build=False,
        problems=(),
    )


def _engine(
    loaded: LoadedGraph, engine: EngineNode, node: FlatNode, signature: str
) -> EngineReport:
    plans, problems = _plans(loaded, engine)
    if not engine.has_segment:
        known = "" if engine.ops else ", and which ops it had is not known"
        problems.append(f"its native segment was left out: other shapes are an error{known}")
    if engine.precision == "INT8" and engine.use_calibration and not engine.calibration_table:
        problems.append("INT8 without a calibration table: it calibrates at its first requests")
    return EngineReport(
        name=engine.canonical_name,
        signatures=(signature,),
        function=engine.function,
        precision=engine.precision,
        mode="static" if engine.static else "dynamic",
        batch="implicit" if engine.implicit_batch else "explicit",
        device=engine.device,
        nodes=len(engine.node_names),
        compute_nodes=compute_count(engine.ops),
        ops=engine.ops,
        node_names=engine.node_names,
        inputs=tuple(
            TensorReport(tensor, dtype, shape)
            for tensor, dtype, shape in zip(
                node.inputs, engine.input_dtypes, _padded(engine.input_shapes, engine.input_dtypes)
            )
        ),
        outputs=tuple(
            TensorReport(f"{node.name}:{i}", dtype, shape)
            for i, (dtype, shape) in enumerate(
                zip(engine.output_dtypes, _padded(engine.output_shapes, engine.output_dtypes))
            )
        ),
        plans=tuple(plans),
        calibrated_tensors=_calibrated(engine.calibration_table),
        max_cached_engines=engine.max_cached_engines,
        workspace_bytes=engine.workspace_bytes,
        profile_strategy=engine.profile_strategy,
        allow_build=engine.allow_build,
        problems=tuple(problems),
    )


def _plans(loaded: LoadedGraph, engine: EngineNode) -> tuple[list[PlanReport], list[str]]:
    try:
        stored = stored_plans(loaded, engine)
    except PlanError as error:
        return [], [str(error)]
    problems = []
    if not stored and engine.static:
        problems.append("it is static but holds no plan")
    elif not stored:
        instead = (
            "TensorFlow builds it at the first request"
            if engine.allow_build
            else "building at run time is off, so its native segment runs"
        )
        problems.append(f"no plan is saved: {instead}")
    if not engine.static and len(stored) > engine.max_cached_engines > 0:
        problems.append(
            f"{len(stored)} plans but a cache of {engine.max_cached_engines}: loading evicts some"
        )
    return [_plan(item.plan, item.input_shapes) for item in stored], problems


def _plan(plan: bytes, shapes: tuple[tuple[int, ...], ...]) -> PlanReport:
    return PlanReport(shapes, len(plan), plan_hash(plan), plan_header(plan).tensorrt_version)


def _padded(shapes: tuple[PartialShape, ...], dtypes: tuple[str, ...]) -> tuple[PartialShape, ...]:
    """One shape for each dtype; older converters left shapes out, which are unknown then."""
    return (*shapes, *([None] * (len(dtypes) - len(shapes))))


def _calibrated(table: str) -> int:
    """The number of tensors with a range: all lines of TensorRT's table but its header."""
    return max(0, len([line for line in table.splitlines() if line.strip()]) - 1)


def _foreseen_tensor(tensor: str, graph: FlatGraph) -> TensorReport:
    return TensorReport(
        tensor, segment_rules.tensor_dtype(tensor, graph), segment_rules.tensor_shape(tensor, graph)
    )
