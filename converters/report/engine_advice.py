"""Rules about what keeps a model from being one large engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from converters.report.advice_subject import GUIDE, TFTRT, Found, Subject
from converters.report.advised_graph import AdvisedGraph
from converters.report.mode_advice import is_learning_phase
from converters.report.report_data import LeftOut
from converters.segments import exclusions
from converters.segments.segment_rules import tensor_dtype

LEAST_SHARE = 0.9
# An engine of fewer compute nodes than this, beside larger ones, is small.
SMALL_ENGINE = 10
SMALL_SHARE = 0.05
_MOST_NAMED = 3
# TF-TRT takes each of these in many ops.
_TAKEN_TYPES = ("float32", "float16", "int32", "bool", "")

_LOOPS = ("While", "StatelessWhile", "LoopCond")
_BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase", "Switch")
_LOOP_CURE = (
    "unroll a loop of fixed length (unroll=True of Keras's recurrent layers), or take the loop out "
    "of the model and convert what it calls"
)
_BRANCH_CURE = (
    "save one way only, or compute both and choose with tf.where, which TF-TRT converts (SelectV2)"
)
_MOVE = (
    "move it to the beginning or the end of the model, out of it, or write it with ops that TF-TRT "
    "converts"
)
_GATHER_CURE = (
    "gather with int32 indices along one axis (tf.gather), or with slices where the indices are "
    f"constant; else {_MOVE}"
)
_TOP_K_CURE = f"take a constant k of float32 scores (tf.math.top_k); else {_MOVE}"
_CONCAT_CURE = (
    "give all parts one type of float32, float16 and int32, and concatenate along a constant axis "
    "that is not the batch"
)
_CURES = {
    **dict.fromkeys(("Gather", "GatherV2", "GatherNd", "ResourceGather"), _GATHER_CURE),
    **dict.fromkeys(("TopK", "TopKV2"), _TOP_K_CURE),
    **dict.fromkeys(("Concat", "ConcatV2", "ParallelConcat"), _CONCAT_CURE),
}
# These have rules of their own, or nothing is to be done about them.
_NOT_CUTS = (
    *(exclusions.TOO_SMALL, exclusions.ENGINE_CAP, exclusions.FAILED, exclusions.OUTPUT),
    *(exclusions.DENYLISTED, exclusions.DTYPE),
)


def little_converted(subject: Subject) -> Iterator[Found]:
    """Less than nine tenths of the compute nodes are in engines."""
    report = subject.report
    # A node that is an output stays outside in every model.
    left = [out for out in report.left_out if out.category != exclusions.OUTPUT]
    total = report.converted_compute + len(left)
    if not left or report.converted_compute >= LEAST_SHARE * total:
        return
    ops = Counter(out.op for out in left).most_common(_MOST_NAMED)
    named = ", ".join(f"{op} ({count})" for op, count in ops)
    yield Found(
        "",
        tuple(out.node for out in left if out.op == ops[0][0]),
        f"only {100 * report.converted_compute / total:.1f} % of the compute nodes are in engines; "
        f"most of the others are {named}",
        "begin with the op that is left out most: the report has the reason of each",
        GUIDE,
    )


def engines_cut(subject: Subject) -> Iterator[Found]:
    """An op that stays in TensorFlow, with converted nodes before and behind it."""
    out = {o.node: o for o in subject.report.left_out}
    for graph in subject.graphs:
        inside = {node.name for node in graph.computing()} - out.keys()
        behind = graph.behind(lambda node, inside=inside: node.name in inside)  # type: ignore[misc]
        before = graph.before(lambda node, inside=inside: node.name in inside)  # type: ignore[misc]
        cutting = [
            out[name]
            for name in out.keys() & behind & before
            if out[name].category not in _NOT_CUTS
            and out[name].op not in (*_LOOPS, *_BRANCHES)
            and not out[name].op.startswith("TensorList")  # what a loop reads and writes
            and name in graph.graph.nodes
        ]
        for (op, reason), nodes in _grouped(cutting, graph):
            yield Found(
                graph.signature,
                nodes,
                f"{op} is in no engine, with engines before and behind it: {reason}",
                _CURES.get(op, _MOVE),
                f"{GUIDE}; {TFTRT}, its table of ops",
            )


def control_flow(subject: Subject) -> Iterator[Found]:
    """Loops and branches, whose bodies TF-TRT does not look into."""
    for graph in subject.graphs:
        phase = graph.behind(is_learning_phase)
        for ops, what, cure in (
            (_LOOPS, "a loop", _LOOP_CURE),
            (_BRANCHES, "a branch", _BRANCH_CURE),
        ):
            found = [node for node in graph.computing(*ops) if node.name not in phase]
            if found:
                yield Found(
                    graph.signature,
                    tuple(node.name for node in found),
                    f"{what} is in no engine, nor is what it calls, and it cuts the graph",
                    cure,
                    f"{TFTRT}, its table of ops",
                )


def data_types(subject: Subject) -> Iterator[Found]:
    """Nodes that TF-TRT would take if their data had another type."""
    out = [o for o in subject.report.left_out if o.category == exclusions.DTYPE]
    for graph in subject.graphs:
        own = [
            o
            for o in out
            if o.node in graph.graph.nodes
            and o.signature == graph.signature
            and tensor_dtype(f"{o.node}:0", graph.graph) not in _TAKEN_TYPES
        ]
        for (op, reason), nodes in _grouped(own, graph):
            yield Found(
                graph.signature,
                nodes,
                f"{op} is in no engine: {reason}",
                "cast at the model's inputs, and compute in float32 and int32 (tf.argmax takes "
                "output_type=tf.int32)",
                f"{TFTRT}, its table of types",
            )


def small_segments(subject: Subject) -> Iterator[Found]:
    """Nodes that TF-TRT takes, in segments that are too small to be an engine."""
    return _left_out_for(
        exclusions.TOO_SMALL,
        subject,
        "TensorRT could run this, but other ops cut it off in segments smaller than "
        "minimum_segment_size",
        "remove the ops around them that are left out; a smaller minimum_segment_size makes "
        "engines that cost more than they save",
        GUIDE,
    )


def small_engines(subject: Subject) -> Iterator[Found]:
    """Engines of a few nodes beside larger ones."""
    engines = subject.report.engines
    total = subject.report.converted_compute
    small = [
        engine
        for engine in engines
        if engine.compute_nodes < min(SMALL_ENGINE, SMALL_SHARE * total)
    ]
    if not small:
        return
    size = max(engine.nodes for engine in small)
    yield Found(
        "",
        tuple(name for engine in small for name in engine.node_names),
        f"{len(small)} of {len(engines)} engines have fewer than {SMALL_ENGINE} compute nodes: "
        "starting them and changing the layout of their data can take longer than they save",
        f"--minimum-segment-size {size + 1} leaves them to TensorFlow: measure both",
        GUIDE,
    )


def engine_limit(subject: Subject) -> Iterator[Found]:
    """Segments beyond TF-TRT's largest number of engines."""
    return _left_out_for(
        exclusions.ENGINE_CAP,
        subject,
        "TensorRT could run this, but its segments are beyond TF-TRT's limit of engines",
        "remove the ops that cut the graph into so many segments, or raise "
        "TF_TRT_MAX_ALLOWED_ENGINES",
        f"{TFTRT}, its segmenter",
    )


def _left_out_for(
    category: str, subject: Subject, reason: str, cure: str, source: str
) -> Iterator[Found]:
    """The nodes of each signature that are left out for one category of reasons."""
    for graph in subject.graphs:
        nodes = tuple(
            out.node
            for out in subject.report.left_out
            if out.category == category and out.signature == graph.signature
        )
        if nodes:
            yield Found(graph.signature, nodes, reason, cure, source)


def _grouped(
    found: Iterable[LeftOut], graph: AdvisedGraph
) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    """By op and reason, each with its nodes in the graph's order."""
    place = {name: i for i, name in enumerate(graph.graph.nodes)}
    groups: dict[tuple[str, str], list[str]] = {}
    for out in sorted(found, key=lambda out: place[out.node]):
        groups.setdefault((out.op, out.reason), []).append(out.node)
    for key, nodes in groups.items():
        yield key, tuple(nodes)
