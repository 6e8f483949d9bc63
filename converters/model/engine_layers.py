"""The layers of engines: TensorRT's build log lists them, and their names tell TensorFlow's nodes.

TF-TRT builds engines with TensorRT's default profiling verbosity, so a finished plan keeps only the
names of its layers. The build log has a line for each layer of each engine:

  Layer(CaskConvolution): NAME, Tactic: 0x4037b478ce77e422, x (Half[1,8:8,16,16]) -> y (Half[...])

TF-TRT names a layer "ENGINE/NODE-PART:TYPE" after the TensorFlow node that it stands for. TensorRT
joins the names of layers that it fuses: "A + B", "PWN(A, B)", "{ForeignNode[A...B]}".
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from converters.util.shapes import Shape

_LAYER = re.compile(r"Layer\((\w+)\): (.*), Tactic: (\w+), (.*) -> (.*)$")
_TENSOR = re.compile(r"(.*?) \((\w+)\[([^\]]*)\]\)(?:, |$)")
# The head of an engine's layers in the log.
LAYERS_HEAD = "Engine Layer Information:"
_BEGUN = re.compile(r"Building a new TensorRT engine for (\S+) with input shapes: (\[.*\])$")
_ENGINE = re.compile(r"\b(TRTEngineOp_\w+)/")
# The characters that a TensorFlow node's name can have.
_NODE = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_COPY = "Reformatting CopyNode for "


@dataclass(frozen=True)
class LayerTensor:
    """What a layer reads or writes. `dims` are TensorRT's: "1,8:8,16,16" has its channels in packs
    of 8, and -1 is a dimension that a request sets."""

    name: str
    dtype: str  # TensorRT's word: Float, Half, Int8, Int32 or Bool
    dims: str


@dataclass(frozen=True)
class Layer:
    """A layer of an engine. `kind` is TensorRT's, such as CaskConvolution; `tactic` its kernel."""

    name: str
    kind: str
    tactic: str
    inputs: tuple[LayerTensor, ...]
    outputs: tuple[LayerTensor, ...]

    @property
    def precision(self) -> str:
        """The types that the layer reads and writes: "Half", or "Float -> Half"."""
        reads, writes = (
            ", ".join(dict.fromkeys(tensor.dtype for tensor in tensors))
            for tensors in (self.inputs, self.outputs)
        )
        return writes if reads in ("", writes) else f"{reads} -> {writes}"

    @property
    def changes_format(self) -> bool:
        """Whether the layer only brings a tensor into another type or another order in memory."""
        return self.kind == "Reformat" or is_copy(self.name)


@dataclass(frozen=True)
class BuiltLayers:
    """The layers of one engine that was built. `input_shapes` are None where the log does not tell:
    engines of V1, those that calibration builds, and those for ranges of shapes."""

    engine: str
    input_shapes: tuple[Shape, ...] | None
    layers: tuple[Layer, ...]


def is_copy(name: str) -> bool:
    """Whether TensorRT put the layer in to change a tensor's format, by the layer's name."""
    return name.startswith(_COPY)


def engine_of(layer: str) -> str | None:
    """The engine that a layer's name tells. Layers that TF-TRT gave no name tell none."""
    match = _ENGINE.search(layer)
    return match[1] if match else None


def parse_layer(line: str) -> Layer | None:
    """The layer of a line of the build log; None for another line."""
    match = _LAYER.search(line)
    if match is None:
        return None
    kind, name, tactic, reads, writes = match.groups()
    return Layer(name, kind, tactic, _tensors(reads), _tensors(writes))


def _tensors(text: str) -> tuple[LayerTensor, ...]:
    return tuple(LayerTensor(*found) for found in _TENSOR.findall(text))


def built_layers(log: str) -> list[BuiltLayers]:
    """The engines of a build log, in the order in which TensorRT finished them."""
    found: list[BuiltLayers] = []
    shapes: dict[str, tuple[Shape, ...] | None] = {}  # by engine, of the build under way
    layers: list[Layer] | None = None
    for line in [*log.splitlines(), ""]:
        layer = None if layers is None else parse_layer(line)
        if layers is not None and layer is not None:
            layers.append(layer)
            continue
        if layers:
            found.append(_built(layers, shapes))
        layers = [] if line.endswith(LAYERS_HEAD) else None
        if match := _BEGUN.search(line):
            shapes[match[1].rpartition("/")[2]] = _input_shapes(match[2])
    return found


def _input_shapes(text: str) -> tuple[Shape, ...] | None:
    """The shapes of "[[8,16,16,3]]"; None for those with a range, "[[?,16,16,3]]"."""
    try:
        return tuple(map(tuple, json.loads(text)))
    except ValueError:
        return None


def _built(layers: Iterable[Layer], shapes: dict[str, tuple[Shape, ...] | None]) -> BuiltLayers:
    own = tuple(layers)
    names = filter(None, (engine_of(layer.name) for layer in own))
    engine = next(names, next(reversed(shapes), ""))
    return BuiltLayers(engine, shapes.get(engine), own)


def layers_of_plan(
    built: Iterable[BuiltLayers], engine: str, input_shapes: tuple[Shape, ...], plan: bytes
) -> tuple[Layer, ...]:
    """The layers of one plan: of the last build of `engine` (its canonical name) for its shapes.

    An engine can be built several times: for several shapes, and for calibration. A plan holds the
    names of its layers as plain text, which tells builds apart whose shapes the log does not have.
    """
    own = [made for made in built if made.layers and is_of(made.engine, engine)]
    shaped = [made for made in own if made.input_shapes == input_shapes]
    shaped = shaped or [made for made in own if made.input_shapes is None] or own
    if len(shaped) > 1:  # looking takes time
        named = [m for m in shaped if all(layer.name.encode() in plan for layer in m.layers)]
        shaped = named or shaped
    return shaped[-1].layers if shaped else ()


def is_of(logged: str, engine: str) -> bool:
    """Whether the build log calls the engine with the canonical name `engine` `logged`."""
    # Engines of V1 get the end of their name, which makes it unique, after they are built.
    return engine == logged or engine.startswith(f"{logged}_")


def nodes_of(layer: str, nodes: Collection[str] | None = None) -> tuple[str, ...]:
    """The TensorFlow nodes that a layer's name tells, in its order, each once.

    `nodes` are the names in the engine's segment. Without them the name of a node ends at its
    first "-" behind the last "/", where TF-TRT usually begins the name of the part. Layers that
    TF-TRT gave no name ("(Unnamed Layer* 9) [Shuffle]") tell no node.
    """
    found: dict[str, None] = {}
    for match in _ENGINE.finditer(layer):
        name = _NODE.match(layer, match.end())
        if name is not None:
            node = _node(name[0].partition("...")[0], nodes)
            if node is not None:
                found[node] = None
    return tuple(found)


def _node(text: str, nodes: Collection[str] | None) -> str | None:
    if nodes is None:
        scope, slash, last = text.rpartition("/")
        return scope + slash + last.partition("-")[0]
    while text and text not in nodes:
        text = text.rpartition("-")[0]
    return text or None
