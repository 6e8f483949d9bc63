"""Compares the native model with the converted one, on the user's data or on random inputs.

Each batch goes through both models and is then dropped, so memory holds one batch and its outputs.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, cast

from converters.checks.differences import DifferenceMeter
from converters.checks.fresh_check import EngineUse, Shapes, engine_use
from converters.checks.model_pair import (
    InChildren,
    InOneProcess,
    ModelPair,
    Outputs,
    naming_other_inputs,
    renamed,
    with_same_names,
)
from converters.checks.runnable import (
    UNNAMED,
    FrozenGraph,
    Model,
)
from converters.checks.verification_report import OutputResult, VerificationReport
from converters.inputs.by_signature import verify_data_of
from converters.inputs.calibration_data import Batch, InputSpec, batches
from converters.inputs.random_inputs import random_batches
from converters.model.model_source import kind_by_name, open_source
from converters.model.trt_graph import engine_nodes, load_graph
from converters.spec.thresholds import Thresholds, default_thresholds
from converters.util.child import run_in_child
from converters.util.errors import VerificationDataError, VerificationError
from converters.util.shapes import Shape, ShapeSet, format_shape_set, input_name, shapes_of

__all__ = ["FrozenGraph", "OutputResult", "VerificationReport", "verify"]

GENERATED_BATCHES = 4


def verify(
    native: Model,
    converted: Model,
    data: Any = None,
    *,
    signatures: Sequence[str] | None = None,
    num_batches: int | None = None,
    thresholds: Thresholds | Mapping[str, float | None] | None = None,
    precision: str | None = None,
    shapes: ShapeSet | Sequence[ShapeSet] | Mapping[str, Sequence[ShapeSet]] | None = None,
    seed: int = 0,
    batch_size: int | None = None,
    tags: Sequence[str] | None = None,
    separate_processes: bool = False,
    progress: Callable[[], Any] | None = None,
    check_engines: bool = True,
    served: Shapes | None = None,
    outputs: Sequence[str] | None = None,
) -> VerificationReport:
    """Compares the outputs of two models; the report says which of them differ too much.

    Args:
      native: the model before conversion: a SavedModel folder, a FrozenGraph(path, outputs), a
        Keras file, a MetaGraph (.meta) beside its checkpoint, or a function that takes the inputs
        as keyword arrays and returns an array or a dict of arrays by output name.
      converted: the model after it: a SavedModel folder, a FrozenGraph or such a function.
      data: what converters.calibration_data.batches takes; tuples follow the inputs' names in
        alphabetic order. Or a dict of such data by signature; signatures that are not in it get
        random inputs. None generates random inputs for all.
      signatures: which to compare; None takes all of the native model's.
      num_batches: how many batches of each signature; None takes all of the data, or 4 random
        ones.
      thresholds: None takes those of `precision`, without class agreement for random inputs; a
        dict of figures replaces single bounds of these.
      precision: "FP32", "FP16" or "INT8"; None asks the converted model's engines.
      shapes: for random inputs: one set of full shapes by input name, or several that take turns,
        or a dict of lists of sets by signature. A set is used for the signatures that it fits; if
        some of these have exactly its inputs, only for them. Give the shapes that engines were
        built for: TF-TRT runs others in TensorFlow, which proves nothing.
      seed: of the random inputs.
      batch_size: cuts arrays and files into batches.
      tags: the MetaGraph of both SavedModels.
      separate_processes: each model runs in a child process of its own, one after the other, so
        that both need not fit the GPU together; inputs and outputs go through temporary files.
      progress: called after each batch.
      check_engines: whether a fresh process runs each compared shape once more, to find out whether
        engines serve it. It is a failure if engines serve no shape of a signature.
      served: shapes by signature that are known to run in engines, and are not run once more.
      outputs: the outputs of a MetaGraph that has no signature.

    Raises:
      ModelError: a model or a signature asked for is missing or cannot be loaded.
      VerificationError: the data is bad, or a model failed to run. That outputs differ is no
        exception: see VerificationReport.passed and raise_if_failed.
    """
    if num_batches is not None and num_batches < 1:
        raise VerificationDataError(f"num_batches is {num_batches}; it is at least 1")
    if seed < 0:
        raise VerificationDataError(f"seed is {seed}; it cannot be negative")
    if not isinstance(thresholds, Thresholds):
        thresholds = thresholds or {}
        Thresholds.from_json(thresholds)  # raises on a fault before the models are loaded
        precision = precision or precision_of(converted, tags)
    sets, own_sets = _shape_sets(shapes)
    results: list[OutputResult] = []
    sources: dict[str, Iterator[Batch]] = {}
    bounds: dict[str, Thresholds] = {}
    generated = False
    seen: dict[str, list[dict[str, Shape]]] = {}
    pair = InChildren if separate_processes else InOneProcess
    opened = exported(native, outputs, child=separate_processes)
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(opened)
        source, converted, names = with_same_names(source, converted, tags)
        models = stack.enter_context(pair(source, converted, tags))
        sets = [renamed(given, names) for given in sets]
        own_sets = {n: [renamed(given, names) for given in own] for n, own in own_sets.items()}
        _check_shapes(sets, models)
        for name in own_sets.keys() - models.native_specs.keys():
            there = ", ".join(models.native_specs)
            raise VerificationDataError(f"shapes names no signature {name!r}; there are: {there}")
        wanted = models.signatures(signatures)
        lost = [name for name in wanted if name not in models.converted_specs]
        problems = [f"the converted model has no signature {name!r}" for name in lost]
        for name in wanted:
            if name in lost:
                continue
            own_data = verify_data_of(name, data, models.native_specs)
            made_up = own_data is None
            generated = generated or made_up
            bounds[name] = _bounds(thresholds, precision, made_up)
            if made_up:
                given = _sets_of(name, sets, own_sets, models)
                sources[name] = _random(name, models.specs(name), num_batches, given, seed)
            else:
                sources[name] = data_batches(own_data, models.specs(name), num_batches, batch_size)
            seen[name] = []
            sources[name] = _noted(sources[name], seen[name])
        meters: dict[str, dict[str, DifferenceMeter]] = {name: {} for name in sources}
        counts = dict.fromkeys(sources, 0)
        stack.enter_context(naming_other_inputs(models))
        for name, left, right in models.outputs(sources):
            missing = [f"signature {name!r}: {t}" for t in _compare(left, right, meters[name])]
            problems += [text for text in missing if text not in problems]
            counts[name] += 1
            if progress is not None:
                progress()
    for name, of_outputs in meters.items():
        for meter in of_outputs.values():
            diff = meter.result()
            failures = tuple(bounds[name].failures(diff))
            results.append(OutputResult(name, diff, bounds[name], failures))
    if not results and not problems:
        problems.append("the models have no output in common")
    use = engine_use(converted, seen, tags, served) if check_engines else EngineUse()
    return VerificationReport(
        precision=precision.upper() if precision else None,
        generated=generated,
        seed=seed,
        batches=counts,
        outputs=tuple(results),
        problems=tuple(problems),
        native=use.native,
        notes=use.notes,
    )


def _bounds(
    given: Thresholds | Mapping[str, float | None], precision: str | None, made_up: bool
) -> Thresholds:
    if isinstance(given, Thresholds):
        return given
    return default_thresholds(precision or "FP32", made_up).replaced(given)


def _noted(source: Iterator[Batch], seen: list[dict[str, Shape]]) -> Iterator[Batch]:
    """Passes the batches on and adds their shapes to `seen`, each set once."""
    for batch in source:
        shapes = shapes_of(batch)
        if shapes not in seen:
            seen.append(shapes)
        yield batch


def _compare(native: Outputs, converted: Outputs, meters: dict[str, DifferenceMeter]) -> list[str]:
    """Adds one batch's outputs to their meters; says what only one side has."""
    if len(native) == len(converted) == 1 and UNNAMED in {*native, *converted}:
        # A function that returns a bare array names no output: take the other model's name.
        name = next((n for n in (*native, *converted) if n != UNNAMED), UNNAMED)
        native, converted = ({name: next(iter(side.values()))} for side in (native, converted))
    for name in native:
        if name in converted:
            meters.setdefault(name, DifferenceMeter(name)).add(native[name], converted[name])
    return [
        f"the {role} model has no output {name!r}"
        for role, names in (
            ("converted", native.keys() - converted.keys()),
            ("native", converted.keys() - native.keys()),
        )
        for name in sorted(names)
    ]


