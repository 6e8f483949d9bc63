"""Compares an extracted plan with the TRTEngineOp that it came from; both are run.

`bindings_of` relates a plan's inputs and outputs to the signature's, and `why_not_whole` says
whether one plan is the whole model.

Both sides run the same plan, so their results have equal bits; `tolerance` is for plans with
kernels that add in no fixed order. Each runs in a child process of its own, because TensorFlow and
TensorRT's Python package each bring a copy of TensorRT's library.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.environment.tftrt_ready import require_tftrt
from converters.model.flat_graph import FlatGraph, FlatNode, node_of
from converters.model.trt_graph import (
    ENGINE_OP,
    EngineNode,
    LoadedGraph,
    PartialShape,
    engine_nodes,
    load_graph,
)
from converters.plans.plan_runner import PlanRunner
from converters.util.child import run_in_child
from converters.util.errors import PlanError, UnavailableError, listed

INPUT, OUTPUT = "TensorRTInputPH_", "TensorRTOutputPH_"

# The only ops that may be outside a plan that is the whole model.
_NEUTRAL = frozenset(("Placeholder", "PlaceholderWithDefault", "Const", "Identity", "NoOp"))


@dataclass(frozen=True)
class Binding:
    """A plan's input or output. `signature_names` are the signature's names for it; empty if it is
    no tensor of the signature."""

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
    """The bindings of the engine whose node in `graph` is `node`."""
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
    """The nodes outside all engines that compute something."""
    return [
        Excluded(node.name, node.op, graph.signature)
        for node in graph.nodes.values()
        if node.op != ENGINE_OP and node.op not in _NEUTRAL
    ]


def why_not_whole(graph: FlatGraph) -> str | None:
    """Why no single plan computes all of the graph; None if one does."""
    engines = [node for node in graph.nodes.values() if node.op == ENGINE_OP]
    outside = excluded_nodes(graph)
    if len(engines) != 1 or outside:
        count = f"{len(engines) or 'no'} engine{'s' if len(engines) > 1 else ''}"
        shown = listed([f"{node.op} {node.name}" for node in outside])
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
    for _ in graph.nodes:  # a damaged graph may go round
        node = graph.nodes.get(node_of(tensor))
        if node is None or node.op != "Identity" or not node.inputs:
            break
        tensor = node.inputs[0]
    return tensor


def _names(tensors: Mapping[str, str], graph: FlatGraph) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for key, tensor in tensors.items():
        origin = _origin(tensor, graph)
        found[origin] = (*found.get(origin, ()), key)
    return found


Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class PlanDifference:
    """One output: whether its bits are equal, and the largest absolute difference."""

    output: str
    equal: bool
    max_abs: float


@dataclass(frozen=True)
class PlanComparison:
    """The plan in the file `plan` against the TRTEngineOp `engine`, output by output."""

    plan: str
    engine: str
    tolerance: float
    outputs: tuple[PlanDifference, ...]

    @property
    def passed(self) -> bool:
        return all(o.equal or o.max_abs <= self.tolerance for o in self.outputs)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed}

    def __str__(self) -> str:
        worst = max((output.max_abs for output in self.outputs), default=0.0)
        same = all(output.equal for output in self.outputs)
        how = "equal to the bit" if same else f"differs by up to {worst:.3g}"
        return f"{self.plan}: {how} to {self.engine} (allowed: {self.tolerance:g})"


def compare_with_op(
    model: str | Path,
    plan: str | Path,
    engine: str,
    inputs: Arrays,
    *,
    tags: tuple[str, ...] | None = None,
    tolerance: float = 0.0,
) -> PlanComparison:
    """Compares the plan file with the model's TRTEngineOp of the canonical name `engine`.

    `inputs` are arrays with full shapes by binding (TensorRTInputPH_0, ...).

    Raises:
      UnavailableError: TensorRT's Python package, TF-TRT or the GPU is not here, or the plan has
        inputs that are shapes, for which random numbers do not serve.
      PlanVersionError: the plan is by another TensorRT than the Python package here.
      PlanError: the plan cannot be loaded or run, or the model has no such engine.
    """
    with tempfile.TemporaryDirectory(prefix="plans-") as work:
        given = Path(work) / "inputs.npz"
        np.savez(given, **dict(inputs))
        by_plan, by_op = Path(work) / "plan.npz", Path(work) / "op.npz"
        files = {"inputs": str(given), "result": str(by_plan)}
        run_in_child(run_plan, {"plan": str(plan), **files})
        files["result"] = str(by_op)
        run_in_child(run_op, {"model": str(model), "engine": engine, "tags": tags, **files})
        differences = _differences(_load(by_plan), _load(by_op))
    return PlanComparison(Path(plan).name, engine, tolerance, differences)


def random_inputs(runner_inputs: Mapping[str, tuple[str, tuple[int, ...]]], seed: int = 0) -> Any:
    """Arrays for bindings of (dtype, shape): floats normal, integers 0 to 7, booleans fair."""
    generator = np.random.default_rng(seed)
    arrays = {}
    for name, (dtype, shape) in runner_inputs.items():
        kind = np.dtype(dtype).kind
        if kind == "f":
            arrays[name] = generator.standard_normal(shape).astype(dtype)
        else:
            arrays[name] = generator.integers(0, 2 if kind == "b" else 8, shape).astype(dtype)
    return arrays


def run_plan(plan: str, inputs: str, result: str) -> None:
    """Job of a child: runs a plan file on the arrays of one .npz file into another."""
    with PlanRunner(plan) as runner:
        if runner.host_inputs:
            raise UnavailableError(
                f"{Path(plan).name} takes {', '.join(runner.host_inputs)}, which are shapes: "
                "random numbers do not serve for them. Compare whole models by `trt-convert verify`"
            )
        np.savez(result, **runner.run(_load(Path(inputs))))


def run_op(model: str, engine: str, tags: list[str] | None, inputs: str, result: str) -> None:
    """Job of a child: runs one TRTEngineOp of a model, with its saved plan."""
    import os

    import tensorflow as tf

    require_tftrt()
    # A plan that is built now, or native TensorFlow, would prove nothing.
    os.environ["TF_TRT_ALLOW_ENGINE_NATIVE_SEGMENT_EXECUTION"] = "0"
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    loaded = load_graph(model, tags)
    found = [e for e in engine_nodes(loaded.graph_def) if e.canonical_name == engine]
    if not found:
        raise PlanError(f"{model} has no engine {engine!r}")
    # Loading a SavedModel puts its saved plans into the cache that its engines use.
    kept = tf.saved_model.load(model, list(loaded.tags)) if Path(model).is_dir() else None
    function = engine_function(loaded, found[0])
    arrays = _load(Path(inputs))
    feeds = [tf.constant(arrays[f"{INPUT}{i}"]) for i in range(len(found[0].input_dtypes))]
    with tf.device("/GPU:0"):
        outputs = function(*feeds)
    np.savez(result, **{f"{OUTPUT}{i}": value.numpy() for i, value in enumerate(outputs)})
    del kept


def engine_function(loaded: LoadedGraph, engine: EngineNode) -> Any:
    """A function that consists of one TRTEngineOp."""
    import tensorflow as tf
    from tensorflow.core.framework import graph_pb2

    graph = graph_pb2.GraphDef()
    graph.versions.CopyFrom(loaded.graph_def.versions)
    feeds = []
    node = graph.node.add()
    node.CopyFrom(_definition(loaded, engine))
    # The cache finds engines by the last part of the name.
    node.name = engine.canonical_name
    node.device = ""
    del node.input[:]
    node.attr["_allow_build_at_runtime"].b = False
    for function in loaded.graph_def.library.function:
        if function.signature.name == engine.segment_func:
            segment = graph.library.function.add()
            segment.CopyFrom(function)
            # TensorFlow keeps functions by name, and the model has loaded one of this name.
            segment.signature.name = f"{engine.segment_func}_{uuid.uuid4().hex}"
            node.attr["segment_func"].func.name = segment.signature.name
    for i, dtype in enumerate(engine.input_dtypes):
        feed = graph.node.add(name=f"feed_{i}", op="Placeholder")
        feed.attr["dtype"].type = tf.dtypes.as_dtype(dtype).as_datatype_enum
        feed.attr["shape"].shape.unknown_rank = True
        node.input.append(feed.name)
        feeds.append(f"{feed.name}:0")
    fetches = [f"{node.name}:{i}" for i in range(len(engine.output_dtypes))]
    wrapped = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), [])
    elements = wrapped.graph.as_graph_element
    return wrapped.prune([elements(name) for name in feeds], [elements(name) for name in fetches])


def _definition(loaded: LoadedGraph, engine: EngineNode) -> Any:
    nodes = loaded.graph_def.node
    for function in loaded.graph_def.library.function:
        if function.signature.name == engine.function:
            nodes = function.node_def
    return next(node for node in nodes if node.op == ENGINE_OP and node.name == engine.name)


def _differences(plan: Arrays, op: Arrays) -> tuple[PlanDifference, ...]:
    if set(plan) != set(op):
        raise PlanError(
            f"the plan gives {', '.join(sorted(plan))}, its TRTEngineOp {', '.join(sorted(op))}"
        )
    return tuple(_difference(name, plan[name], op[name]) for name in sorted(plan))


def _difference(name: str, plan: NDArray[Any], op: NDArray[Any]) -> PlanDifference:
    if plan.shape != op.shape or plan.dtype != op.dtype:
        raise PlanError(
            f"{name}: the plan gives {plan.dtype} {plan.shape}, its TRTEngineOp {op.dtype} "
            f"{op.shape}"
        )
    equal = plan.tobytes() == op.tobytes()
    wide_plan, wide_op = plan.astype(np.float64), op.astype(np.float64)
    # The same infinity, or NaN on both sides, is no difference.
    same = (wide_plan == wide_op) | (np.isnan(wide_plan) & np.isnan(wide_op))
    with np.errstate(invalid="ignore"):
        worst = float(np.max(np.where(same, 0.0, np.abs(wide_plan - wide_op)), initial=0.0))
    return PlanDifference(name, equal, float("inf") if np.isnan(worst) else worst)


def _load(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}
