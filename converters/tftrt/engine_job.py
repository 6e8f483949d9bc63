"""The part of a conversion that needs TF-TRT: segment, calibrate, build, save.

Arguments and results are JSON, so that these functions can run in a child process.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from converters.checks.runnable import input_specs, load_error
from converters.environment.kernel_library import kernels_kept
from converters.environment.tftrt_ready import require_tftrt
from converters.inputs.batch_files import read_spool, spool_files
from converters.inputs.random_inputs import random_batches
from converters.int8 import quantization
from converters.int8.calibration_table import CalibrationTable, TablesBySignature, match_tables
from converters.int8.missing_ranges import missing_in_engines, require_ranges
from converters.int8.proof import check_quantize_nodes_fit
from converters.int8.table_split import CalibratedGraph, check_ranges, with_ranges
from converters.model.model_source import freeze, open_source
from converters.model.trt_graph import Signature, engine_nodes, load_graph
from converters.spec.conversion_spec import ConversionSpec
from converters.tftrt.save_converted import save_converted
from converters.tftrt.signature_v1 import SignatureV1
from converters.tftrt.signature_v2 import Batches, SignatureV2, Tables, serialize_engines
from converters.tftrt.spec_for_model import check_denied_nodes, declared_shapes
from converters.util.child import environment_variables
from converters.util.errors import CalibrationError, EngineError
from converters.util.paths import as_file_name
from converters.util.progress import Progress
from converters.util.shapes import Shape, shapes_of

# TF-TRT writes to this file which ops it left out, and why.
LEFT_OUT = "left_out.{signature}.csv"


def check_environment() -> dict[str, Any]:
    """The environment as JSON; UnavailableError when nothing can be converted in it."""
    return require_tftrt().to_json()


def prepare(
    source: str, work: str, tags: Sequence[str] | None, outputs: Sequence[str] | None
) -> dict[str, Any]:
    """Checks that TF-TRT can work here. Exports the source into `work` if it is no SavedModel."""
    environment = check_environment()
    found = open_source(source, Path(work), tags=tags, outputs=outputs)
    return {
        "environment": environment,
        "saved_model": str(found.saved_model),
        "tags": list(found.tags),
        "signatures": list(found.signatures),
        "renamed": dict(found.renamed),
    }


def convert_signatures(
    saved_model: str,
    folder: str,
    spec: Mapping[str, Any],
    signatures: Sequence[str],
    kept: Sequence[str],
    calibration: Mapping[str, str],
    tables: Mapping[str, str] | None,
    progress: bool | None,
    save: bool = True,
    allow_none: bool = False,
    calibrated: Mapping[str, Any] | None = None,
    building: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Converts each of `signatures` and saves them together; those `kept` stay unchanged.

    Args:
      spec: a resolved ConversionSpec as JSON.
      calibration: by signature, the folder of its batches (inputs/batch_files.py).
      tables: the text of earlier calibration tables by engine, for all signatures together.
      save: False only calibrates.
      allow_none: whether a signature without any engine is allowed.
      calibrated: by signature, "calibrated" of an earlier answer, instead of `tables`. A signature
        whose engines need more ranges is calibrated with its batches, if it has some; no engine
        is built for their shape then, because the earlier conversion built none.
      building: by signature, the folder of the batches to build with (inputs/build_data.py). Other
        signatures are built on random inputs.

    Returns:
      "signatures": by signature, the converter, its engines, calibration tables by engine,
      "calibrated" (a CalibratedGraph as JSON, or None), and the shapes that were built; "timings":
      (step, seconds).
    """
    shown = Progress(progress)
    job = _Job(saved_model, ConversionSpec.from_json(spec), shown, Path(folder))
    job.alone = len(signatures) == 1
    job.building = building or {}
    if tables is not None:
        parsed = {name: CalibrationTable.parse(text) for name, text in tables.items()}
        job.tables = TablesBySignature(parsed, job.alone)
    job.shapes_of_data = calibrated is None
    for name, values in (calibrated or {}).items():
        if values is not None:
            job.calibrated[name] = CalibratedGraph.from_json(values)
    done = {}
    with kernels_kept() as job.keep_kernels:
        for name in signatures:
            report = Path(folder) / LEFT_OUT.format(signature=as_file_name(name))
            with environment_variables({"TF_TRT_SHOW_DETAILED_REPORT": str(report)}):
                done[name] = job.convert(name, calibration.get(name), allow_none)
    if not allow_none:
        check_denied_nodes(job.spec, job.node_names)
    if save:
        job.save(list(kept))
    built = {
        name: {
            "converter": found.converter,
            "engines": [engine.canonical_name for engine in engine_nodes(found.graph_def)],
            "tables": {engine: text for engine, text in found.tables().items() if text},
            "calibrated": _calibrated(found.graph_def),
            "shapes": [dict(shapes) for shapes in job.shapes[name]],
        }
        for name, found in done.items()
    }
    return {"signatures": built, "timings": [list(step) for step in shown.timings]}


