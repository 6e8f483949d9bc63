"""Finds the ops to keep out of TensorRT, so that a converted model passes its verification.

`bisect` searches a set of names by questions to a check. `find_denylist` applies it to the ops of a
model's engines, first to types and then to single nodes, and writes a file that conversion takes.
Each question costs a conversion, so there are few questions, and none is asked twice.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

from converters.model.trt_graph import engine_nodes, segment_nodes
from converters.util.errors import SpecError, VerificationError, listed
from converters.util.outputs import check_new, write_new
from converters.util.record import read_json

# Whether the model passes verification with these (op types, node names) kept out of TensorRT.
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
            values = read_json(Path(path))
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
    """Finds a denylist with which the converted model passes and that needs all of its entries. It
    is written to `path` if given.

    Args:
      convert_and_check: converts with these op types and node names kept out and says whether
        the result passes. With nothing kept out it must not pass.
      graph_def: the converted graph that fails: its engines' segments say what ran in TensorRT.
      by: "op" looks for op types first; "segment" for whole engines first, which suits models
        with many engines. Both then look for single nodes among what was found.
      max_runs: the most conversions. At the limit the best denylist so far is returned, and its
        provenance says that it may be larger than needed.
      progress: called after each conversion.
      provenance: more to note in the file (precision, thresholds, versions).

    Raises:
      VerificationError: the graph has no engine, keeping everything out does not help, or
        nothing was found within `max_runs`.
      OutputError: `path` exists or cannot be written; raised before the first conversion if
        possible.
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


Excluded = frozenset[str]


@dataclasses.dataclass(frozen=True)
class Trial:
    """One question and its answer: does the check pass with these names kept out?"""

    number: int
    excluded: Excluded
    passed: bool
    seconds: float

    def __str__(self) -> str:
        shown = listed(sorted(self.excluded), 6)
        verdict = "passes" if self.passed else "fails"
        return f"run {self.number}: {verdict} without {shown or 'nothing'} ({self.seconds:.1f} s)"


@dataclasses.dataclass(frozen=True)
class Bisection:
    """`excluded` makes the check pass, and no member can be taken out of it (1-minimal).

    None: keeping all candidates out does not help, so the cause is elsewhere. `complete` is
    False when the limit on runs was reached: `excluded` passes then, but may be larger than
    needed (None: nothing that passes was found in time).
    """

    excluded: Excluded | None
    complete: bool
    trials: tuple[Trial, ...]

    @property
    def runs(self) -> int:
        return len(self.trials)


class _LimitReachedError(Exception):
    pass


def bisect(
    fails: Callable[[Excluded], bool],
    candidates: Sequence[str],
    *,
    max_runs: int | None = None,
    progress: Callable[[Trial], object] | None = None,
    all_pass: bool = False,
) -> Bisection:
    """A smallest set of candidates (in the sense of Bisection) without which the check passes.

    `fails(excluded)` says whether the check still fails with `excluded` kept out. It is not asked
    about the empty set, which must fail, nor about all candidates if `all_pass` says that these
    pass. Halves are kept out first, in the order of `candidates`. If keeping out more never makes
    the check fail, k culprits among n take about 2 k log2(n / k) runs (QuickXplain: Junker, AAAI
    2004). Otherwise the answer still passes and is 1-minimal, after more runs. The questions and
    their order are always the same. Exceptions of `fails` pass through.
    """
    names = list(dict.fromkeys(candidates))
    search = _Search(fails, max_runs, progress)
    everything = frozenset(names)
    if all_pass and names:
        search.take_for_passed(everything)
    try:
        if not names or not search.passes(everything):
            return search.result(None)
        found = frozenset(search.explain(frozenset(), False, names))
        if not search.passes(found):
            # Keeping out more made the check fail: shrink the set that is known to pass.
            found = search.shrink(names)
        return search.result(search.prune(found, names))
    except _LimitReachedError:
        return search.result(search.best, complete=False)


class _Search:
    def __init__(
        self,
        fails: Callable[[Excluded], bool],
        max_runs: int | None,
        progress: Callable[[Trial], object] | None,
    ) -> None:
        self._fails = fails
        self._max_runs = max_runs
        self._progress = progress
        self._known: dict[Excluded, bool] = {frozenset(): False}
        self._trials: list[Trial] = []
        self.best: Excluded | None = None

    def passes(self, excluded: Iterable[str]) -> bool:
        excluded = frozenset(excluded)
        if excluded not in self._known:
            if self._max_runs is not None and len(self._trials) >= self._max_runs:
                raise _LimitReachedError
            began = time.monotonic()
            passed = not self._fails(excluded)
            self._known[excluded] = passed
            seconds = time.monotonic() - began
            self._trials.append(Trial(len(self._trials) + 1, excluded, passed, seconds))
            if self._progress is not None:
                self._progress(self._trials[-1])
            if passed and (self.best is None or len(excluded) < len(self.best)):
                self.best = excluded
        return self._known[excluded]

    def take_for_passed(self, excluded: Excluded) -> None:
        self._known[excluded] = True
        self.best = excluded

    def explain(self, kept_out: Excluded, grew: bool, names: list[str]) -> list[str]:
        """The culprits among `names` that must be kept out besides `kept_out`. `grew`: `kept_out`
        has not been tried yet."""
        if grew and self.passes(kept_out):
            return []
        if len(names) == 1:
            return names
        half = len(names) // 2
        first, second = names[:half], names[half:]
        of_second = self.explain(kept_out | frozenset(first), True, second)
        of_first = self.explain(kept_out | frozenset(of_second), bool(of_second), first)
        return of_first + of_second

    def shrink(self, names: list[str]) -> Excluded:
        """Removes smaller and smaller parts from a set as long as it passes (delta debugging by
        complements: Zeller and Hildebrandt)."""
        size = max(1, len(names) // 2)
        while True:
            start = 0
            while start < len(names) and len(names) > 1:
                rest = names[:start] + names[start + size :]
                if rest and self.passes(rest):
                    names = rest
                else:
                    start += size
            if size == 1:
                return frozenset(names)
            size = max(1, size // 2)

    def prune(self, found: Excluded, order: list[str]) -> Excluded:
        """Removes single members until every one is needed."""
        names = [name for name in order if name in found]
        index = 0
        while index < len(names):
            rest = names[:index] + names[index + 1 :]
            if self.passes(rest):
                names, index = rest, 0
            else:
                index += 1
        return frozenset(names)

    def result(self, excluded: Excluded | None, complete: bool = True) -> Bisection:
        return Bisection(excluded, complete, tuple(self._trials))


# Ops that compute nothing: keeping them out changes no number.
_NO_ARITHMETIC = frozenset(
    ("Const", "Identity", "IdentityN", "NoOp", "Placeholder", "_Arg", "_Retval")
)


def by_type(nodes: Mapping[str, str]) -> dict[str, list[str]]:
    """Node names by op type, without ops that compute nothing; types with few nodes first.

    Rare ops (a Softmax at the end) are culprits more often than those that fill the model, and
    cost least to keep out.
    """
    types: dict[str, list[str]] = {}
    for name, op in nodes.items():
        if op not in _NO_ARITHMETIC:
            types.setdefault(op, []).append(name)
    return dict(sorted(types.items(), key=lambda item: (len(item[1]), item[0])))
