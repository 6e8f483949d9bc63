"""The first stage of a conversion: the source is opened and the spec becomes final.

`make_plan` is the only place where a spec changes on its way through `convert`: later stages read
`ConversionPlan.spec`. (A bisection builds with longer denylists, which it passes on itself.)
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from converters.checks.runnable import input_specs
from converters.inputs.build_data import BuildData, write_build_batches
from converters.inputs.by_signature import build_data_of, is_by_signature, takes_strings
from converters.inputs.data_sources import read_once
from converters.int8.calibration_table import check_table_path
from converters.int8.proof import without_build_log
from converters.model.model_source import GRAPH_KINDS, ModelSource, kind_of
from converters.model.trt_graph import Signature, load_graph
from converters.spec.conversion_spec import ConversionSpec
from converters.tftrt.spec_for_model import (
    cannot_convert,
    check_all_used,
    check_denied_ops,
    fitting_shapes,
    with_largest_batch,
    with_room_for_data,
)
from converters.util.child import run_in_child
from converters.util.custom_ops import load_custom_ops
from converters.util.errors import SpecError
from converters.util.progress import Progress


@dataclasses.dataclass(frozen=True)
class ConversionContext:
    """What every stage works with.

    `child`: the jobs that load TensorRT run in child processes. `shown` is what the user asked of
    the progress, for those children; `work` is a temporary folder.
    """

    work: Path
    progress: Progress
    child: bool
    shown: bool | None

    def run(self, job: str, arguments: Mapping[str, Any], log: Path | None = None) -> Any:
        """Runs a function of tftrt/engine_job.py; a child's output goes to `log`."""
        if self.child:
            return run_in_child(f"converters.tftrt.engine_job:{job}", arguments, log)
        return getattr(importlib.import_module("converters.tftrt.engine_job"), job)(**arguments)


@dataclasses.dataclass(frozen=True)
class ConversionPlan:
    """What is converted, and how.

    `asked` is the user's spec and `spec` the final one, with every default filled in;
    `reason` says why it has its mode. `kept` are the signatures that stay native: "" where the
    user did not name them, else the reason. `building` has the batches to build with of
    those `signatures` for which random values do not do. `machine` is the environment as JSON.
    """

    source: ModelSource
    asked: ConversionSpec
    spec: ConversionSpec
    reason: str
    signatures: Mapping[str, Signature]
    kept: Mapping[str, str]
    building: Mapping[str, BuildData]
    machine: Mapping[str, Any]

    @property
    def calibrates(self) -> bool:
        """Whether TensorRT gets ranges from calibration data or from a calibration table."""
        return _calibrates(self.spec)


def make_plan(
    source: str | os.PathLike[str],
    asked: ConversionSpec,
    context: ConversionContext,
    build_data: Any = None,
    calibration_data: Any = None,
) -> ConversionPlan:
    """Opens the source, settles the spec for it, and reads the data to build with.

    Signatures with strings that have no `build_data` are built with their calibration data.

    Raises:
      SpecError: the spec contradicts itself, or does not fit the model, or the data is bad.
      ModelError: the source cannot be read.
      UnavailableError: TF-TRT, TensorRT or a GPU is missing.
    """
    kind = kind_of(source)
    spec, reason = with_mode(asked, kind)
    if not context.child:
        spec = without_build_log(spec, asked.require_int8)
    if spec.outputs and kind in ("saved_model", "keras"):
        what = "SavedModel" if kind == "saved_model" else "Keras file"
        raise SpecError(
            f"outputs={spec.outputs}: {source} is a {what}, whose signatures name their "
            "outputs: leave outputs (--output) out, or choose signatures (--signature)"
        )
    if spec.calibration_table is not None:
        check_table_path(spec.calibration_table)
        # The conversion may be repeated from another folder: the record needs the whole path.
        table = os.path.abspath(spec.calibration_table)
        spec = dataclasses.replace(spec, calibration_table=table)
    load_custom_ops(spec.imports, spec.op_libraries)
    opened, machine = _open(Path(source), kind, spec, context)
    spec = dataclasses.replace(_with_keys(spec, opened.renamed), tags=opened.tags)
    named = {name: opened.signature(name) for name in spec.signatures or opened.signatures}
    check_all_used(spec, named)
    building = _read_build_data(spec, named, build_data, calibration_data, context)
    signatures, kept = _chosen(opened, spec, named, building)
    shapes = {name: own.shapes for name, own in building.items()}
    spec = with_largest_batch(spec, asked.max_batch_size, signatures.values(), shapes)
    spec = with_room_for_data(spec, asked.maximum_cached_engines, shapes)
    return ConversionPlan(opened, asked, spec, reason, signatures, kept, building, machine)


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


