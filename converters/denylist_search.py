"""The driver of bisect over a model's engines, and the file with what it found."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

from converters.bisect import Trial, bisect, by_type
from converters.model.trt_graph import engine_nodes, segment_nodes
from converters.util.errors import SpecError, VerificationError
from converters.util.output_file import check_new, write_new

# Of (op types, node names) kept out of TensorRT: whether the model then passes verification.
ConvertAndCheck = Callable[[frozenset[str], frozenset[str]], bool]


@dataclasses.dataclass(frozen=True)
class Denylist:
    """What to keep out of TensorRT: ConversionSpec's op_denylist and node_denylist.

    `provenance` says how it was found, for whoever reads the file later.
    """

    op_denylist: tuple[str, ...] = ()
    node_denylist: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "op_denylist": list(self.op_denylist),
            "node_denylist": list(self.node_denylist),
            "provenance": dict(self.provenance),
        }

    def write(self, path: str | Path, overwrite: bool = False) -> None:
        """OutputError when the file exists (unless `overwrite`) or cannot be written."""
        text = json.dumps(self.to_json(), indent=2) + "\n"
        write_new(path, text.encode(), overwrite)

    @classmethod
    def read(cls, path: str | Path) -> Denylist:
        """SpecError names the file and what is wrong with it."""
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SpecError(f"{path}: is no denylist: {error}") from error
        if not isinstance(values, dict):
            raise SpecError(f"{path}: is no denylist: it is no JSON object")
        if not {"op_denylist", "node_denylist"} & values.keys():
            raise SpecError(
                f"{path}: is no denylist: it has neither op_denylist nor node_denylist; give the "
                "denylist.json that --bisect wrote"
            )
        lists: list[tuple[str, ...]] = []
        for key in ("op_denylist", "node_denylist"):
            names = values.get(key, [])
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise SpecError(f"{path}: {key} is {names!r}; it is a list of names")
            lists.append(tuple(names))
        provenance = values.get("provenance", {})
        if not isinstance(provenance, dict):
            raise SpecError(f"{path}: provenance is {provenance!r}; it is an object")
        return cls(lists[0], lists[1], provenance)


def find_denylist(
    convert_and_check: ConvertAndCheck,
    graph_def: Any,
    path: str | Path | None = None,
    *,
    by: str = "op",
    max_runs: int | None = None,
    progress: Callable[[Trial], object] | None = None,
    provenance: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Denylist:
    """A denylist with which the converted model passes, and of which nothing can be left out; it
    is written to `path` if given.

    Args:
      convert_and_check: converts with these op types and node names kept out and says whether
        the result passes. With nothing kept out it does not, which is why one asks.
      graph_def: the converted graph that fails: its engines' segments say what ran in TensorRT.
      by: "op" looks for op types first; "segment" for whole engines first, which suits models
        with many engines. Both then look for single nodes among what was found.
      max_runs: conversions at most; the best found by then is returned, and its provenance says
        that it may be larger than needed.
      progress: called after each conversion.
      provenance: more to note in the file (precision, thresholds, versions).

    Raises:
      VerificationError: the graph has no engine, keeping everything out does not help, or
        nothing was found within `max_runs`.
      OutputError: `path` exists or cannot be written; said before the first conversion if known.
    """
    if by not in ("op", "segment"):
        raise SpecError(f'by is {by!r}; it is "op" or "segment"')
    if path is not None:
        check_new(path, overwrite)
    nodes = nodes_in_engines(graph_def)
    types = by_type(nodes)
    if not types:
        raise VerificationError(
            "the converted graph has no op in a TensorRT engine: what differs is not TensorRT's "
            "doing, and there is nothing to keep out"
        )
    if by == "op":
        groups = types
    else:
        groups = _by_segment(graph_def, {name for names in types.values() for name in names})
    what = "op types" if by == "op" else "segments"
    trials: list[Trial] = []

    def report(trial: Trial) -> None:
        trials.append(dataclasses.replace(trial, number=len(trials) + 1))
        if progress is not None:
            progress(trials[-1])

    def groups_fail(excluded: frozenset[str]) -> bool:
        if by == "op":
            return not convert_and_check(excluded, frozenset())
        return not convert_and_check(frozenset(), _members(groups, excluded))

    coarse = bisect(groups_fail, list(groups), max_runs=max_runs, progress=report)
    if coarse.excluded is None:
        raise VerificationError(_no_help(what, list(groups), coarse.complete))
    members = [name for group in groups if group in coarse.excluded for name in groups[group]]

    def nodes_fail(excluded: frozenset[str]) -> bool:
        return not convert_and_check(frozenset(), excluded)

    left = None if max_runs is None else max(0, max_runs - len(trials))
    fine = bisect(nodes_fail, members, max_runs=left, progress=report, all_pass=True)
    if by == "op" and fine.excluded == frozenset(members):
        ops, names = coarse.excluded, frozenset[str]()
    else:
        ops, names = frozenset[str](), fine.excluded or frozenset(members)
    found = Denylist(
        tuple(sorted(ops)),
        tuple(sorted(names)),
        {
            **(provenance or {}),
            "found_by": f"bisection over {len(groups)} {what}, then {len(members)} nodes",
            "op_types": {name: nodes[name] for name in sorted(names)},
            "conversions": len(trials),
            "minimal": coarse.complete and fine.complete,
        },
    )
    if path is not None:
        found.write(path, overwrite)
    return found


def nodes_in_engines(graph_def: Any) -> dict[str, str]:
    """Op type by node name, of every node in every engine's native segment."""
    functions = {function.signature.name: function for function in graph_def.library.function}
    return {
        name: op
        for engine in engine_nodes(graph_def)
        if engine.segment_func in functions
        for name, op in segment_nodes(functions[engine.segment_func])
    }


def _by_segment(graph_def: Any, names: set[str]) -> dict[str, list[str]]:
    segments = {
        engine.canonical_name: [name for name in engine.node_names if name in names]
        for engine in engine_nodes(graph_def)
    }
    return {engine: members for engine, members in segments.items() if members}


def _members(groups: Mapping[str, list[str]], chosen: frozenset[str]) -> frozenset[str]:
    return frozenset(name for group in chosen for name in groups[group])


def _no_help(what: str, groups: list[str], complete: bool) -> str:
    if not complete:
        return "no denylist was found within the allowed runs; allow more"
    return (
        f"keeping all {len(groups)} {what} out of TensorRT ({', '.join(groups[:12])}"
        f"{', ...' if len(groups) > 12 else ''}) does not make the outputs agree: what differs is "
        "not TensorRT's doing. Compare the models' weights, signatures and preprocessing"
    )
