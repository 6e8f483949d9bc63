"""Writes a model's graphs as TensorBoard event files: with its engines, and as it was before.

Calls are inlined, so that engines are visible at once. Constants and plans are left out, because
TensorBoard does not use them. TensorFlow need not know the ops.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from converters.model.engine_file import tfrecord
from converters.model.flat_graph import FlatGraph, flatten
from converters.model.trt_graph import ENGINE_OP, load_graph
from converters.report.report_data import ReportData
from converters.util.errors import OutputError
from converters.util.paths import as_file_name, check_outside, require_local

CONVERTED, ORIGINAL = "converted", "original"

# Longer values are left out of the graph.
_MOST_BYTES = 256


def write_event_files(
    model: str | Path | ReportData,
    folder: str | Path,
    original: str | Path | None = None,
    tags: Sequence[str] | None = None,
) -> list[Path]:
    """Writes an event file for each signature and graph below `folder`; returns their paths.

    Runs are named converted/SIGNATURE and original/SIGNATURE ("graph" without a signature), with
    the signature as util/paths.py writes it in paths. The original graph is that of `original`, or
    is rebuilt from the engines' native segments. A model that is not converted has only an original
    run. Existing files stay as they are.

    Raises:
      ModelError: a model cannot be read.
      OutputError: the folder cannot be written, or is inside a model.
    """
    if isinstance(model, ReportData):
        tags = tags or model.tags or None
        model = model.path
    check_folder(folder, model, original)
    loaded = load_graph(model, tags)
    graphs = flatten(loaded)
    runs: list[tuple[str, FlatGraph, Any]] = []
    if any(node.op == ENGINE_OP for graph in graphs for node in graph.nodes.values()):
        runs += [(CONVERTED, graph, loaded.graph_def.library) for graph in graphs]
        graphs = flatten(loaded, native=True)
    if original is not None:
        graphs = flatten(load_graph(original, tags))
    runs += [(ORIGINAL, graph, None) for graph in graphs]
    written = []
    try:
        for run, graph, library in runs:
            target = Path(folder) / run / as_file_name(graph.signature or "graph")
            target.mkdir(parents=True, exist_ok=True)
            written.append(_write(target, _graph_def(graph, library)))
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}") from error
    return written


def check_folder(folder: str | Path, model: str | Path, original: str | Path | None) -> None:
    """OutputError if event files below `folder` would lie inside one of the models."""
    require_local(folder, OutputError)
    for source in [model, *([original] if original else ())]:
        for run in (CONVERTED, ORIGINAL):
            check_outside(Path(folder) / run, source)


def _write(folder: Path, graph_def: Any) -> Path:
    from tensorflow.core.util import event_pb2

    now = time.time()
    name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
    begun = folder / f".{name}"
    try:
        with open(begun, "wb") as file:
            for event in (
                event_pb2.Event(wall_time=now, file_version="brain.Event:2"),
                event_pb2.Event(wall_time=now, graph_def=graph_def.SerializeToString()),
            ):
                file.write(tfrecord(event.SerializeToString()))
        # TensorBoard may be watching the folder: it sees complete files only.
        begun.replace(folder / name)
    finally:
        begun.unlink(missing_ok=True)
    return folder / name


def _graph_def(graph: FlatGraph, library: Any) -> Any:
    """The inlined graph as a GraphDef, with the native segments of `library`."""
    from tensorflow.core.framework import graph_pb2

    made = graph_pb2.GraphDef()
    segments = set()
    for node in graph.nodes.values():
        added = made.node.add()
        added.CopyFrom(node.definition)
        added.name = node.name
        added.input[:] = [*map(_input, node.inputs), *(f"^{name}" for name in node.controls)]
        _shorten([added])
        if node.op == ENGINE_OP:
            segments.add(added.attr["segment_func"].func.name)
    for function in library.function if library is not None else ():
        if function.signature.name in segments:
            made.library.function.add().CopyFrom(function)
            _shorten(made.library.function[-1].node_def)
    return made


def _input(tensor: str) -> str:
    """ "node:0" as "node"; a graph has only numbers after the colon."""
    node, _, port = tensor.partition(":")
    number = port.rpartition(":")[2]
    return node if number == "0" else f"{node}:{number}"


def _shorten(nodes: Iterable[Any]) -> None:
    """Takes weights and plans out of the attributes, in place."""
    for node in nodes:
        for name, value in node.attr.items():
            if value.ByteSize() <= _MOST_BYTES:
                continue
            kind = value.WhichOneof("value")
            if kind == "tensor":
                shape, dtype = value.tensor.tensor_shape, value.tensor.dtype
                kept = type(value.tensor)(dtype=dtype)
                kept.tensor_shape.CopyFrom(shape)
                value.tensor.CopyFrom(kept)
            elif kind == "s":
                value.s = f"{len(value.s)} bytes of {name}".encode()
