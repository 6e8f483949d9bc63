"""Engines' names that no other conversion has."""

from __future__ import annotations

import re
from typing import Any

from trt_graphs import GraphMaker

from converters.model.trt_graph import engine_nodes
from converters.tftrt.graph_edits import with_unique_names


def two_engines() -> Any:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.engine("TRTEngineOp_000_000", ["x"], {"a": "Relu"})
    maker.node("Cumsum", "between", ["TRTEngineOp_000_000:0"])
    maker.engine("part/TRTEngineOp_000_001", ["between"], {"b": "Relu"})
    maker.node("Identity", "y", ["part/TRTEngineOp_000_001", "^TRTEngineOp_000_000"])
    return maker.graph


def test_the_same_graph_gets_others_each_time() -> None:
    found = [with_unique_names(two_engines()) for _ in range(2)]
    names = [[engine.canonical_name for engine in engine_nodes(graph)] for graph in found]
    assert not set(names[0]) & set(names[1])
    for first, second in names:
        assert re.fullmatch(r"TRTEngineOp_000_000_[0-9a-f]{8}", first)
        assert second == first.replace("000_000", "000_001")


def test_their_readers_follow() -> None:
    inputs = {node.name: list(node.input) for node in with_unique_names(two_engines()).node}
    (first,) = (name for name in inputs if name.startswith("TRTEngineOp"))
    (second,) = (name for name in inputs if name.startswith("part/"))
    assert inputs == {
        "x": [],
        first: ["x"],
        "between": [f"{first}:0"],
        second: ["between"],
        "y": [second, f"^{first}"],
    }