def _open(
    path: Path, kind: str, spec: ConversionSpec, context: ConversionContext
) -> tuple[ModelSource, Mapping[str, Any]]:
    """The source as a SavedModel, and the environment."""
    with context.progress.step("looking for TensorRT and the GPU, reading the model"):
        found = context.run(
            "prepare",
            {
                "source": str(path),
                "work": str(context.work),
                "tags": list(spec.tags) if spec.tags and kind == "saved_model" else None,
                "outputs": list(spec.outputs) if spec.outputs else None,
            },
        )
        loaded = load_graph(found["saved_model"], found["tags"])
    check_denied_ops(spec, loaded.graph_def)
    source = ModelSource(
        path,
        kind,
        Path(found["saved_model"]),
        tuple(found["tags"]),
        {name: loaded.signatures[name] for name in found["signatures"]},
        found["renamed"],
    )
    return source, found["environment"]


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


def _read_build_data(
    spec: ConversionSpec,
    named: Mapping[str, Signature],
    build_data: Any,
    calibration_data: Any,
    context: ConversionContext,
) -> dict[str, BuildData]:
    specs = {name: input_specs(signature) for name, signature in named.items()}
    data = build_data
    if data is None:
        if calibration_data is None or not any(map(takes_strings, specs.values())):
            return {}
        data = calibration_data
        if is_by_signature(data, specs):
            data = {name: data[name] for name in data if takes_strings(specs.get(name, {}))}
            if not data:
                return {}
        if read_once(data):
            raise SpecError(
                "calibration_data can be read only once, and a signature with strings is also "
                "built with it: give a function that makes it, a list, a dataset or files"
            )
    found: dict[str, BuildData] = {}
    with context.progress.step("reading data to build with"):
        for name, own in build_data_of(data, specs).items():
            folder = context.work / f"build_{len(found)}"
            shapes = fitting_shapes(spec, named[name])
            found[name] = write_build_batches(own, specs[name], shapes, folder)
    return found


def _chosen(
    source: ModelSource,
    spec: ConversionSpec,
    signatures: Mapping[str, Signature],
    building: Mapping[str, Any],
) -> tuple[dict[str, Signature], dict[str, str]]:
    """The signatures to convert, and those that stay native with the reason.

    A signature that cannot be converted stays native. SpecError if the user named it, or if no
    other is left.
    """
    reasons = {}
    for name, signature in signatures.items():
        why = cannot_convert(
            spec, signature, calibrated=_calibrates(spec), has_values=name in building
        )
        if why is not None:
            reasons[name] = why
    if reasons and (spec.signatures or len(reasons) == len(signatures)):
        hint = ". Signatures that are not named stay native" if spec.signatures else ""
        raise SpecError("; ".join(reasons.values()) + hint)
    kept = dict.fromkeys((name for name in source.signatures if name not in signatures), "")
    return {n: s for n, s in signatures.items() if n not in reasons}, {**kept, **reasons}


def _calibrates(spec: ConversionSpec) -> bool:
    return spec.precision == "INT8" and bool(spec.use_calibration)
