"""profile: how long each layer of a model's engines takes, or of a plan.

TensorFlow hides what happens inside an engine. So each engine's plan is taken out of the model and
run by TensorRT's own runtime, with the inputs that the engine gets in a request to the model.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converters.inputs.batch_files import write_batch
from converters.inputs.calibration_data import Batch
from converters.inputs.data_sources import named_paths
from converters.measure.cells import cell_batches
from converters.measure.engine_inputs import write_engine_inputs
from converters.measure.model_requests import ENGINES_ALONE
from converters.measure.plan_profile import profile_plans
from converters.measure.profile_data import EngineProfile, LayerProfile, ProfileData
from converters.measure.profile_page import profile_page
from converters.measure.profile_text import profile_text
from converters.measure.subject import PathLike, Subject, check_same_inputs, open_subject
from converters.measure.trace_job import trace_requests
from converters.model.engine_file import StoredEngine, plan_hash
from converters.model.engine_layers import is_copy, nodes_of
from converters.model.flat_graph import flatten
from converters.model.trt_graph import ENGINE_OP, EngineNode, LoadedGraph, engine_nodes, load_graph
from converters.report.engine_reports import stored_plans
from converters.report.layers_record import LAYERS_FILE, read_layers
from converters.report.report_data import LayerReport
from converters.util.child import environment_variables, run_in_child
from converters.util.custom_ops import loaded_custom_ops
from converters.util.errors import EngineError, MeasureError, OutputError, PlanShapeError, listed
from converters.util.progress import Progress
from converters.util.shapes import ShapeSet, format_shape_set, shapes_of


@dataclass(frozen=True)
class ProfileReport(ProfileData):
    """The result of `profile`. `to_json()` gives JSON values, whose keys
    converters/measure/profile_data.py explains; `str()` the tables as text."""

    def __str__(self) -> str:
        return profile_text(self)

    def to_html(self) -> str:
        """A page of its own with the tables."""
        return profile_page(self)


@dataclass(frozen=True)
class _Plans:
    """The plans of one engine, of which the first that takes the shapes is run. `known` has their
    layers as layers.json has them, by hash. `node_ops` are None where no graph is at hand."""

    engine: str
    files: tuple[str, ...]
    hashes: tuple[str, ...]
    names: Mapping[str, str]
    batch: str
    known: Mapping[str, Mapping[str, LayerReport]]
    node_ops: Mapping[str, str] | None

    def job(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "files": list(self.files),
            "names": dict(self.names),
            "batch": self.batch,
        }


def profile(
    model: PathLike,
    original: PathLike | None = None,
    *,
    shapes: ShapeSet | None = None,
    data: Any = None,
    runs: int = 20,
    trace: PathLike | None = None,
    signature: str | None = None,
    tags: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> ProfileReport:
    """Measures each layer of a model's engines, or of a plan, with TensorRT's profiler.

    TensorFlow computes what each engine gets in one request. Then TensorRT's own runtime runs the
    engine's plan on that, first without and then with a profiler. It needs TensorRT's Python
    package and the GPU that the plans are for.

    Args:
      model: a converted model, or a plan that `extract_plans` wrote.
      original: another converted model or plan of the same network, such as its FP32 conversion,
        to put beside it. It gets the same request. Layers that compute the same TensorFlow nodes
        share a row.
      shapes: full shapes of random inputs, by input name.
      data: what converters.calibration_data.batches takes; the request is its first batch.
      runs: requests that each time is the median of.
      trace: a folder for a trace of `runs` requests to the model in TensorFlow, for TensorBoard's
        profiler. With it a model without engines is traced too, also without a GPU.
      signature: which to run; None takes serving_default, or the only one.
      tags: the MetaGraph of SavedModels.
      outputs: of a frozen graph, or of a MetaGraph without a signature.
      seed: of random inputs.
      progress: True shows bars on stderr, False nothing, None bars on a terminal and else lines.

    Raises:
      MeasureError: a shape, the data or `runs` does not fit, a model has no engine and no trace was
        asked for, or a request fails.
      EngineError: an engine does not serve the shapes that it gets.
      ModelError: a model is missing or damaged, or has no such signature.
      PlanError: a plan cannot be loaded here, or does not take the shapes.
      OutputError: `trace` is a file, or a folder that already has something in it.
      UnavailableError: TensorRT, TF-TRT or a GPU is needed and missing.
    """
    _check(shapes, data, runs, seed, trace)
    shown = Progress(progress)
    with contextlib.ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trt-convert-")))
        own = open_subject(model, work / "model", signature, tags, outputs)
        other = None
        if original is not None:
            other = open_subject(original, work / "original", signature, tags, outputs)
            check_same_inputs(own, other)
        _check_engines([own], trace is not None)
        _check_engines([other] if other else [], False)
        if trace is not None and own.kind == "plan":
            raise MeasureError(
                f"{own.given} is a plan, which runs without TensorFlow: trace the model that it is "
                "from, or record the plan with Nsight Systems (the report has the command)"
            )
        given = [] if shapes is None else [shapes]
        batch = next(cell_batches(own.specs, given, (), data, seed))[0]
        file = work / "request.batch"
        write_batch(file, batch, "The request is kept there: set TMPDIR to a folder with room")
        stack.enter_context(environment_variables(ENGINES_ALONE))
        notes: list[str] = []
        sides = [
            _profiled(subject, batch, file, runs, work / f"engines{number}", shown, notes)
            for number, subject in enumerate(filter(None, (own, other)))
        ]
        facts, engines = sides[0]
        traced: dict[str, Any] = {"files": []}
        if trace is not None:
            traced = _traced(own, file, runs, Path(trace), shown)
            facts = facts or traced
    nsys, same = "", _same_inputs(shapes_of(batch), data, seed)
    if engines and same is None:
        notes.append(
            "the command for Nsight Systems is left out, because it cannot name this data: give "
            "data= as paths of files"
        )
    elif engines and same is not None:
        nsys = _nsys(own, same, runs, outputs)
    return ProfileReport(
        model=str(model),
        original=None if original is None else str(original),
        kind=own.kind,
        signature=own.signature,
        shapes=shapes_of(batch),
        device=facts["device"],
        library=facts["library"],
        runs=runs,
        engines=engines,
        original_engines=sides[1][1] if other else (),
        trace=tuple(traced["files"]),
        nsys=nsys,
        notes=tuple(dict.fromkeys(notes)),
    )


def _check(
    shapes: ShapeSet | None, data: Any, runs: int, seed: int, trace: PathLike | None
) -> None:
    if data is not None and shapes is not None:
        raise MeasureError("shapes are of random inputs; give shapes or data, not both")
    if runs < 1:
        raise MeasureError(f"runs is {runs}; it is at least 1")
    if seed < 0:
        raise MeasureError(f"seed is {seed}; it cannot be negative")
    if trace is not None:
        folder = Path(trace)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(
                f"{folder} exists and is no empty folder: name a new folder for the trace"
            )


def _check_engines(subjects: Iterable[Subject], traced: bool) -> None:
    for subject in subjects:
        if subject.kind == "model" and not subject.has_engines and not traced:
            raise MeasureError(
                f"{subject.given} has no engine, so that TensorRT has no layers to measure: "
                "convert it (`trt-convert convert`), or trace it in TensorFlow alone (trace=, "
                "--trace)"
            )


def _profiled(
    subject: Subject,
    batch: Batch,
    file: Path,
    runs: int,
    work: Path,
    shown: Progress,
    notes: list[str],
) -> tuple[dict[str, Any], tuple[EngineProfile, ...]]:
    """What ran the engines (empty if none did), and their profiles."""
    work.mkdir()
    if subject.kind == "plan":
        plans = [_plan_itself(subject, file)]
    elif subject.has_engines:
        with shown.step(f"looking what the engines of {subject.given} get"):
            plans = _plans_of_model(subject, file, work, notes)
    else:
        return {}, ()
    if not plans:
        raise MeasureError(
            f"{subject.given}: signature {subject.signature!r} runs no engine, at least none "
            "outside of loops and branches: name another signature (signature=, --signature)"
        )
    jobs = {"plans": [plan.job() for plan in plans], "runs": runs}
    with shown.step(f"profiling {subject.given}"):
        try:
            found = run_in_child(profile_plans, jobs)
        except PlanShapeError as error:
            if subject.kind == "plan":
                raise
            raise EngineError(
                f"{subject.given}: at a request of {format_shape_set(shapes_of(batch))} an engine "
                f"does not serve what it gets: {error}. Give a shape that the model was converted "
                "for (--shape; `trt-convert inspect` shows them), or convert it for this one"
            ) from error
    if not all(plan.hashes[one["file"]] in plan.known for plan, one in zip(plans, found["plans"])):
        notes.append(
            f"{subject.given} has no {LAYERS_FILE} of these plans, so that the types of its layers "
            "are not known: a plan keeps only their names. `trt-convert convert` writes the file, "
            "and `trt-convert extract-plan` copies it"
        )
    total = sum(ms for one in found["plans"] for _, ms in one["layers"])
    engines = (_engine(plan, one, total) for plan, one in zip(plans, found["plans"]))
    return found, tuple(engines)


def _plan_itself(subject: Subject, file: Path) -> _Plans:
    path = Path(subject.path)
    digest = plan_hash(path.read_bytes())
    known = _known(path)
    return _Plans(path.name, (str(path),), (digest,), subject.names, str(file), known, None)


def _plans_of_model(subject: Subject, file: Path, work: Path, notes: list[str]) -> list[_Plans]:
    loaded = load_graph(subject.path, subject.tags)
    nodes = {engine.canonical_name: engine for engine in engine_nodes(loaded.graph_def)}
    fed = run_in_child(write_engine_inputs, _request(subject, file, work))
    known = _known(Path(subject.given))
    plans = []
    for one in fed:
        engine = nodes[one["engine"]]
        stored = _by_size(stored_plans(loaded, engine), engine)
        if not stored:
            raise EngineError(
                f"{subject.given}: {engine.canonical_name} has no saved plan, so that TensorFlow "
                "builds it at a request: convert the model with its shapes (--shape, --range)"
            )
        files = []
        for number, plan in enumerate(stored):
            path = work / f"{engine.canonical_name}.{number}.plan"
            path.write_bytes(plan.plan)
            files.append(str(path))
        hashes = tuple(plan_hash(plan.plan) for plan in stored)
        name = engine.canonical_name
        plans.append(_Plans(name, tuple(files), hashes, {}, one["batch"], known, engine.node_ops))
    _note_missing(loaded, nodes, {one["engine"] for one in fed}, notes)
    return plans


def _by_size(stored: Sequence[StoredEngine], engine: EngineNode) -> list[StoredEngine]:
    """The plans in the order in which TensorFlow would take them: with an implicit batch, the
    smallest batch that is large enough."""
    return list(reversed(stored)) if engine.implicit_batch else list(stored)


def _note_missing(
    loaded: LoadedGraph, engines: Iterable[str], found: set[str], notes: list[str]
) -> None:
    """Notes the engines that no signature runs outside of loops and branches."""
    reached = {
        node.name.rpartition("/")[2]
        for graph in flatten(loaded)
        for node in graph.nodes.values()
        if node.op == ENGINE_OP
    }
    hidden = [name for name in engines if name not in reached | found]
    if hidden:
        notes.append(f"engines in loops and branches are not profiled: {listed(hidden)}")


def _known(path: Path) -> dict[str, dict[str, LayerReport]]:
    """The layers that layers.json has, by the plan's hash and the layer's name."""
    return {plan.sha256: {layer.name: layer for layer in plan.layers} for plan in read_layers(path)}


def _engine(plans: _Plans, found: Mapping[str, Any], total: float) -> EngineProfile:
    digest = plans.hashes[found["file"]]
    known = plans.known.get(digest, {})
    return EngineProfile(
        engine=plans.engine,
        shapes={name: tuple(shape) for name, shape in found["shapes"].items()},
        sha256=digest,
        request_ms=found["request_ms"],
        layers=tuple(
            _layer(name, ms, ms / total if total else 0.0, known.get(name), plans.node_ops)
            for name, ms in found["layers"]
        ),
    )


def _layer(
    name: str,
    ms: float,
    share: float,
    known: LayerReport | None,
    node_ops: Mapping[str, str] | None,
) -> LayerProfile:
    if known is not None:
        changes, nodes, ops = known.changes_format, known.nodes, known.ops
        return LayerProfile(name, ms, share, known.kind, known.precision, changes, nodes, ops)
    nodes = nodes_of(name, node_ops)
    ops = tuple((node_ops or {})[node] for node in nodes) if node_ops is not None else ()
    return LayerProfile(name, ms, share, "", "", is_copy(name), nodes, ops)


def _request(subject: Subject, file: Path, folder: Path) -> dict[str, Any]:
    """What a child is told that runs the model on the batch of `file` and writes into `folder`."""
    model = {name: value for name, value in subject.job().items() if name != "kind"}
    return {**model, "batch": str(file), "folder": os.path.abspath(folder)}


def _traced(
    subject: Subject, file: Path, runs: int, folder: Path, shown: Progress
) -> dict[str, Any]:
    request = {**_request(subject, file, folder), "runs": runs}
    with shown.step(f"tracing {subject.given}"):
        traced: dict[str, Any] = run_in_child(trace_requests, request)
    if not traced["files"]:
        raise MeasureError(
            f"TensorFlow's profiler wrote no trace into {folder}: the folder cannot be written, or "
            "another profiler was running"
        )
    return traced


def _same_inputs(shapes: ShapeSet, data: Any, seed: int) -> list[str] | None:
    """The command's options for the inputs that were measured; None if no option can name them."""
    if data is not None:
        paths = named_paths(data)
        if paths is None:
            return None
        return [word for path in paths for word in ("--data", os.fspath(path))]
    return ["--shape", format_shape_set(shapes), *(["--seed", str(seed)] if seed else [])]


def _nsys(subject: Subject, inputs: Sequence[str], runs: int, outputs: Sequence[str] | None) -> str:
    """The command that records what `profile` measures with Nsight Systems, and nothing else.
    `inputs` are its options for what the model gets."""
    command = ["nsys", "profile", "--trace=cuda,nvtx", "--capture-range=cudaProfilerApi"]
    command += ["--capture-range-end=stop", "trt-convert", "profile", subject.given]
    command += [*inputs, "--runs", str(runs)]
    if subject.kind == "model":
        command += ["--signature", subject.signature]
        ops = loaded_custom_ops()
        for option, values in (
            ("--tag", subject.tags or ()),
            ("--output", outputs or ()),
            ("--import", ops["imports"]),
            ("--op-library", ops["op_libraries"]),
        ):
            command += [word for value in values for word in (option, value)]
    return shlex.join(command)
