"""What a conversion did and proved, for people, programs and conversion.json."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from converters import __version__
from converters.checks.fresh_check import FreshReport
from converters.checks.verification_report import VerificationReport
from converters.conversion_plan import ConversionPlan
from converters.conversion_stages import Built, Ranges
from converters.int8.calibration_table import serialize_tables
from converters.model.flat_graph import flatten_signature
from converters.model.trt_graph import ENGINE_OP, LoadedGraph, load_graph
from converters.segments import segment_rules
from converters.segments.exclusions import compute_count
from converters.spec.conversion_spec import ConversionSpec
from converters.util import record
from converters.util.progress import Progress
from converters.util.shapes import Shape, format_shape_set


@dataclasses.dataclass(frozen=True)
class SignatureReport:
    """One signature. `converter` is TF-TRT's class, or "native" for a signature that was kept.

    Of the converted graph's `compute_nodes`, `compute_nodes_in_engines` run in TensorRT; nodes that
    only hold, pass on or order values do not count. `shapes` are those that the engines serve.
    `reason` says why it stayed native, if the user did not ask for that.
    """

    name: str
    converter: str
    engines: tuple[str, ...] = ()
    compute_nodes: int = 0
    compute_nodes_in_engines: int = 0
    shapes: tuple[Mapping[str, Shape], ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        if self.converter == "native":
            return f"{self.name}: kept as it is" + (f", since {self.reason}" if self.reason else "")
        share = 100 * self.compute_nodes_in_engines / max(self.compute_nodes, 1)
        shapes = "; ".join(map(format_shape_set, self.shapes)) or "none built"
        count = len(self.engines)
        return (
            f"{self.name}: {count} {'engine' if count == 1 else 'engines'} with "
            f"{self.compute_nodes_in_engines} of {self.compute_nodes} compute nodes "
            f"({share:.0f} %), by {self.converter}; shapes {shapes}"
        )


@dataclasses.dataclass(frozen=True)
class ConversionReport:
    """What a conversion did and proved.

    `spec` is the one that held, with every default filled in. `asked` is the user's, None where
    the user left a default; both have the denylist that a bisection found. `reason` says why this
    converter of TF-TRT was taken. `calibration` is what proves INT8, or None. `renamed_inputs` are
    a graph's inputs whose names no signature can have, with the names that they got. `timings` are
    seconds by step; in a bisection they include every trial. `data_hash` has the SHA-256 of the
    files that building, calibration and verification read, and of the calibration table. `settings`
    are the variables TF_TRT_* that were set.
    """

    source: str
    source_hash: Mapping[str, str]
    output: str
    kind: str
    spec: ConversionSpec
    reason: str
    signatures: tuple[SignatureReport, ...]
    environment: Mapping[str, Any]
    fresh: FreshReport
    verification: VerificationReport | None = None
    calibration: Mapping[str, Any] | None = None
    denylist: Mapping[str, Any] | None = None
    timings: tuple[tuple[str, float], ...] = ()
    seconds: float = 0.0
    renamed_inputs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    data_hash: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    package_version: str = ""
    asked: ConversionSpec | None = None

    def _ran(self) -> str:
        """What else the fresh process did besides running saved engines."""
        runs = self.fresh.runs
        if self.fresh.passed:
            return "no engine built, nothing in TensorFlow instead" if runs else "no shape to run"
        built = sum(bool(run.built) for run in runs)
        native = sum(bool(run.native) for run in runs)
        return f"of {len(runs)} shapes {built} built an engine, {native} ran in TensorFlow"

    def to_json(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        for name in ("spec", "asked", "fresh", "verification"):
            values[name] = None if values[name] is None else values[name].to_json()
        values["signatures"] = [dataclasses.asdict(signature) for signature in self.signatures]
        values["timings"] = [{"step": name, "seconds": spent} for name, spent in self.timings]
        return values

    def __str__(self) -> str:
        spec = self.spec
        first = max((run.seconds for run in self.fresh.runs), default=0.0)
        lines = [
            f"{self.source} -> {self.output}: {spec.precision}, {spec.mode}, {self.seconds:.1f} s",
            *(f"  {signature}" for signature in self.signatures),
            f"  fresh process: loaded in {self.fresh.load_seconds:.2f} s, slowest first request "
            f"{first:.3f} s, {self._ran()}",
        ]
        if self.renamed_inputs:
            names = ", ".join(f"{old} as {new}" for old, new in self.renamed_inputs.items())
            lines.append(f"  inputs of the graph by the signature's names: {names}")
        if self.calibration:
            lines.append(f"  INT8: {self.calibration['summary']}")
        if self.denylist:
            out = [*self.denylist["op_denylist"], *self.denylist["node_denylist"]]
            lines.append(f"  kept out of TensorRT by bisection: {', '.join(out)}")
        if self.verification is not None:
            lines += [f"  {line}" for line in str(self.verification).splitlines()]
        return "\n".join(lines)


def report_of(
    plan: ConversionPlan,
    spec: ConversionSpec,
    ranges: Ranges,
    built: Built,
    fresh: FreshReport,
    folder: Path,
    output: Path,
    data_files: Mapping[str, Sequence[Path]],
    progress: Progress,
) -> ConversionReport:
    """The report on the model in `folder`, which will be at `output`; `spec` built it. `data_files`
    are the user's files by the argument of `convert`."""
    counts = _compute_nodes(built, load_graph(folder, plan.source.tags))
    signatures = [
        SignatureReport(
            name,
            found["converter"],
            tuple(found["engines"]),
            *counts[name],
            tuple(found["shapes"]),
        )
        for name, found in built.signatures.items()
    ]
    native = [SignatureReport(name, "native", reason=why) for name, why in plan.kept.items()]
    return ConversionReport(
        source=str(plan.source.path),
        source_hash=record.source_hashes(plan.source.path),
        data_hash=_data_hash(plan, ranges, built, folder, data_files, progress),
        settings=record.settings(),
        package_version=__version__,
        output=str(output),
        kind=plan.source.kind,
        spec=spec,
        asked=dataclasses.replace(
            plan.asked,
            op_denylist=spec.op_denylist,
            node_denylist=spec.node_denylist,
            # A path of the user's may be relative: the conversion may be repeated elsewhere.
            calibration_table=spec.calibration_table,
            op_libraries=spec.op_libraries,
        ),
        reason=plan.reason,
        signatures=(*signatures, *native),
        environment=plan.machine,
        fresh=fresh,
        calibration=built.proof,
        timings=tuple(progress.timings),
        renamed_inputs=plan.source.renamed,
    )


