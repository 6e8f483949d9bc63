"""Rules about layers that run in TensorRT, but not as fast as they could."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from converters.model.flat_graph import FlatNode, node_of
from converters.report.advice_subject import BATCHING, LAYERS, TENSOR_CORES, Found, Subject
from converters.report.advised_graph import CONVOLUTIONS, MATRIX_PRODUCTS, AdvisedGraph
from converters.report.report_data import EngineReport

# Elements that Tensor Cores take at once: FP32 runs as TF32.
ALIGNMENT: Mapping[str, int] = {"FP32": 4, "FP16": 8, "INT8": 32}
# The number of classes is the task's. A last layer of fewer outputs costs next to nothing.
SMALL_HEAD = 256
LARGE_K = 128
# TensorRT's own limit.
_MOST_K = 3840
_REDUCTIONS = ("Mean", "Sum", "Max", "Min", "Prod")


def channels(subject: Subject) -> Iterator[Found]:
    """Convolutions whose channels Tensor Cores must pad."""
    for graph in subject.graphs:
        sizes = {}
        for node in graph.computing(*CONVOLUTIONS):
            # A convolution's gradient has the filter in the same place; its channels swap.
            kernel = graph.shape(node.inputs[1]) if len(node.inputs) > 1 else None
            # After pooling to one point, as in squeeze and excitation, there is next to no work.
            sides = (graph.shape(f"{node.name}:0") or ())[1:-1]
            point = bool(sides) and all(side == 1 for side in sides)
            if kernel is not None and len(kernel) > 3 and not point:
                pair = kernel[-2], kernel[-1]
                sizes[node.name] = pair[::-1] if "Backprop" in node.op else pair
        yield from _misaligned(subject, graph, sizes, "input channels", "output channels")


def matrices(subject: Subject) -> Iterator[Found]:
    """Matrix products of K and N that Tensor Cores must pad: [M, K] by [K, N]."""
    for graph in subject.graphs:
        sizes = {}
        for node in graph.computing(*MATRIX_PRODUCTS):
            if len(node.inputs) == 2:
                sizes[node.name] = _inner_and_columns(node, graph)
        yield from _misaligned(subject, graph, sizes, "inner elements (K)", "columns (N)")


def batch_of_one(subject: Subject) -> Iterator[Found]:
    """FP16 or INT8 engines, or a model, for a batch of one only."""
    report = subject.report
    if report.forecast:
        for graph in subject.graphs:
            shapes = [shape for t in graph.graph.inputs.values() if (shape := graph.shape(t))]
            if shapes and all(shape[0] == 1 for shape in shapes):
                nodes = tuple(map(node_of, graph.graph.inputs.values()))
                yield _one(graph.signature, nodes, "the model takes a batch of 1 only")
        return
    for engine in report.engines:
        if engine.precision == "FP32" or not engine.plans:
            continue
        if _batches(engine) == {1}:
            text = f"{engine.name} is built in {engine.precision} for a batch of 1 only"
            yield _one(engine.signatures[0], (engine.name,), text)


def _batches(engine: EngineReport) -> set[int | None]:
    """The batches that an engine takes; None is any, or one that is not known."""
    if engine.batch == "implicit":
        return {shape[0] for plan in engine.plans for shape in plan.input_shapes if shape}
    # A plan tells only the shapes that it was first built with, and serves its whole profile.
    shapes = [tensor.shape for tensor in engine.inputs if tensor.shape != ()]
    return {None if shape is None else shape[0] for shape in shapes}


def gather_axis(subject: Subject) -> Iterator[Found]:
    """Gathering along another axis than the first."""
    for graph, node in _converted(subject, "GatherV2"):
        axes = graph.integers(node.inputs[2]) if len(node.inputs) > 2 else None
        if axes is not None and len(axes) == 1 and axes[0] != 0:
            yield Found(
                graph.signature,
                (node.name,),
                f"it gathers along axis {axes[0]}; TensorRT fuses no Gather, and its "
                "fastest is along axis 0",
                "gather along axis 0 of a tensor that is laid out so",
                LAYERS,
            )


def large_top_k(subject: Subject) -> Iterator[Found]:
    """TopK of many elements."""
    for graph, node in _converted(subject, "TopKV2"):
        k = graph.integers(node.inputs[1]) if len(node.inputs) > 1 else None
        if k is not None and len(k) == 1 and k[0] > LARGE_K:
            yield Found(
                graph.signature,
                (node.name,),
                f"k is {k[0]}: TensorRT's TopK is fast for small k, and takes {_MOST_K} at most",
                "drop low scores by a threshold before, and take fewer",
                LAYERS,
            )


def reduced_axes(subject: Subject) -> Iterator[Found]:
    """Reductions over axes that are not the last ones."""
    for graph, node in _converted(subject, *_REDUCTIONS):
        axes = graph.integers(node.inputs[1]) if len(node.inputs) > 1 else None
        shape = graph.shape(node.inputs[0]) if node.inputs else None
        if not axes or not shape:
            continue
        rank = len(shape)
        reduced = sorted(axis % rank for axis in axes)
        tail = list(range(rank - len(reduced), rank))
        # Pooling: TF-TRT turns pictures to channels first, where the pooled axes are the last.
        spatial = rank > 2 and reduced == list(range(1, rank - 1))
        # A mean over the batch is the training mode's.
        if reduced != tail and not spatial and reduced[0] != 0:
            yield Found(
                graph.signature,
                (node.name,),
                f"it reduces the axes {', '.join(map(str, reduced))} of {rank}: TensorRT reads "
                "memory in order only if the last axes are reduced",
                "lay the tensor out so that the reduced axes are the last ones",
                LAYERS,
            )


def _misaligned(
    subject: Subject,
    graph: AdvisedGraph,
    sizes: Mapping[str, tuple[int | None, int | None]],
    first: str,
    second: str,
) -> Iterator[Found]:
    """Layers of equal sizes together. `sizes` are what a layer reads and what it gives."""
    precision = subject.precision.upper()
    if subject.report.forecast and precision == "FP32":
        precision = "FP16"  # FP32 is a forecast's default, and nobody's choice
    step = ALIGNMENT[precision]
    fed = graph.behind(graph.is_weighted)
    read = graph.before(graph.is_weighted)
    groups: dict[tuple[int, int], list[str]] = {}
    for name, (reads, gives) in sizes.items():
        if reads is None or gives is None or 1 in (reads, gives):
            continue  # a product with a vector has no use for Tensor Cores
        # What the model's inputs have is not the designer's choice: the channels of a picture.
        odd_first = reads if reads % step and name in fed else 0
        small_head = name not in read and gives < SMALL_HEAD
        odd_second = gives if gives % step and not small_head else 0
        if odd_first or odd_second:
            groups.setdefault((odd_first, odd_second), []).append(name)
    for odd, names in groups.items():
        shown = [(size, what) for size, what in zip(odd, (first, second)) if size]
        padded = [-size % step + size for size, _ in shown]
        work = math.prod(size / up for (size, _), up in zip(shown, padded))
        to = " and ".join(map(str, padded))
        yield Found(
            graph.signature,
            tuple(names),
            f"{' and '.join(f'{size} {what}' for size, what in shown)}: {precision} Tensor Cores "
            f"take multiples of {step}, so TensorRT pads to {to} ({100 * (1 - work):.0f} % of the "
            "work is on zeros), or does without them",
            f"make them {to} in the model: the capacity costs no time",
            TENSOR_CORES,
        )


def _inner_and_columns(node: FlatNode, graph: AdvisedGraph) -> tuple[int | None, int | None]:
    """K and N of [M, K] by [K, N]."""
    left, right = map(graph.shape, node.inputs)
    attributes = node.definition.attr
    batched = node.op.startswith("Batch")
    turned = [
        name in attributes and attributes[name].b
        for name in (("adj_x", "adj_y") if batched else ("transpose_a", "transpose_b"))
    ]
    inner = columns = None
    if right is not None and len(right) > 1:
        inner, columns = (right[-1], right[-2]) if turned[1] else (right[-2], right[-1])
    if inner is None and left is not None and len(left) > 1:
        inner = left[-2] if turned[0] else left[-1]
    return inner, columns


def _converted(subject: Subject, *ops: str) -> Iterator[tuple[AdvisedGraph, FlatNode]]:
    """The nodes of these ops that are in engines."""
    out = {o.node for o in subject.report.left_out}
    for graph in subject.graphs:
        for node in graph.computing(*ops):
            if node.name not in out:
                yield graph, node


def _one(signature: str, nodes: tuple[str, ...], text: str) -> Found:
    return Found(
        signature,
        nodes,
        f"{text}: FP16 and INT8 gain most where many items are computed at once, and a batch of 1 "
        "leaves most of a GPU idle",
        "serve larger batches (--shape, and a server that collects requests), or measure whether "
        "the lower precision pays at all",
        BATCHING,
    )
