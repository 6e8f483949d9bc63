"""Which nodes of a graph a spec keeps out of TensorRT, and errors for names that it lacks."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Any

from converters.spec.conversion_spec import ConversionSpec
from converters.util.errors import SpecError


def nodes_to_keep_out(graph_def: Any, spec: ConversionSpec) -> list[str]:
    """Names of the nodes of `graph_def` that op_denylist and node_denylist name."""
    ops, names = set(spec.op_denylist), set(spec.node_denylist)
    return [node.name for node in graph_def.node if node.op in ops or node.name in names]


def check_denied_ops(spec: ConversionSpec, graph_def: Any) -> None:
    """SpecError when op_denylist has a type that neither the graph nor TensorFlow knows: it would
    keep nothing out."""
    if not spec.op_denylist:
        return
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    bodies = [graph_def.node, *(function.node_def for function in graph_def.library.function)]
    there = {node.op for nodes in bodies for node in nodes}
    for name in spec.op_denylist:
        if name in there or op_def_registry.get(name) is not None:
            continue
        near = difflib.get_close_matches(name, sorted({*there, *dir(tf.raw_ops)}), n=1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise SpecError(
            f"op_denylist: neither the model nor TensorFlow has an op type {name!r}{hint}. "
            "`trt-convert inspect` lists the model's"
        )


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
