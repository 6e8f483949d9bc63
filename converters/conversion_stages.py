"""The stages of a conversion that follow its plan. Each returns what the next ones need:

make_plan -> ConversionPlan     conversion_plan.py: the source is open, the spec is final
read_verify_data -> data        what each signature is compared on; its first batch was read
read_ranges -> Ranges           where INT8 engines get their tensors' ranges from
build -> Built                  the converted model in a folder, with its engines
run_fresh -> FreshReport        a new process has run every shape by the saved engines
compare -> VerificationReport   the outputs against the native model's
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from converters.checks.fresh_check import FreshReport, Request, fresh_check
from converters.checks.runnable import input_specs
from converters.checks.verify import VerificationReport, data_batches, verify
from converters.conversion_plan import ConversionContext, ConversionPlan
from converters.inputs.batch_files import read_spool, write_spool
from converters.inputs.by_signature import calibration_data_of, verify_data_of
from converters.inputs.calibration_data import batches, known_count
from converters.inputs.data_sources import files_of, read_once
from converters.int8.calibration_table import CalibrationTable, read_tables, usable_table
from converters.int8.proof import (
    LOG_LAYERS,
    check_precision,
    last_warnings,
    prove_int8,
    read_log,
    without_layers,
)
from converters.model.trt_graph import EngineNode, engine_nodes, load_graph
from converters.report.layers_record import layers_of_log, write_layers
from converters.segments.segmenter import SEGMENTER_LOG
from converters.spec.conversion_spec import ConversionSpec
from converters.tftrt.engine_log import LOG_BUILDS
from converters.util import record
from converters.util.child import environment_variables
from converters.util.errors import CalibrationError, EngineError, SpecError
from converters.util.shapes import Shape


@dataclasses.dataclass(frozen=True)
class Ranges:
    """Where INT8 engines get their tensors' ranges from; all of it is empty at other precisions.

    `batches` has the folder of each signature's calibration batches, and `files` the user's files
    that they were read from. `tables` is the calibration table that was read, as text by engine.
    `graphs` is for engines that are cut otherwise than those of the table: what the table says of
    the whole graph, by signature.
    """

    batches: Mapping[str, str] = dataclasses.field(default_factory=dict)
    files: tuple[Path, ...] = ()
    tables: Mapping[str, str] | None = None
    graphs: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class Built:
    """A model that was built; `signatures` is the answer of tftrt/engine_job.py by signature.

    `engines` are all engines of the saved model, and `proof` shows that INT8 kernels were taken
    (None at other precisions). Both are empty where nothing was saved.
    """

    signatures: Mapping[str, Mapping[str, Any]]
    engines: tuple[EngineNode, ...] = ()
    proof: Mapping[str, Any] | None = None

    @property
    def tables(self) -> dict[str, CalibrationTable]:
        """The calibration tables by engine."""
        return _tables(self.signatures)

    @property
    def shapes(self) -> dict[str, list[dict[str, Shape]]]:
        """The shapes that engines were built to serve, by signature."""
        return {
            name: [{key: tuple(dims) for key, dims in shapes.items()} for shapes in found["shapes"]]
            for name, found in self.signatures.items()
        }


def read_verify_data(plan: ConversionPlan, data: Any, context: ConversionContext) -> dict[str, Any]:
    """The data that signatures are compared on: the user's, else what they are built with.

    A signature that has neither gets random inputs. The first batch of each source is read now,
    because a mistake is cheap before the engines are built. A source that can be read only once
    goes to files, so that several signatures and the trials of a bisection can read it.

    Raises:
      VerificationDataError: the data is bad.
    """
    found: dict[str, Any] = {name: own.batches for name, own in plan.building.items()}
    if data is None:
        return found
    kept: dict[int, Any] = {}  # what was written to files, by the id of its source
    with context.progress.step("reading data to compare on"):
        for name, signature in plan.signatures.items():
            own = verify_data_of(name, data, plan.source.signatures)
            if own is None:
                continue
            specs = input_specs(signature)
            if read_once(own):
                if id(own) not in kept:
                    folder = context.work / f"verification_{len(kept)}"
                    write_spool(folder, data_batches(own, specs), "Batches to compare on")
                    kept[id(own)] = read_spool(str(folder))
                own = kept[id(own)]
            next(data_batches(own, specs))
            found[name] = own
    return found


def read_ranges(plan: ConversionPlan, data: Any, context: ConversionContext) -> Ranges:
    """Reads the calibration table if there is one, else the calibration batches into files."""
    spec = plan.spec
    if not plan.calibrates:
        if data is not None:
            raise SpecError(
                f"calibration_data has no effect with precision={spec.precision!r} and "
                f"use_calibration={spec.use_calibration}: leave it out, or choose INT8"
            )
        return Ranges()
    table = spec.calibration_table
    if table is not None and Path(table).exists():
        loaded = plan.machine["tensorrt_loaded"]
        found = read_tables(table).items()
        if data is not None:
            context.progress.say(f"{table} has the ranges: the calibration data is not read")
        return Ranges(tables={name: usable_table(one, loaded).serialize() for name, one in found})
    if data is None:
        missing = f" ({table} does not exist yet)" if table else ""
        raise CalibrationError(
            f"INT8 needs calibration data{missing}: give calibration_data (--calibrate), "
            "calibration_table, or use_calibration=False with quantize nodes or custom_ranges"
        )
    return Ranges(_write_batches(plan, data, context), tuple(files_of(data)))


def ranges_of_the_graph(
    plan: ConversionPlan, ranges: Ranges, built: Built, data: Any, context: ConversionContext
) -> Ranges:
    """The ranges for engines that are cut otherwise than those of the table that was read.

    `built` had the table's engines and tells what the table says of the graph. `data` measures
    the ranges that the table lacks.
    """
    graphs = {name: found["calibrated"] for name, found in built.signatures.items()}
    if data is None:
        return dataclasses.replace(ranges, graphs=graphs)
    written = _write_batches(plan, data, context)
    return Ranges(written, tuple(files_of(data)), ranges.tables, graphs)


def build(
    plan: ConversionPlan,
    spec: ConversionSpec,
    ranges: Ranges,
    folder: Path,
    context: ConversionContext,
    *,
    save: bool = True,
    allow_none: bool = False,
) -> Built:
    """Converts into `folder`, by the plan's spec or by a bisection's.

    `save` False only calibrates. `allow_none`: a model without any engine is no error, as in a
    trial that keeps everything out of TensorRT.
    """
    log = context.work / record.LOG
    arguments = {
        "saved_model": str(plan.source.saved_model),
        "folder": str(folder),
        "spec": _with_room(spec).to_json(),
        "signatures": list(plan.signatures),
        "kept": list(plan.kept),
        "calibration": dict(ranges.batches),
        "tables": ranges.tables,
        "progress": context.shown,
        "save": save,
        "allow_none": allow_none,
        "calibrated": ranges.graphs,
        "building": {name: own.folder for name, own in plan.building.items()},
    }
    with environment_variables(_log_settings() if context.child else {}):
        try:
            done = context.run("convert_signatures", arguments, log)
        except (CalibrationError, EngineError) as error:
            raise type(error)(f"{error}{last_warnings(read_log(log))}") from error
    signatures = done["signatures"]
    context.progress.timings += [(name, seconds) for name, seconds in done["timings"]]
    build_log = read_log(log)
    if build_log is not None:
        (folder / record.LOG).write_text(without_layers(build_log), encoding="utf-8")
    if not save:
        return Built(signatures)
    loaded = load_graph(folder, plan.source.tags)
    engines = engine_nodes(loaded.graph_def)
    if build_log is not None:
        write_layers(folder, layers_of_log(build_log, loaded, engines))
    made = {engine for found in signatures.values() for engine in found["engines"]}
    check_precision(spec, engines, made)
    proof = prove_int8(spec, engines, _tables(signatures), build_log)
    return Built(signatures, tuple(engines), proof)


def run_fresh(
    plan: ConversionPlan, built: Built, folder: Path, context: ConversionContext
) -> FreshReport:
    """Runs every shape that was built in a new process.

    EngineError if that process builds an engine or runs a segment in TensorFlow, unless the spec
    saves no engines; or if its log does not tell.
    """
    requests = []
    for name, sets in built.shapes.items():
        own = plan.building.get(name)
        requests += [Request(name, shapes, own.file_of(shapes) if own else None) for shapes in sets]
    with context.progress.step("running every shape in a fresh process"):
        report = fresh_check(folder, requests, plan.source.tags)
    if plan.spec.save_gpu_specific_engines:
        report.raise_if_failed()
    for run in report.runs:
        if built.signatures[run.signature]["engines"] and not (run.engines or run.native):
            raise EngineError(
                f"signature {run.signature!r}: the log of the fresh process names no engine "
                "that ran: whether its saved engines work is not known"
            )
    return report


def compare(
    plan: ConversionPlan,
    built: Built,
    folder: Path,
    data: Mapping[str, Any],
    context: ConversionContext,
    fresh: FreshReport | None = None,
) -> VerificationReport:
    """Compares the outputs of the converted signatures with the native model's.

    `data` is that of read_verify_data; signatures without any are compared on random inputs. With
    `fresh`, it also finds out whether engines serve the shapes of `data` that the fresh process did
    not run.
    """
    served: dict[str, list[Mapping[str, Shape]]] = {name: [] for name in built.signatures}
    for run in fresh.runs if fresh else ():
        if not run.native:
            served[run.signature].append(run.shapes)
    with context.progress.step("comparing outputs with the native model") as step:
        return verify(
            str(plan.source.saved_model),
            str(folder),
            data or None,
            signatures=list(plan.signatures),
            thresholds=plan.spec.thresholds,
            precision=plan.spec.precision,
            shapes=built.shapes if any(built.shapes.values()) else None,
            tags=plan.source.tags,
            separate_processes=context.child,
            progress=step.advance,
            check_engines=fresh is not None,
            served=served,
        )


def _tables(signatures: Mapping[str, Mapping[str, Any]]) -> dict[str, CalibrationTable]:
    return {
        engine: CalibrationTable.parse(text)
        for found in signatures.values()
        for engine, text in found["tables"].items()
    }


def _log_settings() -> dict[str, str]:
    """Variables with which TensorFlow logs what is read: segments, builds, and what TensorRT times
    and takes."""
    settings = {**SEGMENTER_LOG, "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    modules = (settings["TF_CPP_VMODULE"], LOG_BUILDS, LOG_LAYERS)
    settings["TF_CPP_VMODULE"] = ",".join(modules)
    return settings


def _with_room(spec: ConversionSpec) -> ConversionSpec:
    """The spec with room for one engine more.

    Calibrating with an implicit batch builds an engine of its own. It must not push the engine of
    a declared shape out of the cache.
    """
    calibrates = spec.precision == "INT8" and spec.use_calibration
    if not calibrates or spec.explicit_batch or spec.mode == "static":
        return spec
    return dataclasses.replace(spec, maximum_cached_engines=(spec.maximum_cached_engines or 1) + 1)


def _write_batches(plan: ConversionPlan, data: Any, context: ConversionContext) -> dict[str, str]:
    """Writes the calibration batches to files; the folder of each signature's."""
    most = plan.spec.calibration_batches
    specs = {name: input_specs(signature) for name, signature in plan.signatures.items()}
    inputs = {name: sorted(own) for name, own in specs.items()}
    folders: dict[str, str] = {}
    for name, own in calibration_data_of(data, inputs):
        if own is None:  # the data of the signature before it
            folders[name] = folders[next(reversed(folders))]
            continue
        folder = context.work / f"calibration_{len(folders)}"
        count = most or known_count(own)
        with context.progress.step(f"{name}: reading calibration batches", count) as step:
            found = batches(own, inputs[name], most, specs=specs[name], progress=step.advance)
            write_spool(folder, found)
        folders[name] = str(folder)
    return folders
