"""What inspect_model found, as data. The JSON form (`to_json`) has these keys:

schema                 1; raised when a key changes its meaning or goes
path, kind, tags       of the model: kind is saved_model, frozen_graph or meta_graph
tensorflow_version     of the TensorFlow that wrote it; "" if unknown
signatures             name -> {"inputs"/"outputs": name -> {"tensor", "dtype", "shape"}}
forecast               true: the model has no engine, and this is what TF-TRT would take
reasons_from           "recorded", "segmenter" or "rule": where most reasons come from
nodes_before/_after    {"total", "compute"}: nodes of the signatures with their calls inlined;
                       before as given by `before_from` ("original", "reconstructed" or "model")
share_converted        share of the compute nodes that are in engines, 0 to 1
engines                list, see EngineReport
left_out               list of nodes: node, op, signature, category, reason, source
left_out_ops           the same by op and reason, with counts, most frequent first
plumbing               op -> count of nodes outside that hold, pass on or order values
advice                 list of what to change in the model: rule, signature, nodes, reason, cure,
                       source; see converters.report.advice
layers                 of each plan, if they were asked for; see PlanLayers
notes                  sentences about what is unknown or wrong

Unknown dimensions are null, and so is a shape of unknown rank. Sizes are bytes.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from converters.model.engine_layers import LayerTensor
from converters.model.trt_graph import PartialShape, Signature
from converters.util.shapes import Shape

REPORT_SCHEMA = 1


@dataclass(frozen=True)
class NodeCount:
    """`compute` leaves out the nodes that only hold, pass on or order values."""

    total: int
    compute: int


@dataclass(frozen=True)
class TensorReport:
    """An input or output of an engine; `tensor` is its name in the inlined graph."""

    tensor: str
    dtype: str
    shape: PartialShape


@dataclass(frozen=True)
class PlanReport:
    """A plan of an engine, built with `input_shapes`. A plan with explicit batch serves its whole
    optimization profile, which only TensorRT can read."""

    input_shapes: tuple[Shape, ...]
    size: int
    sha256: str
    tensorrt_version: str | None


@dataclass(frozen=True)
class EngineReport:
    """An engine, or in a forecast an engine that a conversion would make."""

    name: str
    signatures: tuple[str, ...]
    function: str
    precision: str
    mode: str  # "static" or "dynamic"
    batch: str  # "implicit" or "explicit"
    device: str
    nodes: int
    compute_nodes: int
    ops: Mapping[str, int]
    node_names: tuple[str, ...]
    inputs: tuple[TensorReport, ...]
    outputs: tuple[TensorReport, ...]
    plans: tuple[PlanReport, ...]
    calibrated_tensors: int
    max_cached_engines: int
    workspace_bytes: int
    profile_strategy: str
    allow_build: bool
    problems: tuple[str, ...]

    @property
    def plan_bytes(self) -> int:
        return sum(plan.size for plan in self.plans)


@dataclass(frozen=True)
class LayerReport:
    """A layer, with the TensorFlow nodes that it computes and their ops.

    `kind` and `tactic` are TensorRT's names of the layer and of its kernel. `precision` is what it
    reads and writes, in TensorRT's words. `changes_format` marks layers that only bring a tensor
    into another type or another order in memory.
    """

    name: str
    kind: str
    precision: str
    changes_format: bool
    nodes: tuple[str, ...]
    ops: tuple[str, ...]
    tactic: str
    inputs: tuple[LayerTensor, ...]
    outputs: tuple[LayerTensor, ...]


@dataclass(frozen=True)
class PlanLayers:
    """The layers of one plan."""

    engine: str
    precision: str
    input_shapes: tuple[Shape, ...]
    sha256: str
    layers: tuple[LayerReport, ...]


@dataclass(frozen=True)
class LeftOut:
    """A compute node outside every engine, and why; see converters.segments.exclusions."""

    node: str
    op: str
    signature: str
    category: str
    reason: str
    source: str


@dataclass(frozen=True)
class LeftOutOp:
    """The left-out nodes of one op type with one reason."""

    op: str
    category: str
    reason: str
    source: str
    count: int
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """What a rule of converters.report.advice found, with the document that the rule is from."""

    rule: str
    signature: str  # "" where it is of all signatures
    nodes: tuple[str, ...]
    reason: str
    cure: str
    source: str


@dataclass(frozen=True)
class Box:
    """One thing to draw: an engine, a node or a group of nodes."""

    key: str
    kind: str  # "engine", "left out", "input" or "output"
    title: str
    lines: tuple[str, ...]
    nodes: int
    engine: int = -1  # its place in ReportData.engines


@dataclass(frozen=True)
class Drawing:
    """A signature's graph in boxes; edges are pairs of keys. Plumbing is not drawn."""

    signature: str
    boxes: tuple[Box, ...]
    edges: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ReportData:
    """All that inspect_model found. text_report and html_report show it."""

    path: str
    kind: str
    tags: tuple[str, ...]
    tensorflow_version: str
    signatures: Mapping[str, Signature]
    forecast: bool
    reasons_from: str
    nodes_before: NodeCount
    before_from: str
    nodes_after: NodeCount
    engines: tuple[EngineReport, ...]
    left_out: tuple[LeftOut, ...]
    plumbing: Mapping[str, int]
    notes: tuple[str, ...]
    advice: tuple[Advice, ...] = ()
    drawings: tuple[Drawing, ...] = field(default=(), compare=False)
    layers: tuple[PlanLayers, ...] = ()

    @property
    def converted_compute(self) -> int:
        """Compute nodes inside engines."""
        return sum(engine.compute_nodes for engine in self.engines)

    @property
    def share_converted(self) -> float:
        """Share of the compute nodes that are inside engines, 0 to 1."""
        total = self.converted_compute + len(self.left_out)
        return self.converted_compute / total if total else 0.0

    @property
    def left_out_ops(self) -> tuple[LeftOutOp, ...]:
        """The left-out nodes by op and reason, most frequent first."""
        groups: dict[tuple[str, str, str, str], list[str]] = {}
        for out in self.left_out:
            groups.setdefault((out.op, out.category, out.reason, out.source), []).append(out.node)
        found = [LeftOutOp(*key, len(nodes), tuple(nodes)) for key, nodes in groups.items()]
        return tuple(sorted(found, key=lambda group: (-group.count, group.op, group.reason)))

    @property
    def categories(self) -> dict[str, int]:
        """How many nodes each category of reasons left out, most frequent first."""
        return dict(Counter(out.category for out in self.left_out).most_common())

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, with the keys that this module documents."""
        plain = dataclasses.asdict(dataclasses.replace(self, drawings=()))
        del plain["drawings"]
        for engine, made in zip(plain["engines"], self.engines):
            engine["plan_bytes"] = made.plan_bytes
        signatures = {
            name: {
                way: {
                    key: {"tensor": info.name, "dtype": info.dtype, "shape": info.shape}
                    for key, info in infos.items()
                }
                for way, infos in (("inputs", made.inputs), ("outputs", made.outputs))
            }
            for name, made in self.signatures.items()
        }
        return {
            "schema": REPORT_SCHEMA,
            **plain,
            "signatures": signatures,
            "share_converted": self.share_converted,
            "left_out_ops": [dataclasses.asdict(group) for group in self.left_out_ops],
        }