def _check_shapes(sets: Sequence[ShapeSet], models: ModelPair) -> None:
    inputs = models.inputs()
    for shapes in sets:
        if not any(_belongs(shapes, specs) for specs in inputs.values()):
            there = "; ".join(f"{name}: {', '.join(specs)}" for name, specs in inputs.items())
            raise VerificationError(
                f"the shapes {format_shape_set(shapes)} fit no signature's inputs ({there})"
            )


def _belongs(shapes: ShapeSet, specs: Mapping[str, InputSpec]) -> bool:
    return all(input_name(name) in specs for name in shapes)


def _shape_sets(
    shapes: ShapeSet | Sequence[ShapeSet] | Mapping[str, Sequence[ShapeSet]] | None,
) -> tuple[list[ShapeSet], Mapping[str, Sequence[ShapeSet]]]:
    """The sets for any signature, and the sets by signature."""
    if not isinstance(shapes, Mapping):
        return list(shapes or ()), {}
    several = [isinstance(given, Mapping) for sets in shapes.values() for given in sets]
    # If all values are (), this is one set of scalar shapes.
    if several and all(several):
        return [], cast("Mapping[str, Sequence[ShapeSet]]", shapes)
    return [cast("ShapeSet", shapes)], {}


def _sets_of(
    name: str,
    sets: Sequence[ShapeSet],
    own_sets: Mapping[str, Sequence[ShapeSet]],
    models: ModelPair,
) -> list[ShapeSet]:
    """The shape sets of one signature. A set that fits no signature goes to all that have its
    inputs, so that an error says why it does not fit."""
    if name in own_sets:
        return list(own_sets[name])
    inputs = models.inputs()
    found = []
    for shapes in sets:
        there = [other for other, specs in inputs.items() if _belongs(shapes, specs)]
        there = [other for other in there if _fits(shapes, inputs[other])] or there
        exact = [other for other in there if len(inputs[other]) == len(shapes)]
        if name in (exact or there) or name not in inputs:
            found.append(shapes)
    return found


