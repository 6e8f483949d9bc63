"""The steps of one conversion, in the order in which `converters.convert` takes them."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from converters import __version__
from converters.checks.fresh_check import FreshReport, fresh_check
from converters.checks.runnable import signature_specs
from converters.checks.verify import VerificationReport, verify
from converters.conversion_report import ConversionReport, SignatureReport
from converters.inputs.batch_files import write_spool
from converters.inputs.calibration_data import batches, known_count
from converters.inputs.data_sources import files_of
from converters.int8.calibration_table import (
    CalibrationTable,
    check_table_path,
    read_tables,
    serialize_tables,
    usable_table,
    write_tables,
)
from converters.int8.proof import (
    LOG_LAYERS,
    check_precision,
    last_warnings,
    prove_int8,
    read_log,
    without_build_log,
    without_layers,
)
from converters.model.model_source import GRAPH_KINDS, ModelSource, kind_of
from converters.model.trt_graph import EngineNode, engine_nodes, load_graph
from converters.segments.segmenter import SEGMENTER_LOG
from converters.spec.conversion_spec import ConversionSpec
from converters.tftrt.declared_shapes import cannot_convert, check_all_used, with_graph_batch
from converters.tftrt.denylist import check_denied_ops
from converters.tftrt.engine_log import LOG_BUILDS
from converters.util import record
from converters.util.child import environment_variables, run_in_child
from converters.util.errors import CalibrationError, EngineError, SpecError
from converters.util.progress import Progress
from converters.util.shapes import Shape


class Conversion:
    """One source and one spec. `child`: the steps that load TensorRT run in child processes, whose
    output goes to conversion.log in the folder that they write."""

    def __init__(
        self,
        source: str | os.PathLike[str],
        spec: ConversionSpec,
        work: Path,
        progress: Progress,
        *,
        child: bool,
        shown: bool | None,
    ) -> None:
        self.source_path = Path(source)
        self.kind = kind_of(source)
        self._asked = spec
        self.spec, self.reason = with_mode(spec, self.kind)
        if not child:
            self.spec = without_build_log(self.spec, spec.require_int8)
        if self.spec.outputs and self.kind in ("saved_model", "keras"):
            what = "SavedModel" if self.kind == "saved_model" else "Keras file"
            raise SpecError(
                f"outputs={self.spec.outputs}: {source} is a {what}, whose signatures name their "
                "outputs: leave outputs (--output) out, or choose signatures (--signature)"
            )
        table = self.spec.calibration_table
        if table is not None:
            check_table_path(table)
            # The record's spec is read from other folders too.
            self.spec = dataclasses.replace(self.spec, calibration_table=os.path.abspath(table))
        self.work = work
        self._progress = progress
        self._child = child
        self._shown = shown
        self._spools: dict[str, str] = {}
        self._tables: dict[str, str] | None = None
        self._data: Any = None  # that was read to calibrate
        self._calibrated: dict[str, Any] | None = None
        self._built: Mapping[str, Any] = {}
        self._engines: list[EngineNode] = []  # of what was saved last
        self._proof: Mapping[str, Any] | None = None
        self.machine: Mapping[str, Any] = {}
        self._served: dict[str, list[Mapping[str, Shape]]] = {}  # run by saved engines alone
        self.renamed: Mapping[str, str] = {}  # inputs of a graph whose names no signature can have
        self.source = self._prepare()
        chosen = self.spec.signatures or tuple(self.source.signatures)
        self.signatures = {name: self.source.signature(name) for name in chosen}
        # Signatures that stay native, and why.
        self.kept = dict.fromkeys((n for n in self.source.signatures if n not in chosen), "")
        check_all_used(self.spec, self.signatures)
        self._keep_what_cannot()
        self.spec = with_graph_batch(self.spec, spec.max_batch_size, self.signatures.values())

    @property
    def _calibrates(self) -> bool:
        return self.spec.precision == "INT8" and bool(self.spec.use_calibration)

    def _keep_what_cannot(self) -> None:
        """Signatures that cannot be converted stay native, unless they were asked for by name or
        nothing else is left: SpecError."""
        reasons = {}
        for name, signature in self.signatures.items():
            why = cannot_convert(self.spec, signature, calibrated=self._calibrates)
            if why is not None:
                reasons[name] = why
        if reasons and (self.spec.signatures or len(reasons) == len(self.signatures)):
            named = ". Signatures that are not named stay native" if self.spec.signatures else ""
            raise SpecError("; ".join(reasons.values()) + named)
        self.signatures = {n: s for n, s in self.signatures.items() if n not in reasons}
        self.kept.update(reasons)

    def calibration(self, data: Any) -> None:
        """Reads the calibration table, if there is one, or the batches, into files of `work`."""
        if not self._calibrates:
            if data is not None:
                raise SpecError(
                    f"calibration_data has no effect with precision={self.spec.precision!r} and "
                    f"use_calibration={self.spec.use_calibration}: leave it out, or choose INT8"
                )
            return
        table = self.spec.calibration_table
        if table is not None and Path(table).exists():
            loaded = self.machine["tensorrt_loaded"]
            self._tables = {
                name: usable_table(found, loaded).serialize()
                for name, found in read_tables(table).items()
            }
            if data is not None:
                self._progress.say(f"{table} has the ranges: the calibration data is not read")
            return
        if data is None:
            missing = f" ({table} does not exist yet)" if table else ""
            raise CalibrationError(
                f"INT8 needs calibration data{missing}: give calibration_data (--calibrate), "
                "calibration_table, or use_calibration=False with quantize nodes or custom_ranges"
            )
        self._read(data)

    def keep_ranges(self, data: Any) -> bool:
        """Engines that are cut otherwise from now on get their ranges from the calibration table
        that was read; where it lacks some, from `data`. Whether there is such a table."""
        if self._tables is None:
            return False
        self._calibrated = {name: found["calibrated"] for name, found in self._built.items()}
        if data is not None:
            self._read(data)
        return True

    def _read(self, data: Any) -> None:
        self._data = data
        specs = signature_specs(str(self.source.saved_model), self.source.tags)
        for name, own in _by_signature(data, {n: sorted(specs[n]) for n in self.signatures}):
            if own is None:  # the data of the signature before it
                self._spools[name] = self._spools[next(reversed(self._spools))]
                continue
            count = self.spec.calibration_batches or known_count(own)
            folder = self.work / f"calibration_{len(self._spools)}"
            with self._progress.step(f"{name}: reading calibration batches", count) as step:
                found = batches(
                    own,
                    sorted(specs[name]),
                    self.spec.calibration_batches,
                    specs=specs[name],
                    progress=step.advance,
                )
                write_spool(folder, found)
            self._spools[name] = str(folder)

    def build(
        self, spec: ConversionSpec, folder: Path, save: bool = True, allow_none: bool = False
    ) -> None:
        """Converts into `folder`; `allow_none` is for trials that keep everything out."""
        log = self.work / record.LOG
        log_level = dict(SEGMENTER_LOG)
        log_level["TF_CPP_VMODULE"] += f",{LOG_BUILDS}"
        if spec.precision == "INT8":
            log_level["TF_CPP_VMODULE"] += f",{LOG_LAYERS}"
        log_level["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
        arguments = {
            "saved_model": str(self.source.saved_model),
            "folder": str(folder),
            "spec": self._with_room(spec).to_json(),
            "signatures": list(self.signatures),
            "kept": list(self.kept),
            "calibration": self._spools,
            "tables": self._tables,
            "progress": self._shown,
            "save": save,
            "allow_none": allow_none,
            "calibrated": self._calibrated,
        }
        with environment_variables(log_level if self._child else {}):
            try:
                done = self._run("convert_signatures", arguments, log)
            except (CalibrationError, EngineError) as error:
                raise type(error)(f"{error}{last_warnings(read_log(log))}") from error
        self._built = done["signatures"]
        self._progress.timings += [(name, seconds) for name, seconds in done["timings"]]
        build_log = read_log(log)
        if build_log is not None:
            (folder / record.LOG).write_text(without_layers(build_log), encoding="utf-8")
        if save:
            self._engines = engine_nodes(load_graph(folder, self.source.tags).graph_def)
            made = {engine for found in self._built.values() for engine in found["engines"]}
            check_precision(spec, self._engines, made)
            self._proof = prove_int8(spec, self._engines, self.tables(), build_log)

    def run_fresh(self, folder: Path) -> FreshReport:
        """Every shape that was built, in a fresh process; EngineError unless all is saved."""
        requests = [
            (name, {key: tuple(shape) for key, shape in shapes.items()})
            for name, found in self._built.items()
            for shapes in found["shapes"]
        ]
        with self._progress.step("running every shape in a fresh process"):
            report = fresh_check(folder, requests, self.source.tags)
        if self.spec.save_gpu_specific_engines:
            report.raise_if_failed()
        for run in report.runs:
            if self._built[run.signature]["engines"] and not (run.engines or run.native):
                raise EngineError(
                    f"signature {run.signature!r}: the log of the fresh process names no engine "
                    "that ran: whether its saved engines work is not known"
                )
        self._served = {name: [] for name in self._built}
        for run in report.runs:
            if not run.native:
                self._served[run.signature].append(run.shapes)
        return report

    def verify(self, folder: Path, data: Any, check_engines: bool = True) -> VerificationReport:
        """The outputs of the converted signatures against the native ones. `check_engines` looks
        whether engines serve the shapes that run_fresh did not run."""
        shapes = {
            name: [{key: tuple(dims) for key, dims in s.items()} for s in found["shapes"]]
            for name, found in self._built.items()
        }
        with self._progress.step("comparing outputs with the native model") as step:
            return verify(
                str(self.source.saved_model),
                str(folder),
                data,
                signatures=list(self.signatures),
                thresholds=self.spec.thresholds,
                precision=self.spec.precision,
                shapes=shapes if any(shapes.values()) else None,
                tags=self.source.tags,
                separate_processes=self._child,
                progress=step.advance,
                check_engines=check_engines,
                served=self._served,
            )

    def tables(self) -> dict[str, CalibrationTable]:
        """The calibration tables of what was built, by engine."""
        return {
            engine: CalibrationTable.parse(text)
            for built in self._built.values()
            for engine, text in built["tables"].items()
        }

    def save_tables(self) -> None:
        """Writes measured ranges to the spec's calibration_table."""
        path = self.spec.calibration_table
        if path is not None and self._tables is None and self._calibrates:
            write_tables(path, self.tables())

    def _data_hash(self, folder: Path, verify_data: Any) -> dict[str, dict[str, str]]:
        """The SHA-256 of each file that data was read from, and of the calibration table that a
        repeated conversion reads: the one in `folder`, or the spec's."""
        given = {
            "calibration_data": files_of(self._data),
            "verify_data": files_of(verify_data),
        }
        found: dict[str, dict[str, str]] = {name: {} for name in given}
        count = sum(map(len, given.values()))
        shown = self._progress.step("hashing the data's files")
        with shown if count else contextlib.nullcontext():
            for name, files in given.items():
                found[name] = {str(file): record.file_hash(file) for file in files}
        path, tables = self.spec.calibration_table, self.tables()
        if (folder / record.TABLE).exists():
            found["calibration_table"] = {record.TABLE: record.file_hash(folder / record.TABLE)}
        elif path is not None and self._tables is not None:
            found["calibration_table"] = {path: record.file_hash(path)}
        elif self._calibrates and tables:  # as save_tables writes it
            text = serialize_tables(tables).encode()
            found["calibration_table"] = {path or "measured": hashlib.sha256(text).hexdigest()}
        return {name: hashes for name, hashes in found.items() if hashes}

    def report(
        self,
        output: Path,
        spec: ConversionSpec,
        fresh: FreshReport,
        folder: Path,
        verify_data: Any = None,
    ) -> ConversionReport:
        """What is said of the model in `folder`, which will be at `output`."""
        engines = {engine.canonical_name: engine for engine in self._engines}
        signatures = [
            SignatureReport(
                name,
                built["converter"],
                tuple(built["engines"]),
                built["nodes"],
                sum(len(engines[engine].node_names) for engine in built["engines"]),
                tuple(built["shapes"]),
            )
            for name, built in self._built.items()
        ]
        native = [SignatureReport(name, "native", reason=why) for name, why in self.kept.items()]
        return ConversionReport(
            source=str(self.source_path),
            source_hash=record.source_hashes(self.source_path),
            data_hash=self._data_hash(folder, verify_data),
            settings=record.settings(),
            package_version=__version__,
            output=str(output),
            kind=self.kind,
            spec=spec,
            asked=dataclasses.replace(
                self._asked,
                op_denylist=spec.op_denylist,
                node_denylist=spec.node_denylist,
                calibration_table=spec.calibration_table,
            ),
            reason=self.reason,
            signatures=(*signatures, *native),
            environment=self.machine,
            fresh=fresh,
            calibration=self._proof,
            timings=tuple(self._progress.timings),
            renamed_inputs=self.renamed,
        )

    def _prepare(self) -> ModelSource:
        spec = self.spec
        with self._progress.step("looking for TensorRT and the GPU, reading the model"):
            found = self._run(
                "prepare",
                {
                    "source": str(self.source_path),
                    "work": str(self.work),
                    "tags": list(spec.tags) if spec.tags and self.kind == "saved_model" else None,
                    "outputs": list(spec.outputs) if spec.outputs else None,
                },
                None,
            )
            loaded = load_graph(found["saved_model"], found["tags"])
        check_denied_ops(spec, loaded.graph_def)
        self.machine = found["environment"]
        names = found["signatures"]
        self.renamed = found["renamed"]
        self.spec = dataclasses.replace(_with_keys(spec, self.renamed), tags=tuple(found["tags"]))
        return ModelSource(
            self.source_path,
            self.kind,
            Path(found["saved_model"]),
            tuple(found["tags"]),
            {name: loaded.signatures[name] for name in names},
            self.renamed,
        )

    def _with_room(self, spec: ConversionSpec) -> ConversionSpec:
        """Calibrating with an implicit batch builds an engine of its own, which must not push one
        of the declared shapes out of the cache."""
        if not self._calibrates or spec.explicit_batch or spec.mode == "static":
            return spec
        return dataclasses.replace(
            spec, maximum_cached_engines=(spec.maximum_cached_engines or 1) + 1
        )

    def _run(self, job: str, arguments: Mapping[str, Any], log: Path | None) -> Any:
        if self._child:
            return run_in_child(f"converters.tftrt.engine_job:{job}", arguments, log)
        return getattr(importlib.import_module("converters.tftrt.engine_job"), job)(**arguments)


