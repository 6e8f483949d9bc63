"""Which engine of a new conversion takes which table of an earlier one.

Engine names do not last: the first number of TRTEngineOp_000_000 counts the conversions of a
process, the second the engines, and what follows is each conversion's own. The tensors do: TF-TRT
names them after the graph's nodes. So a table fits an engine when every node it names is in the
engine's segment; where several would fit, the one that names most is taken, and of those that name
as much, the first in the order of the engines.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence

from converters.int8.calibration_table import CalibrationTable
from converters.model.trt_graph import EngineNode
from converters.util.errors import CalibrationError

# Bindings, and tensors that TensorRT numbers itself: every engine has them.
_ANONYMOUS = re.compile(r"TensorRT(Input|Output)PH_\d+|\(Unnamed Layer\* \d+\).*")
_ENGINE_PREFIX = re.compile(r"TRTEngineOp_\d+_\d+(_[0-9a-f]{8})?/")


class TablesBySignature:
    """One file's tables for signatures that are converted one after the other: what one has taken
    is not for the others, whose nodes may have the same names. `alone`: there is one signature."""

    def __init__(self, tables: Mapping[str, CalibrationTable], alone: bool) -> None:
        self._tables = tables
        self._alone = alone
        self._taken: dict[str, list[CalibrationTable]] = {}

    def of(self, signature: str, engines: Sequence[EngineNode]) -> dict[str, CalibrationTable]:
        """match_tables of what no other signature has taken; may be called again."""
        others = [found for name, found in self._taken.items() if name != signature]
        gone = {id(table) for found in others for table in found}
        free = {key: table for key, table in self._tables.items() if id(table) not in gone}
        found = match_tables(free, engines, all_tables=self._alone)
        self._taken[signature] = list(found.values())
        return found


def match_tables(
    tables: Mapping[str, CalibrationTable],
    engines: Sequence[EngineNode],
    where: str = "the calibration table",
    all_tables: bool = True,
) -> dict[str, CalibrationTable]:
    """The table of each INT8 engine of `engines`, by the engine's canonical name.

    `all_tables`: a table that no engine takes is an error; False where `engines` are those of
    one signature and the file has the others' too.

    CalibrationError: an engine without a table that fits (the message names tensors of the
    nearest table that the engine does not have), or a table too many.
    """
    wanted = [engine for engine in engines if engine.precision == "INT8"]
    free = dict(tables)
    found: dict[str, CalibrationTable] = {}

    def take(engine: EngineNode, key: str) -> None:
        found[engine.canonical_name] = free.pop(key)

    if len(wanted) == len(free):
        ordered = sorted(wanted, key=lambda engine: _order(engine.canonical_name))
        for engine, key in zip(ordered, sorted(free, key=_order)):
            if not unknown_tensors(free[key], engine):
                take(engine, key)
    for engine in wanted:
        if engine.canonical_name in found:
            continue
        fitting = [key for key, table in free.items() if not unknown_tensors(table, engine)]
        if not fitting:
            raise CalibrationError(_no_table(engine, tables, free, where))
        # Another signature's table may name a part of the tensors.
        take(engine, min(fitting, key=lambda key: (-len(free[key].scales), _order(key))))
    if free and all_tables:
        names = ", ".join(key or "without a name" for key in free)
        raise CalibrationError(
            f"{where} has {len(tables)} tables and the conversion {len(wanted)} INT8 engines: "
            f"{names} is left over. The model or the spec changed; calibrate again"
        )
    return found


def renamed(table: CalibrationTable, engine: str) -> CalibrationTable:
    """The table with `engine` in place of the engine that its layers' names begin with."""
    scales = {
        _ENGINE_PREFIX.sub(f"{engine}/", name, count=1): scale
        for name, scale in table.scales.items()
    }
    return dataclasses.replace(table, scales=scales)


def unknown_tensors(table: CalibrationTable, engine: EngineNode) -> list[str]:
    """Tensors of the table that are none of the engine's; empty where the segment is not known."""
    if not engine.has_segment:
        return []
    nodes = set(engine.node_names)
    return [name for name in table.scales if not in_segment(name, nodes)]


def in_segment(name: str, nodes: set[str]) -> bool:
    """Whether a table's line names a tensor of a segment with these nodes, or one without a name of
    its own."""
    if _ANONYMOUS.fullmatch(name):
        return True
    # Layers that a converter adds beside the node's own are named engine/node-part, and their
    # outputs layer_output; further outputs of a node are node:1.
    name = _ENGINE_PREFIX.sub("", name, count=1)
    if _ANONYMOUS.fullmatch(name):
        return True
    for form in (name, name.removesuffix("_output")):
        base = form
        while True:
            if base in nodes:
                return True
            shorter = re.sub(r"(:\d+|-[^-/]*)$", "", base)
            if shorter == base:
                break
            base = shorter
    return False


def _order(name: str) -> tuple[tuple[int, ...], str]:
    return tuple(map(int, re.findall(r"\d+", name))), name


def _no_table(
    engine: EngineNode,
    tables: Mapping[str, CalibrationTable],
    free: Mapping[str, CalibrationTable],
    where: str,
) -> str:
    text = f"{where} has no table for engine {engine.canonical_name}"
    if not free:
        return (
            f"{text}: it has {len(tables)} and all are taken by other engines. The model or the "
            "spec changed; calibrate again"
        )
    nearest = min(free.values(), key=lambda table: len(unknown_tensors(table, engine)))
    unknown = unknown_tensors(nearest, engine)
    shown = ", ".join(map(repr, unknown[:3])) + (", ..." if len(unknown) > 3 else "")
    return (
        f"{text}: the nearest names {len(unknown)} tensors that the engine does not have ({shown})."
        " The model or the spec changed; calibrate again"
    )
