"""Which nodes of a graph a spec keeps out of TensorRT, and the error for names it does not have."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Any

from converters.errors import SpecError
from converters.spec import ConversionSpec


def nodes_to_keep_out(graph_def: Any, spec: ConversionSpec) -> list[str]:
    """Names of the nodes of `graph_def` that op_denylist and node_denylist name."""
    ops, names = set(spec.op_denylist), set(spec.node_denylist)
    return [node.name for node in graph_def.node if node.op in ops or node.name in names]


def check_denied_nodes(spec: ConversionSpec, node_names: Collection[str]) -> None:
    """SpecError when node_denylist has a node that is in no signature's frozen graph, of whose
    nodes `node_names` has all; it names those that come near."""
    for name in spec.node_denylist:
        if name in node_names:
            continue
        near = difflib.get_close_matches(name, node_names, n=3, cutoff=0.4)
        hint = f"; near it are {', '.join(map(repr, near))}" if near else ""
        raise SpecError(
            f"node_denylist: the frozen graph has no node {name!r}{hint}. `trt-convert inspect` "
            "lists the nodes"
        )
