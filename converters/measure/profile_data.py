"""The report of `profile`, as data. The JSON form (`to_json`) has these keys:

schema             1; raised when a key changes its meaning or goes
model, original    the paths as given; original is null if there was none
kind, signature    of the model: "model" or "plan"; "" for a plan that has no signature
shapes             input name -> shape of the request
device, library    what ran the layers
runs               requests that each time is the median of
engines            of the model, in the order of the request; see EngineProfile
original_engines   of the original, or empty
comparison         rows of both models; see ComparedLayers. Empty without an original
trace              files for TensorBoard, or empty
nsys               the command that records the measured part with Nsight Systems, or ""
notes              sentences

Times are milliseconds on the GPU. A share is of the layers of all engines of the model, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from converters.util.shapes import Shape

PROFILE_SCHEMA = 1


@dataclass(frozen=True)
class LayerProfile:
    """A layer, its median time, and the TensorFlow `nodes` and `ops` that it computes.

    `kind` and `precision` are TensorRT's words, "" where they are not known: they come from
    layers.json. `changes_format` marks layers that only bring a tensor into another type or another
    order in memory.
    """

    name: str
    ms: float
    share: float
    kind: str
    precision: str
    changes_format: bool
    nodes: tuple[str, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True)
class EngineProfile:
    """An engine at one request. `request_ms` is the median of requests without the profiler, by
    CUDA events around the engine. `shapes` are its inputs' and `sha256` its plan's."""

    engine: str
    shapes: Mapping[str, Shape]
    sha256: str
    request_ms: float
    layers: tuple[LayerProfile, ...]

    @property
    def layers_ms(self) -> float:
        """The sum of the layers. It differs from request_ms, because a profiler costs time and
        because layers may run side by side."""
        return sum(layer.ms for layer in self.layers)


@dataclass(frozen=True)
class ComparedLayers:
    """The layers of both models that compute the same TensorFlow nodes. A model that fuses more has
    fewer layers there. A side without such layers has no time and no precision."""

    nodes: tuple[str, ...]
    ops: tuple[str, ...]
    ms: float | None
    original_ms: float | None
    precision: str
    original_precision: str

    @property
    def speed_up(self) -> float | None:
        """How many times faster than the original it is."""
        if self.ms is None or self.original_ms is None or not self.ms:
            return None
        return self.original_ms / self.ms


@dataclass(frozen=True)
class ProfileData:
    """All that `profile` found."""

    model: str
    original: str | None
    kind: str
    signature: str
    shapes: Mapping[str, Shape]
    device: str
    library: str
    runs: int
    engines: tuple[EngineProfile, ...]
    original_engines: tuple[EngineProfile, ...]
    trace: tuple[str, ...]
    nsys: str
    notes: tuple[str, ...]

    @property
    def comparison(self) -> tuple[ComparedLayers, ...]:
        """The layers of both models side by side, in the model's order."""
        if self.original is None:
            return ()
        return compared(layers_of(self.engines), layers_of(self.original_engines))

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, with the keys that this module documents."""
        plain = asdict(self)
        for key, own in (("engines", self.engines), ("original_engines", self.original_engines)):
            for values, engine in zip(plain[key], own):
                values["layers_ms"] = engine.layers_ms
        rows = [{**asdict(row), "speed_up": row.speed_up} for row in self.comparison]
        return {"schema": PROFILE_SCHEMA, **plain, "comparison": rows}


def layers_of(engines: Sequence[EngineProfile]) -> list[LayerProfile]:
    """The layers of all engines."""
    return [layer for engine in engines for layer in engine.layers]


def compared(
    model: Sequence[LayerProfile], original: Sequence[LayerProfile]
) -> tuple[ComparedLayers, ...]:
    """Puts layers together that share TensorFlow nodes, across both models.

    Layers without nodes are together too: TF-TRT gave them no name to know them by.
    """
    groups: list[set[str]] = []
    for layer in (*model, *original):
        own = set(layer.nodes)
        touching = [group for group in groups if group & own]
        groups = [group for group in groups if not group & own]
        if own:
            groups.append(own.union(*touching))
    place = {node: number for number, group in enumerate(groups) for node in group}
    sides: list[dict[int, list[LayerProfile]]] = [{}, {}]
    for side, layers in zip(sides, (model, original)):
        for layer in layers:
            side.setdefault(place[layer.nodes[0]] if layer.nodes else -1, []).append(layer)
    return tuple(
        _compared(sides[0].get(key, []), sides[1].get(key, []))
        for key in dict.fromkeys([*sides[0], *sides[1]])
    )


def _compared(model: Sequence[LayerProfile], original: Sequence[LayerProfile]) -> ComparedLayers:
    ops = {n: op for layer in (*model, *original) for n, op in zip(layer.nodes, layer.ops)}
    nodes = tuple(dict.fromkeys(node for layer in (*model, *original) for node in layer.nodes))
    return ComparedLayers(
        nodes=nodes,
        ops=tuple(ops[node] for node in nodes if node in ops),
        ms=sum(layer.ms for layer in model) if model else None,
        original_ms=sum(layer.ms for layer in original) if original else None,
        precision=_precision(model),
        original_precision=_precision(original),
    )


def _precision(layers: Sequence[LayerProfile]) -> str:
    """The type of the layers that compute; of all layers if none does."""
    computing = [layer for layer in layers if not layer.changes_format] or layers
    return " + ".join(dict.fromkeys(layer.precision for layer in computing if layer.precision))
