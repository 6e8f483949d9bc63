"""extract_plans: writes the TensorRT plans of a converted model to files, and describes them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from converters.checks.runnable import recorded_gpus, require_same_gpu
from converters.model.engine_file import plan_hash, plan_header
from converters.model.flat_graph import FlatGraph, FlatNode, flatten
from converters.model.trt_graph import ENGINE_OP, EngineNode, LoadedGraph, engine_nodes, load_graph
from converters.plans.plan_compare import (
    Binding,
    Excluded,
    bindings_of,
    excluded_nodes,
    why_not_whole,
)
from converters.report.engine_reports import stored_plans
from converters.report.layers_record import read_layers, write_layers
from converters.util.errors import (
    ModelError,
    PlanError,
    PlanVersionError,
    SpecError,
    UnavailableError,
)
from converters.util.outputs import new_output
from converters.util.paths import check_apart
from converters.util.shapes import Shape, format_shape

PLANS_FILE = "plans.json"
PLANS_SCHEMA = 1


@dataclass(frozen=True)
class ExtractedPlan:
    """One plan file. It was built with `input_shapes`, in the order of its bindings."""

    file: str
    engine: str
    signatures: tuple[str, ...]
    size: int
    sha256: str
    tensorrt_version: str | None
    gpu: Mapping[str, Any] | None
    precision: str
    batch: str
    max_batch_size: int | None
    profile_strategy: str
    input_shapes: tuple[Shape, ...]
    bindings: tuple[Binding, ...]


@dataclass(frozen=True)
class ExtractedPlans:
    """What extract_plans wrote; plans.json is its JSON form.

    `whole_model` says for each signature whether one plan computes all of it. `excluded` are the
    nodes that no plan covers. `comparisons` compare plans with their TRTEngineOps; if it is empty,
    `not_compared` says why.
    """

    model: str
    folder: str
    plans: tuple[ExtractedPlan, ...]
    whole_model: Mapping[str, bool]
    excluded: tuple[Excluded, ...]
    comparisons: tuple[Mapping[str, Any], ...] = ()
    not_compared: str = ""
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return {"schema": PLANS_SCHEMA, **asdict(self)}

    def __str__(self) -> str:
        lines = [f"{self.model} -> {self.folder}: {len(self.plans)} plan(s)"]
        for plan in self.plans:
            shapes = ", ".join(format_shape(shape) for shape in plan.input_shapes)
            version = plan.tensorrt_version or "an unknown version"
            lines.append(
                f"  {plan.file}: {plan.size} bytes, TensorRT {version}, {plan.precision}, "
                f"{plan.batch} batch, built for [{shapes}]"
            )
            for binding in plan.bindings:
                names = ", ".join(binding.signature_names) or "no tensor of the signature"
                lines.append(f"    {binding.name} ({binding.dtype}): {names}")
        lines += [f"  excluded: {node.op} {node.name}" for node in self.excluded]
        for made in self.comparisons:
            worst = max((out["max_abs"] for out in made["outputs"]), default=0.0)
            same = all(out["equal"] for out in made["outputs"])
            how = "equal to the bit" if same else f"differs by up to {worst:.3g}"
            lines.append(f"  {made['plan']}: {how} to {made['engine']}")
        if self.not_compared:
            lines.append(f"  not compared with the model's engines: {self.not_compared}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


def extract_plans(
    model: str | Path,
    out: str | Path,
    signature: str | None = None,
    partial: bool = False,
    compare: bool | None = None,
    *,
    tags: Sequence[str] | None = None,
    overwrite: bool = False,
    tolerance: float = 0.0,
) -> ExtractedPlans:
    """Writes every plan of a converted model into the folder `out`, with plans.json, and with
    layers.json if the model has it.

    Args:
      model: a SavedModel folder (V2's plans are its assets) or a frozen graph (V1 static mode).
      out: the folder to make; all of it is written or nothing.
      signature: the signature whose plans to take; None takes all.
      partial: also take plans that are only parts of the model.
      compare: whether to run each plan by TensorRT and compare it with its TRTEngineOp. None
        compares if TF-TRT, TensorRT's Python package in the plan's version and a GPU of the right
        kind are here.
      tags: the MetaGraph of a SavedModel.
      overwrite: whether an older folder at `out` is replaced.
      tolerance: the absolute difference that the comparison allows; 0 means equal bits.

    Raises:
      SpecError: `tolerance` is no finite number, or less than 0.
      ModelError: the model cannot be read, or has no such signature.
      PlanError: it has no plan, a plan is not the whole model (without `partial`), a file of
        plans is damaged, a plan differs from its TRTEngineOp, or `compare` is True and it is
        for another GPU or, a PlanVersionError, by another TensorRT.
      UnavailableError: `compare` is True and nothing can be run here.
      OutputError: `out` exists, holds the model or cannot be written.
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise SpecError(f"tolerance is {tolerance}; it is a finite number, at least 0")
    check_apart(out, model)
    loaded = load_graph(model, tags)
    graphs = _chosen(loaded, signature)
    whole = {graph.signature: why_not_whole(graph) for graph in graphs}
    if not partial:
        _refuse_parts(loaded, whole)
    plans, data, notes = _plans(loaded, graphs)
    if not plans:
        raise PlanError(f"{loaded.path} has no plan to extract: {'; '.join(notes) or 'no engine'}")
    layers = read_layers(loaded.path)
    made = ExtractedPlans(
        str(loaded.path),
        str(out),
        tuple(plans),
        {name: why is None for name, why in whole.items()},
        tuple(node for graph in graphs for node in excluded_nodes(graph)),
        notes=tuple(notes),
    )
    with new_output(out, overwrite) as folder:
        for plan in plans:
            (folder / plan.file).write_bytes(data[plan.file])
        hashes = {plan.sha256 for plan in plans}
        write_layers(folder, [one for one in layers if one.sha256 in hashes])
        made = _compared(made, loaded, folder, compare, tolerance)
        text = json.dumps(made.to_json(), indent=2) + "\n"
        (folder / PLANS_FILE).write_text(text, encoding="utf-8")
    return made


def _chosen(loaded: LoadedGraph, signature: str | None) -> list[FlatGraph]:
    graphs = flatten(loaded)
    if signature is None:
        return graphs
    chosen = [graph for graph in graphs if graph.signature == signature]
    if not chosen:
        names = ", ".join(loaded.signatures) or "none"
        raise ModelError(f"{loaded.path} has no signature {signature!r}; it has: {names}.")
    return chosen


def _refuse_parts(loaded: LoadedGraph, whole: Mapping[str, str | None]) -> None:
    parts = {name: why for name, why in whole.items() if why is not None}
    if parts:
        which = "; ".join(
            f"signature {name!r}: {why}" if name else str(why) for name, why in parts.items()
        )
        raise PlanError(
            f"{loaded.path}: a plan is not the whole model. {which}. Give partial=True (--partial) "
            "to extract the parts"
            + (", or the signature that is one plan." if len(parts) < len(whole) else ".")
        )


def _plans(
    loaded: LoadedGraph, graphs: list[FlatGraph]
) -> tuple[list[ExtractedPlan], dict[str, bytes], list[str]]:
    # The plan itself does not tell.
    gpu = next(iter(recorded_gpus(loaded)), None)
    engines = {engine.canonical_name: engine for engine in engine_nodes(loaded.graph_def)}
    placed: dict[str, list[tuple[FlatNode, FlatGraph]]] = {}
    for graph in graphs:
        for node in graph.nodes.values():
            if node.op == ENGINE_OP:
                placed.setdefault(node.name.rpartition("/")[2], []).append((node, graph))
    plans, data, notes = [], {}, []
    for name, places in placed.items():
        engine = engines[name]
        stored = [(one.input_shapes, one.plan) for one in stored_plans(loaded, engine)]
        if not stored:
            notes.append(f"{name} has no saved plan")
        node, graph = places[0]
        for shapes, plan in stored:
            file = f"{name}.plan"
            if len(stored) > 1:
                file = f"{name}.{'_'.join(format_shape(shape) for shape in shapes)}.plan"
            if file in data:
                raise PlanError(
                    f"{loaded.path} has {name} twice for {file}. Convert the model again."
                )
            data[file] = plan
            plans.append(
                ExtractedPlan(
                    file=file,
                    engine=name,
                    signatures=tuple(graph.signature for _, graph in places),
                    size=len(plan),
                    sha256=plan_hash(plan),
                    tensorrt_version=plan_header(plan).tensorrt_version,
                    gpu=gpu,
                    precision=engine.precision,
                    batch="implicit" if engine.implicit_batch else "explicit",
                    max_batch_size=_max_batch(engine, shapes),
                    profile_strategy=engine.profile_strategy,
                    input_shapes=shapes,
                    bindings=bindings_of(engine, node, graph),
                )
            )
    return plans, data, notes


def _max_batch(engine: EngineNode, shapes: tuple[Shape, ...]) -> int | None:
    """The largest batch of a plan with implicit batch; None with explicit batch."""
    if not engine.implicit_batch:
        return None
    return max((shape[0] for shape in shapes if shape), default=engine.max_batch_size)


def _compared(
    made: ExtractedPlans,
    loaded: LoadedGraph,
    folder: Path,
    compare: bool | None,
    tolerance: float,
) -> ExtractedPlans:
    from converters.plans.plan_compare import compare_with_op, random_inputs

    if compare is False:
        return replace(made, not_compared="it was not asked for")
    comparisons = []
    try:
        require_same_gpu(loaded)
    except PlanError as error:
        if compare:
            raise
        return replace(made, not_compared=str(error))
    try:
        for plan in made.plans:
            fed = [binding for binding in plan.bindings if binding.io == "input"]
            inputs = random_inputs(
                {b.name: (b.dtype, shape) for b, shape in zip(fed, plan.input_shapes)}
            )
            comparison = compare_with_op(
                loaded.path,
                folder / plan.file,
                plan.engine,
                inputs,
                tags=loaded.tags or None,
                tolerance=tolerance,
            )
            if not comparison.passed:
                raise PlanError(
                    f"{comparison}. The model's file of plans and its graph do not fit together; "
                    "convert it again, or allow a tolerance."
                )
            comparisons.append(comparison.to_json())
    except (UnavailableError, PlanVersionError) as error:
        if compare:
            raise
        return replace(made, not_compared=str(error))
    return replace(made, comparisons=tuple(comparisons))
