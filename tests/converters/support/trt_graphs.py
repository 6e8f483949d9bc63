"""Models with TRTEngineOps for tests: the golden ones, and graphs made by hand."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from converters.model.engine_file import StoredEngine, write_engine_file
from converters.model.flat_graph import FlatGraph, flatten
from converters.model.trt_graph import EngineNode, LoadedGraph, engine_nodes, load_graph

SEGMENTED = Path(__file__).resolve().parents[2] / "golden" / "segmented"


def plan_bytes(seed: int, size: int = 1000, version: tuple[int, ...] = (8, 6, 0, 12)) -> bytes:
    """Returns bytes that begin like a plan. TensorRT could not run them."""
    body = bytes((seed * 31 + i) % 251 for i in range(size - 28))
    return b"ftrt" + struct.pack("<I", 0) + bytes(16) + bytes(version) + body


def with_plans(source: str, folder: Path, batches: Sequence[int] = (4,)) -> Path:
    """Copies a golden SavedModel and adds a plan for each engine and batch."""
    model = folder / source
    shutil.copytree(SEGMENTED / source, model)
    (model / "assets").mkdir(exist_ok=True)
    for i, engine in enumerate(engine_nodes(load_graph(model).graph_def)):
        stored = [
            StoredEngine(full_shapes(engine, batch), plan_bytes(10 * i + batch, 1000 + 100 * batch))
            for batch in batches
        ]
        write_engine_file(asset(model, engine), stored)
    return model


def asset(model: Path, engine: EngineNode) -> Path:
    return model / "assets" / f"trt-serialized-engine.{engine.canonical_name}"


def full_shapes(engine: EngineNode, batch: int) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(batch if dim is None else dim for dim in shape or ()) for shape in engine.input_shapes
    )


class GraphMaker:
    """Makes a GraphDef node by node."""

    def __init__(self) -> None:
        from tensorflow.core.framework import graph_pb2

        self.graph = graph_pb2.GraphDef()

    def node(
        self,
        op: str,
        name: str,
        inputs: Sequence[str] = (),
        dtype: str = "float32",
        shape: Sequence[int | None] | None = (None, 4, 4, 2),
        **attributes: Any,
    ) -> str:
        """Adds a node whose first output has `shape`; returns its name."""
        from tensorflow.dtypes import as_dtype

        made = self.graph.node.add(name=name, op=op, input=list(inputs))
        number = as_dtype(dtype).as_datatype_enum
        made.attr["dtype" if op in ("Const", "Placeholder") else "T"].type = number
        stated = made.attr["_output_shapes"].list.shape.add()
        if shape is None:
            stated.unknown_rank = True
        for dim in shape or ():
            stated.dim.add(size=-1 if dim is None else dim)
        for key, value in attributes.items():
            set_attribute(made, key, value)
        return name

    def engine(
        self,
        name: str,
        inputs: Sequence[str],
        segment: Mapping[str, str],
        **attributes: Any,
    ) -> str:
        """Adds a TRTEngineOp with one output, and its native segment of {node: op}."""
        made = self.graph.node.add(name=name, op="TRTEngineOp", input=list(inputs))
        function = self.graph.library.function.add()
        function.signature.name = f"{name}_native_segment"
        last = ""
        for i in range(len(inputs)):
            last = function.signature.input_arg.add(name=f"tensorrtinputph_{i}").name
        function.signature.output_arg.add(name="tensorrtoutputph_0")
        for node, op in segment.items():
            function.node_def.add(name=node, op=op, input=[] if op == "Const" else [last])
            last = last if op == "Const" else f"{node}:out:0"
        function.ret["tensorrtoutputph_0"] = last
        made.attr["segment_func"].func.name = function.signature.name
        made.attr["InT"].list.type.extend([1] * len(inputs))
        made.attr["OutT"].list.type.append(1)
        for _ in inputs:
            shape = made.attr["input_shapes"].list.shape.add()
            for dim in (-1, 4, 4, 2):
                shape.dim.add(size=dim)
        shape = made.attr["output_shapes"].list.shape.add()
        for dim in (-1, 4, 4, 2):
            shape.dim.add(size=dim)
        values = {
            "precision_mode": b"FP32",
            "static_engine": False,
            "max_cached_engines_count": 1,
            "_use_implicit_batch": False,
            **attributes,
        }
        for key, value in values.items():
            set_attribute(made, key, value)
        return name

    def write(self, path: Path) -> Path:
        path.write_bytes(self.graph.SerializeToString())
        return path

    def flat(self, path: Path) -> FlatGraph:
        return flatten(LoadedGraph(path, "frozen_graph", self.graph, {}, (), ""))[0]


def set_attribute(node: Any, name: str, value: Any) -> None:
    attr = node.attr[name]
    if hasattr(value, "as_datatype_enum"):
        attr.type = value.as_datatype_enum
    elif isinstance(value, bool):
        attr.b = value
    elif isinstance(value, int):
        attr.i = value
    elif isinstance(value, bytes):
        attr.s = value
    else:
        raise TypeError(f"{name}: {value!r}")


def chain(*ops: str, **attributes: object) -> GraphMaker:
    """Makes a chain x -> a0 -> a1 -> ... -> y. The nodes a0, a1, ... have these ops."""
    maker = GraphMaker()
    last = maker.node("Placeholder", "x")
    for i, op in enumerate(ops):
        last = maker.node(op, f"a{i}", [last], **attributes)
    maker.node("Identity", "y", [last])
    return maker
