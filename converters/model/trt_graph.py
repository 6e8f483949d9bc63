"""The TRTEngineOp nodes of a model, read as protobuf: TF-TRT, TensorRT and a GPU are not needed.

V2 conversion puts the nodes into functions of the library, V1 into the main graph. The ops that an
engine replaces are in its native segment, the function that `segment_func` names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from converters.model import graph_file
from converters.model.engine_file import ENGINE_FILE_PREFIX
from converters.model.graph_file import KERAS_SUFFIXES
from converters.util.errors import ModelError
from converters.util.paths import require_local

ENGINE_OP = "TRTEngineOp"
# graph_edits.py may replace a native segment by a single CheckNumerics node. This attribute of that
# node lists the segment's nodes as "OP NAME". (TensorFlow does not load a function that has an
# unknown attribute itself.)
LEFT_OUT_NODES = "_left_out_nodes"

# A shape in which dimensions (None) or the rank (the whole is None) can be unknown.
PartialShape = Optional[tuple[Optional[int], ...]]

# Signatures that SavedModels keep for their own use.
_INTERNAL_SIGNATURES = ("__saved_model_init_op", "__saved_model_train_op")


@dataclass(frozen=True)
class EngineNode:
    """One TRTEngineOp. Input i is the binding TensorRTInputPH_i, output j TensorRTOutputPH_j."""

    name: str
    canonical_name: str  # the last part of the name: what caches and asset files go by
    function: str  # the function it sits in; "" is the main graph
    precision: str  # FP32, FP16 or INT8
    static: bool  # the plan is inside the node (V1 static mode)
    segment_func: str
    has_segment: bool  # whether the native segment is in the model, and can run
    input_names: tuple[str, ...]  # the tensors that feed it, as the node names them
    input_dtypes: tuple[str, ...]
    output_dtypes: tuple[str, ...]
    input_shapes: tuple[PartialShape, ...]
    output_shapes: tuple[PartialShape, ...]
    node_ops: Mapping[str, str]  # the nodes that the native segment has, or had, by their names
    plan: bytes
    calibration_table: str
    use_calibration: bool
    max_cached_engines: int
    max_batch_size: int  # static engines only; -1 is unset
    workspace_bytes: int
    implicit_batch: bool
    profile_strategy: str  # "" in implicit batch mode
    allow_build: bool
    device: str

    @property
    def ops(self) -> dict[str, int]:
        """How many of each op type the native segment has, or had."""
        return dict(sorted(Counter(self.node_ops.values()).items()))

    @property
    def node_names(self) -> tuple[str, ...]:
        """The nodes of the native segment."""
        return tuple(self.node_ops)


@dataclass(frozen=True)
class TensorInfo:
    """A tensor of a signature: its name in the graph ("x:0"), dtype ("float32") and shape."""

    name: str
    dtype: str
    shape: PartialShape


@dataclass(frozen=True)
class Signature:
    """Named inputs and outputs of a model."""

    name: str
    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]


@dataclass(frozen=True)
class LoadedGraph:
    """A model as it lies on disk."""

    path: Path
    kind: str  # "saved_model", "frozen_graph" or "meta_graph"
    graph_def: Any
    signatures: Mapping[str, Signature]
    tags: tuple[str, ...]
    tensorflow_version: str  # of the TensorFlow that wrote it, "" where that is not kept

    def engine_file(self, engine: EngineNode) -> Path | None:
        """The asset with the engine's plans, None where the model has none."""
        path = self.path / "assets" / f"{ENGINE_FILE_PREFIX}{engine.canonical_name}"
        return path if self.kind == "saved_model" and path.is_file() else None


def load_graph(path: str | Path, tags: Sequence[str] | None = None) -> LoadedGraph:
    """Reads a SavedModel folder, a frozen GraphDef (.pb, .pbtxt) or a MetaGraph (.meta).

    `tags` picks the MetaGraph of a SavedModel; None takes "serve", or the only one. Nothing is
    executed and no op needs to be known. ModelError names the file, what is there, and the cure.
    """
    path = Path(path)
    if path.name in ("saved_model.pb", "saved_model.pbtxt"):
        path = path.parent
    if path.is_dir():
        message = graph_file.read_saved_model(path)
        return _from_meta_graph(path, "saved_model", graph_file.meta_graph(message, path, tags))
    require_local(path, ModelError)
    if not path.exists():
        refuse_checkpoint(path)
        raise ModelError(
            f"{path} does not exist. Give a SavedModel folder, a frozen .pb or a .meta file."
        )
    if path.suffix in KERAS_SUFFIXES:
        raise ModelError(
            f"{path} is a Keras file, of which only its export can be read here: export the model "
            "with model.export(FOLDER), or convert it, and give that folder"
        )
    if path.suffix == ".meta":
        return _from_meta_graph(path, "meta_graph", graph_file.read_meta_graph(path))
    graph = graph_file.read_graph_def(path)
    return LoadedGraph(path, "frozen_graph", graph, {}, (), "")


def refuse_checkpoint(path: Path) -> None:
    """ModelError if `path` is a checkpoint: a MetaGraph (.meta) lies beside it."""
    if path.with_name(path.name + ".meta").is_file():
        raise ModelError(f"{path} is a checkpoint: give its MetaGraph, {path.name}.meta")


