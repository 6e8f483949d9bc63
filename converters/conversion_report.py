"""What a conversion did and proved, for people, programs and conversion.json."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from converters.checks.fresh_check import FreshReport
from converters.checks.verification_report import VerificationReport
from converters.spec.conversion_spec import ConversionSpec
from converters.util.shapes import Shape, format_shape_set


@dataclasses.dataclass(frozen=True)
class SignatureReport:
    """One signature; `converter` is TF-TRT's class, or "native" for one that was kept as it is.

    `nodes_in_engines` of `nodes` are those of the frozen graph that run in TensorRT; `shapes` are
    those that were built; `reason` says why it stayed native without being asked to.
    """

    name: str
    converter: str
    engines: tuple[str, ...] = ()
    nodes: int = 0
    nodes_in_engines: int = 0
    shapes: tuple[Mapping[str, Shape], ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        if self.converter == "native":
            return f"{self.name}: kept as it is" + (f", since {self.reason}" if self.reason else "")
        share = 100 * self.nodes_in_engines / max(self.nodes, 1)
        shapes = "; ".join(map(format_shape_set, self.shapes)) or "none built"
        return (
            f"{self.name}: {len(self.engines)} engines with {self.nodes_in_engines} of "
            f"{self.nodes} nodes ({share:.0f} %), by {self.converter}; shapes {shapes}"
        )


@dataclasses.dataclass(frozen=True)
class ConversionReport:
    """`spec` is resolved, and has the denylist that a bisection found; `asked` has that too, and
    else what was asked for, None where the default was left. `reason` says why this
    converter of TF-TRT; `calibration` has what proves INT8, or None. `renamed_inputs` are a graph's
    inputs whose names no signature can have, with the names that they got. `timings` are seconds
    by step, in a bisection those of every trial. `data_hash` has the SHA-256 of the files that
    calibration and verification read, and of the calibration table; `settings` are the variables
    TF_TRT_* in force."""

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
        """What the fresh process did besides running saved engines."""
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