class _Job:
    def __init__(
        self, saved_model: str, spec: ConversionSpec, progress: Progress, folder: Path
    ) -> None:
        import tensorflow as tf

        self.spec = spec
        self.tables: TablesBySignature | None = None
        self.calibrated: dict[str, CalibratedGraph] = {}
        self.shapes_of_data = True  # calibration data also says which shapes to build
        self.alone = True  # no other signature is converted
        self.keep_kernels: Callable[[], bool] = lambda: False
        self.building: Mapping[str, str] = {}
        self.node_names: set[str] = set()
        self.shapes: dict[str, list[dict[str, Shape]]] = {}
        self._ranges: dict[str, float] = {}  # custom ones for the tables of the signature at hand
        self._prepared = False
        self._saved_model = saved_model
        self._progress = progress
        self._folder = folder
        self._loaded = load_graph(saved_model, spec.tags)
        self._converted: dict[str, Any] = {}
        self._digests: dict[str, str] = {}
        with progress.step("loading"):
            try:
                self._native = tf.saved_model.load(saved_model, list(spec.tags or ()) or None)
            except Exception as error:
                raise load_error(saved_model, error) from error

    def convert(self, name: str, spool: str | None, allow_none: bool) -> Any:
        signature = self._loaded.signatures[name]
        # Freezing takes time: do it only if there is another signature to compare with.
        digest = name if self.alone else self._digest(name)
        if digest in self._digests:
            # Keras exports one function as "serve" and "serving_default".
            first = self._digests[digest]
            self.shapes[name] = self.shapes[first]
            self._converted[name] = self._converted[first]
            return self._converted[name]
        self._digests[digest] = name
        data = read_spool(spool) if spool is not None else None
        calibration_shape = None
        if data is not None and self.shapes_of_data:
            calibration_shape = shapes_of(next(iter(data())))
        given = list(read_spool(self.building[name])()) if name in self.building else []
        shapes = [shapes_of(batch) for batch in given]
        shapes = shapes or declared_shapes(self.spec, signature, calibration_shape)
        self.shapes[name] = shapes
        found: Any
        if self.spec.mode == "static" or data is not None:
            self._prepare_building()
        if self.spec.mode == "static":
            found = SignatureV1(
                self._native,
                name,
                self.spec,
                self._progress,
                shapes=shapes[0] if shapes else None,
                edit=self._edit,
            )
            found.convert()
        else:
            count = None if spool is None else len(spool_files(spool))
            tables = self._tables_of(name)
            if self.spec.custom_ranges and self.spec.use_calibration:
                tables = self._with_custom_ranges(name, tables, data, count)
                data = count = None  # `tables` measures
            found = self._signature_v2(name, tables)
            found.convert(data, count)
            if shapes and engine_nodes(found.graph_def):
                self._prepare_building()  # not earlier: segmenting needs memory too
                found.build(shapes, given or _random(signature, shapes))
        self.node_names.update(found.node_names)
        engines = engine_nodes(found.graph_def)
        if self.spec.precision == "INT8" and not self.spec.use_calibration:
            require_ranges(missing_in_engines(found.graph_def))
        if not engines and not allow_none:
            raise EngineError(
                f"signature {name!r}: TF-TRT found nothing to convert in {len(found.node_names)} "
                f"nodes with minimum_segment_size={self.spec.minimum_segment_size}. `trt-convert "
                "inspect` says why each node is left out"
            )
        self._converted[name] = found
        return found

    def _signature_v2(self, name: str, tables: Tables | None) -> SignatureV2:
        spec, progress = self.spec, self._progress
        return SignatureV2(self._saved_model, name, spec, progress, edit=self._edit, tables=tables)

    def _with_custom_ranges(
        self, name: str, known: Tables | None, data: Batches | None, count: int | None
    ) -> Tables:
        """The tables that are `known` or measured, with the custom ranges in them.

        TensorRT builds an engine as soon as it has measured. So another conversion measures, whose
        engines are thrown away.
        """

        def tables(graph_def: Any) -> Mapping[str, CalibrationTable]:
            check_ranges(graph_def, self._ranges)
            engines = engine_nodes(graph_def)
            found = None
            with contextlib.suppress(CalibrationError) if data else contextlib.nullcontext():
                found = known(graph_def) if known else None
            if found is None and engines:
                found = match_tables(self._measured(name, data or tuple, count), engines)
            return with_ranges(graph_def, found or {}, self._ranges)

        return tables

    def _measured(self, name: str, data: Batches, count: int | None) -> dict[str, CalibrationTable]:
        signature = self._signature_v2(name, None)
        signature.convert(data, count)
        if self.spec.explicit_batch:  # it is calibrated when it is built
            first = next(iter(data()))
            signature.build([shapes_of(first)], [first])
        tables = signature.tables()
        signature.discard()
        return {engine: CalibrationTable.parse(text) for engine, text in tables.items()}

    def _tables_of(self, name: str) -> Tables | None:
        if name in self.calibrated:
            return self.calibrated[name].split
        tables = self.tables
        if tables is None:
            return None
        return lambda graph_def: tables.of(name, engine_nodes(graph_def))

    def save(self, kept: list[str]) -> None:
        with self._progress.step("saving"), tempfile.TemporaryDirectory(dir=self._folder) as work:
            engines: dict[str, Any] = {}
            functions = {}
            for name, found in self._converted.items():
                if isinstance(found, SignatureV2) and found.name == name:
                    plans = bool(self.spec.save_gpu_specific_engines)
                    engines.update(serialize_engines(found, work, plans))
                    found.finish()
                functions[name] = found.function
            loads = {id(found.native): found.native for found in self._converted.values()}
            loads.pop(id(self._native), None)
            save_converted(
                self._folder,
                functions,
                engines,
                [self._native, *loads.values()],
                kept,
                Path(self._saved_model),
                self.spec.tags or (),
            )

    def _prepare_building(self) -> None:
        if not self._prepared:
            with self._progress.step("loading TensorRT's kernels"):
                self.keep_kernels()
        self._prepared = True

    def _digest(self, name: str) -> str:
        """A digest that is equal for signatures that compute the same from the same input names."""
        function = self._native.signatures[name]
        frozen = freeze(function)
        names = [tensor.name for tensor in (*frozen.inputs, *frozen.outputs)]
        digest = hashlib.sha256(frozen.graph.as_graph_def().SerializeToString(deterministic=True))
        for part in (names, sorted(function.structured_outputs), frozen.graph.captures):
            digest.update(repr(part).encode())
        return digest.hexdigest()

    def _edit(self, graph_def: Any) -> None:
        """Puts custom ranges into the frozen graph as quantize nodes, or keeps them for calibration
        tables. Checks all quantize nodes: INT8 without calibration needs some, and nothing else may
        have any that change the precision."""
        check_quantize_nodes_fit(graph_def, self.spec)
        ranges = self.spec.custom_ranges
        if ranges and self.spec.use_calibration:
            self._ranges = quantization.amax_by_tensor(graph_def, ranges)
        elif ranges:
            graph_def.CopyFrom(quantization.insert_ranges(graph_def, ranges))
        if self.spec.precision == "INT8" and not self.spec.use_calibration:
            quantization.check_quantize_nodes(graph_def)


def _calibrated(graph_def: Any) -> dict[str, Any] | None:
    found = CalibratedGraph.of(graph_def)
    return None if found is None else found.to_json()


def _random(signature: Signature, shapes: Sequence[Mapping[str, Shape]]) -> Iterator[Any]:
    return random_batches(input_specs(signature), len(shapes), shapes, error=EngineError)
