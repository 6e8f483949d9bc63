"""Variables in a graph that should be frozen: their values are in a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from converters.util.errors import ModelError
from converters.util.shapes import input_name

_VARIABLES = ("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp")


def require_frozen(graph_def: Any, outputs: Iterable[str], path: Path, chosen: bool) -> None:
    """ModelError if the outputs, which the caller has `chosen` or not, need variables."""
    nodes = {node.name: node for node in graph_def.node}
    waiting = [input_name(name) for name in outputs]
    seen = set(waiting)
    found = []
    while waiting:
        node = nodes.get(waiting.pop())
        if node is None:
            continue
        if node.op in _VARIABLES:
            found.append(node.name)
        read = {name.lstrip("^").partition(":")[0] for name in node.input} - seen
        seen |= read
        waiting += read
    if found:
        found.sort()
        named = ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")
        other = "" if chosen else "; or name the outputs (--output), if they need none of these"
        raise ModelError(
            f"{path} has variables ({named}): it is not frozen. Give its MetaGraph (.meta) beside "
            "its checkpoint, or freeze it (tf.compat.v1.graph_util.convert_variables_to_constants)"
            f"{other}"
        )