def _compute_nodes(built: Built, loaded: LoadedGraph) -> dict[str, tuple[int, int]]:
    """By signature, the compute nodes of the converted graph and those of them in engines, as
    `inspect` counts them."""
    engines = {engine.canonical_name: engine for engine in built.engines}
    found = {}
    for name, signature in built.signatures.items():
        inside = sum(compute_count(engines[engine].ops) for engine in signature["engines"])
        graph = flatten_signature(loaded, name)
        outside = [node for node in graph.nodes.values() if node.op != ENGINE_OP]
        found[name] = inside + len(segment_rules.computing(graph, outside)), inside
    return found


def _data_hash(
    plan: ConversionPlan,
    ranges: Ranges,
    built: Built,
    folder: Path,
    data_files: Mapping[str, Sequence[Path]],
    progress: Progress,
) -> dict[str, dict[str, str]]:
    """The SHA-256 of each file that data was read from, and of the calibration table that a
    repeated conversion reads: the one in `folder`, or the spec's."""
    shown = progress.step("hashing the data's files")
    with shown if any(data_files.values()) else contextlib.nullcontext():
        found = {
            name: {str(file): record.file_hash(file) for file in files}
            for name, files in data_files.items()
        }
    path, tables = plan.spec.calibration_table, built.tables
    if (folder / record.TABLE).exists():
        found["calibration_table"] = {record.TABLE: record.file_hash(folder / record.TABLE)}
    elif path is not None and ranges.tables is not None:
        found["calibration_table"] = {path: record.file_hash(path)}
    elif plan.calibrates and tables:  # convert writes them when the report is done
        text = serialize_tables(tables).encode()
        found["calibration_table"] = {path or "measured": hashlib.sha256(text).hexdigest()}
    return {name: hashes for name, hashes in found.items() if hashes}