def _fits(shapes: ShapeSet, specs: Mapping[str, InputSpec]) -> bool:
    return all(specs[input_name(name)].takes(tuple(shape)) for name, shape in shapes.items())


def _random(
    name: str,
    specs: dict[str, InputSpec] | None,
    num_batches: int | None,
    sets: Sequence[ShapeSet],
    seed: int,
) -> Iterator[Batch]:
    if specs is None:
        raise VerificationError(
            "neither model says what inputs it takes, so that none can be generated; pass data"
        )
    count = GENERATED_BATCHES if num_batches is None else num_batches
    try:
        return random_batches(specs, count, sets, seed=seed)
    except VerificationError as error:
        raise VerificationError(f"signature {name!r}: {error}") from error


def data_batches(
    data: Any,
    specs: Mapping[str, InputSpec] | None,
    num_batches: int | None = None,
    batch_size: int | None = None,
) -> Iterator[Batch]:
    """The batches of one signature's data to compare on, lazily. `specs` are its inputs.

    Raises:
      VerificationDataError: the data is bad.
    """
    if specs is None:
        raise VerificationError(
            "neither model says what inputs it takes; give at least one as a SavedModel, a "
            "FrozenGraph or a ConcreteFunction"
        )
    return batches(
        data,
        list(specs),
        num_batches,
        specs=specs,
        batch_size=batch_size,
        same_shape=False,
        check_finite=False,
        error=VerificationDataError,
        purpose="verification",
    )


def precision_of(model: Model, tags: Sequence[str] | None) -> str:
    """The coarsest precision of the model's engines; FP32 where it has none."""
    if isinstance(model, FrozenGraph):
        graph = load_graph(os.fspath(model.path))
    elif callable(model):
        return "FP32"
    else:
        graph = load_graph(os.fspath(model), tags)
    found = {engine.precision for engine in engine_nodes(graph.graph_def)}
    return next((name for name in ("INT8", "FP16") if name in found), "FP32")


@contextlib.contextmanager
def exported(model: Model, outputs: Sequence[str] | None, child: bool) -> Iterator[Model]:
    """Gives the model itself. A Keras file or a MetaGraph is exported as a SavedModel first, as
    `convert` does, and the export is removed when the block ends.

    `child` exports in a child process, which holds no GPU memory afterwards.
    """
    if isinstance(model, FrozenGraph) or callable(model):
        yield model
        return
    kind = kind_by_name(Path(model))
    if kind not in ("meta_graph", "keras"):
        yield model
        return
    with tempfile.TemporaryDirectory(prefix="trt-convert-") as work:
        chosen = None if outputs is None or kind != "meta_graph" else list(outputs)
        arguments: dict[str, Any] = {"path": os.path.abspath(model), "work": work}
        arguments["outputs"] = chosen
        yield run_in_child(export, arguments) if child else export(**arguments)


def export(path: str, work: str, outputs: list[str] | None) -> str:
    """Exports into `work`; the SavedModel's folder. May be the job of a child."""
    return str(open_source(path, Path(work), outputs=outputs).saved_model)