def engine_nodes(graph_def: Any) -> list[EngineNode]:
    """Every TRTEngineOp of the main graph and the function library, each engine once."""
    functions = {function.signature.name: function for function in graph_def.library.function}
    engines: dict[tuple[str, str], EngineNode] = {}
    for where, node in _all_nodes(graph_def):
        if node.op == ENGINE_OP:
            engine = engine_node(node, where, functions)
            engines.setdefault((engine.canonical_name, engine.segment_func), engine)
    return list(engines.values())


def trt_nodes(graph_def: Any) -> list[Any]:
    """Every TRTEngineOp NodeDef itself, so that the caller can change it."""
    return [node for _, node in _all_nodes(graph_def) if node.op == ENGINE_OP]


def engine_node(node: Any, where: str, functions: Mapping[str, Any]) -> EngineNode:
    """The EngineNode of one TRTEngineOp's NodeDef, `where` being the function it sits in."""
    attr = _Attributes(node.attr)
    segment_func = attr["segment_func"].func.name
    segment = functions.get(segment_func)
    nodes = [] if segment is None else segment_nodes(segment)
    static = attr["static_engine"].b if "static_engine" in attr else True
    return EngineNode(
        name=node.name,
        canonical_name=node.name.rpartition("/")[2],
        function=where,
        precision=attr["precision_mode"].s.decode("ascii", "replace"),
        static=static,
        segment_func=segment_func,
        has_segment=segment is not None and not is_left_out(segment),
        input_names=tuple(name for name in node.input if not name.startswith("^")),
        input_dtypes=tuple(map(dtype_name, attr["InT"].list.type)),
        output_dtypes=tuple(map(dtype_name, attr["OutT"].list.type)),
        input_shapes=tuple(map(partial_shape, attr["input_shapes"].list.shape)),
        output_shapes=tuple(map(partial_shape, attr["output_shapes"].list.shape)),
        node_ops=dict(nodes),
        # In dynamic engines of TensorFlow 1 this attribute holds the segment, not a plan.
        plan=attr["serialized_segment"].s if static else b"",
        calibration_table=attr["calibration_data"].s.decode("utf-8", "replace"),
        # Saving a SavedModel strips attributes that have the op's default.
        use_calibration=attr["use_calibration"].b if "use_calibration" in attr else True,
        max_cached_engines=(
            attr["max_cached_engines_count"].i if "max_cached_engines_count" in attr else 1
        ),
        max_batch_size=attr["max_batch_size"].i if "max_batch_size" in attr else 1,
        workspace_bytes=attr["workspace_size_bytes"].i,
        # The kernel's defaults; the op does not know these two.
        implicit_batch=attr["_use_implicit_batch"].b if "_use_implicit_batch" in attr else True,
        profile_strategy=attr["profile_strategy"].s.decode("ascii", "replace"),
        allow_build=(
            attr["_allow_build_at_runtime"].b if "_allow_build_at_runtime" in attr else True
        ),
        device=node.device,
    )


def is_left_out(segment: Any) -> bool:
    """Whether graph_edits.py has replaced this native segment by one that only raises an error."""
    return _left_out(segment) is not None


def _left_out(segment: Any) -> Any:
    nodes = (node for node in segment.node_def if node.op == "CheckNumerics")
    return next((n.attr[LEFT_OUT_NODES] for n in nodes if LEFT_OUT_NODES in n.attr), None)


def segment_nodes(segment: Any) -> list[tuple[str, str]]:
    """(name, op) of each node of a native segment's FunctionDef, also of one that was left out."""
    noted = _left_out(segment)
    if noted is None:
        return [(node.name, node.op) for node in segment.node_def]
    parts = (text.decode().partition(" ") for text in noted.list.s)
    return [(name, op) for op, _, name in parts]


class _Attributes:
    """Reads a node's attributes; asking protobuf's own map for a missing one would add it."""

    def __init__(self, attributes: Any) -> None:
        from tensorflow.core.framework import attr_value_pb2

        self._attributes = attributes
        self._none = attr_value_pb2.AttrValue()

    def __contains__(self, name: str) -> bool:
        return name in self._attributes

    def __getitem__(self, name: str) -> Any:
        return self._attributes.get(name, self._none)


def dtype_name(number: int) -> str:
    """The name of a DataType number: 1 is "float32"."""
    from tensorflow.dtypes import as_dtype

    try:
        return str(as_dtype(number).name)
    except TypeError:
        return f"dtype {number}"


def partial_shape(shape: Any) -> PartialShape:
    """A TensorShapeProto as a tuple; None for an unknown dimension or rank."""
    if shape.unknown_rank:
        return None
    return tuple(dim.size if dim.size >= 0 else None for dim in shape.dim)


def _all_nodes(graph_def: Any) -> Iterator[tuple[str, Any]]:
    for node in graph_def.node:
        yield "", node
    for function in graph_def.library.function:
        for node in function.node_def:
            yield function.signature.name, node


def _from_meta_graph(path: Path, kind: str, meta: Any) -> LoadedGraph:
    signatures = {
        name: Signature(name, _tensors(signature.inputs), _tensors(signature.outputs))
        for name, signature in sorted(meta.signature_def.items())
        if name not in _INTERNAL_SIGNATURES
    }
    info = meta.meta_info_def
    tags = tuple(sorted(info.tags))
    return LoadedGraph(path, kind, meta.graph_def, signatures, tags, info.tensorflow_version)


def _tensors(infos: Any) -> dict[str, TensorInfo]:
    return {
        name: TensorInfo(info.name, dtype_name(info.dtype), partial_shape(info.tensor_shape))
        for name, info in sorted(infos.items())
    }
