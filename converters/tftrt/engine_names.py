"""Names of engines that no other conversion's have."""

from __future__ import annotations

import secrets
from typing import Any

from converters.model.trt_graph import trt_nodes


def with_unique_names(graph_def: Any) -> Any:
    """The graph with names of its engines that no other has, nor the same model converted again.

    TF-TRT counts them from TRTEngineOp_000_000 in every process and keeps their engines by name:
    of two models loaded in one process, the second fails or takes the first one's engines.
    """
    names = {node.name for node in trt_nodes(graph_def)}
    suffix = secrets.token_hex(4)
    for node in graph_def.node:
        if node.name in names:
            node.name = f"{node.name}_{suffix}"
        for index, tensor in enumerate(node.input):
            name, colon, output = tensor.partition(":")
            if name.removeprefix("^") in names:
                node.input[index] = f"{name}_{suffix}{colon}{output}"
    return graph_def