def with_mode(spec: ConversionSpec, kind: str) -> tuple[ConversionSpec, str]:
    """The resolved spec, static for a graph unless it says otherwise, and the reason."""
    if spec.mode is not None:
        reason = f"mode={spec.mode!r} was asked for"
    elif kind in GRAPH_KINDS:
        with contextlib.suppress(SpecError):
            static = dataclasses.replace(spec, mode="static").resolved()
            return static, f"the source is a {kind.replace('_', ' ')}, which TensorFlow 1 made"
        reason = "the source is a graph, but the spec asks for what static mode cannot do"
    else:
        reason = f"the source is a {kind.replace('_', ' ')}"
    return spec.resolved(), reason


def _with_keys(spec: ConversionSpec, renamed: Mapping[str, str]) -> ConversionSpec:
    """The spec with the signature's names for a graph's inputs."""

    def keys(given: Mapping[str, Any]) -> dict[str, Any]:
        return {renamed.get(name, name): value for name, value in given.items()}

    sets, ranges = spec.input_shapes, spec.shape_ranges
    assert not isinstance(sets, Mapping)  # resolved() makes it a tuple
    return dataclasses.replace(
        spec,
        input_shapes=None if sets is None else tuple(map(keys, sets)),
        shape_ranges=None if ranges is None else keys(ranges),
    )


def _by_signature(data: Any, inputs: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Any]]:
    """(signature, its data); None for the same as before, when one source serves them all."""
    if isinstance(data, Mapping) and set(data) & set(inputs):
        for name in inputs:
            if name not in data:
                raise CalibrationError(f"calibration_data has nothing for signature {name!r}")
            yield name, data[name]
        return
    first = next(iter(inputs))
    other = [name for name in inputs if inputs[name] != inputs[first]]
    if other:
        raise CalibrationError(
            f"signatures {first!r} and {other[0]!r} have other inputs: give calibration_data as a "
            f"dict by signature ({', '.join(map(repr, inputs))}), or name one in signatures"
        )
    for name in inputs:
        yield name, data if name == first else None
