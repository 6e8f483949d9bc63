"""Tests the search for ops to keep out, with made-up culprits and with a real graph."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

from converters.denylist_search import (
    Bisection,
    Denylist,
    Trial,
    bisect,
    by_type,
    find_denylist,
    nodes_in_engines,
)
from converters.util.errors import OutputError, SpecError, VerificationError

NAMES = [f"op{i:02}" for i in range(40)]
Predicate = Callable[[frozenset[str]], bool]


def needs(*culprits: str) -> Predicate:
    """Returns a check that fails until all culprits are out."""
    return lambda excluded: not set(culprits) <= excluded


def search(fails: Predicate, names: list[str] = NAMES, **options: Any) -> Bisection:
    asked: list[frozenset[str]] = []

    def once(excluded: frozenset[str]) -> bool:
        assert excluded and excluded <= set(names)
        assert excluded not in asked, "a question was asked twice"
        asked.append(excluded)
        return fails(excluded)

    found = bisect(once, names, **options)
    assert [trial.excluded for trial in found.trials] == asked
    assert found.runs == len(asked)
    return found


def assert_minimal(found: Bisection, fails: Predicate) -> None:
    assert found.complete and found.excluded is not None
    assert not fails(found.excluded)
    for name in found.excluded:
        rest = found.excluded - {name}
        assert not rest or fails(rest)


@pytest.mark.parametrize("name", NAMES)
def test_one_culprit_in_few_runs(name: str) -> None:
    found = search(needs(name))
    assert found.excluded == {name}
    assert found.runs <= 1 + 2 * math.ceil(math.log2(len(NAMES)))


def test_halves_come_first() -> None:
    found = search(needs("op33"))
    assert [len(trial.excluded) for trial in found.trials][:3] == [40, 20, 30]
    assert found.trials[0].passed and not found.trials[1].passed


@pytest.mark.parametrize("pair", [("op00", "op39"), ("op05", "op06"), ("op19", "op20")])
def test_two_culprits_that_both_must_be_out(pair: tuple[str, str]) -> None:
    found = search(needs(*pair))
    assert found.excluded == set(pair)
    assert found.runs <= 1 + 4 * math.ceil(math.log2(len(NAMES)))
    assert_minimal(found, needs(*pair))


def test_all_are_culprits() -> None:
    names = NAMES[:6]
    assert search(needs(*names), names).excluded == set(names)


def test_nothing_helps() -> None:
    found = search(lambda excluded: True)
    assert (found.excluded, found.complete, found.runs) == (None, True, 1)
    found = bisect(lambda excluded: False, [])
    assert (found.excluded, found.runs) == (None, 0)


def test_one_candidate() -> None:
    found = search(needs("op00"), ["op00"])
    assert (found.excluded, found.runs) == ({"op00"}, 1)


def test_repeated_candidates_are_one() -> None:
    found = bisect(needs("a"), ["a", "b", "a"])
    assert found.excluded == {"a"}


@pytest.mark.parametrize("seed", range(200))
def test_random_culprits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = NAMES[: rng.integers(1, 41)]
    count = int(rng.integers(1, min(5, len(names)) + 1))
    culprits = rng.choice(names, count, replace=False).tolist()
    found = search(needs(*culprits), names)
    assert found.excluded == set(culprits)
    assert found.runs <= 2 + 2 * count * (1 + math.ceil(math.log2(len(names) + 1)))


@pytest.mark.parametrize("seed", range(100))
def test_random_alternatives(seed: int) -> None:
    """Several minimal sets make the check pass. The answer is one of them."""
    rng = np.random.default_rng(seed)
    names = NAMES[:16]
    sets = [set(rng.choice(names, rng.integers(1, 5), replace=False)) for _ in range(3)]

    def fails(excluded: frozenset[str]) -> bool:
        return not any(one <= excluded for one in sets)

    found = search(fails, names)
    assert found.excluded in sets
    assert_minimal(found, fails)


@pytest.mark.parametrize("seed", range(100))
def test_random_predicates_without_any_order(seed: int) -> None:
    """Here the check may fail although more ops are out. The answer still passes and is minimal."""
    rng = np.random.default_rng(seed)
    names = NAMES[:8]
    passing = {
        frozenset(name for i, name in enumerate(names) if bits >> i & 1)
        for bits in range(1, 256)
        if rng.random() < 0.2
    } | {frozenset(names)}

    def fails(excluded: frozenset[str]) -> bool:
        return excluded not in passing

    assert_minimal(search(fails, names), fails)


def test_the_same_questions_each_time() -> None:
    first, second = (search(needs("op07", "op31")) for _ in range(2))
    assert [t.excluded for t in first.trials] == [t.excluded for t in second.trials]


def test_the_limit_on_runs() -> None:
    fails = needs("op33")
    whole = search(fails).runs
    for limit in range(whole + 1):
        found = search(fails, max_runs=limit)
        assert found.runs == min(limit, whole)
        assert found.complete == (limit == whole)
        if limit:
            assert found.excluded is not None and not fails(found.excluded)
        else:
            assert found.excluded is None
    sizes = [len(search(fails, max_runs=limit).excluded or ()) for limit in range(1, whole + 1)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] == 1


def test_what_is_known_is_not_asked() -> None:
    found = bisect(needs("op03"), NAMES, all_pass=True)
    assert found.excluded == {"op03"}
    assert all(len(trial.excluded) < 40 for trial in found.trials)
    found = bisect(needs(*NAMES), NAMES, all_pass=True, max_runs=0)
    assert (found.excluded, found.complete) == (frozenset(NAMES), False)


def test_progress_and_errors() -> None:
    seen: list[Trial] = []
    found = search(needs("op01"), NAMES[:8], progress=seen.append)
    assert tuple(seen) == found.trials
    assert str(seen[0]).startswith("run 1: passes without op00, op01, op02") and "more" in str(
        seen[0]
    )

    def broken(excluded: frozenset[str]) -> bool:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        bisect(broken, NAMES)


def test_rare_types_come_first() -> None:
    nodes = {
        "a": "Conv2D",
        "b": "Conv2D",
        "s": "Softmax",
        "c": "Const",
        "e": "Exp",
        "i": "Identity",
    }
    assert by_type(nodes) == {"Exp": ["e"], "Softmax": ["s"], "Conv2D": ["a", "b"]}


def converted_graph() -> Any:
    """Returns a graph as TF-TRT leaves it, with two engines. The library has a segment for each."""
    from tensorflow.core.framework import graph_pb2

    graph = graph_pb2.GraphDef()
    for engine, ops in (
        ("TRTEngineOp_000_000", ["Conv2D", "Relu", "Conv2D", "Relu", "Exp", "Conv2D", "Const"]),
        ("TRTEngineOp_000_001", ["Softmax", "Identity"]),
    ):
        node = graph.node.add(name=engine, op="TRTEngineOp")
        node.attr["segment_func"].func.name = f"{engine}_native_segment"
        function = graph.library.function.add()
        function.signature.name = f"{engine}_native_segment"
        for index, op in enumerate(ops):
            function.node_def.add(name=f"{engine[-1]}/{op}_{index}", op=op)
    return graph


@pytest.fixture(scope="module")
def graph() -> Any:
    pytest.importorskip("tensorflow")
    return converted_graph()


class Converter:
    """Stands in for a conversion. It passes if all culprit nodes are out, by type or by name."""

    def __init__(self, graph: Any, *culprits: str) -> None:
        self.nodes = nodes_in_engines(graph)
        self.culprits = culprits
        assert set(culprits) <= set(self.nodes)
        self.calls: list[tuple[frozenset[str], frozenset[str]]] = []

    def __call__(self, ops: frozenset[str], names: frozenset[str]) -> bool:
        self.calls.append((ops, names))
        assert ops or names
        return all(self.nodes[name] in ops or name in names for name in self.culprits)


@pytest.mark.parametrize("by", ["op", "segment"])
@pytest.mark.parametrize(
    ("culprits", "ops", "names"),
    [
        (["0/Exp_4"], {"Exp"}, {"0/Exp_4"}),
        (["0/Conv2D_2"], set(), {"0/Conv2D_2"}),
        (["0/Conv2D_0", "0/Conv2D_2", "0/Conv2D_5"], {"Conv2D"}, None),
        (["0/Conv2D_0", "1/Softmax_0"], set(), {"0/Conv2D_0", "1/Softmax_0"}),
    ],
)
def test_the_denylist_of_a_graph(
    graph: Any, tmp_path: Path, by: str, culprits: list[str], ops: set[str], names: Any
) -> None:
    convert = Converter(graph, *culprits)
    path = tmp_path / "denylist.json"
    trials: list[Trial] = []
    found = find_denylist(
        convert, graph, path, by=by, progress=trials.append, provenance={"precision": "FP16"}
    )
    # The search has tried exactly this denylist, and it has passed.
    assert convert(frozenset(found.op_denylist), frozenset(found.node_denylist))
    assert convert.calls.count(convert.calls[-1]) == 2
    if by == "op" and ops:
        assert set(found.op_denylist) == ops and not found.node_denylist
    else:
        assert not found.op_denylist and set(found.node_denylist) == (names or set(culprits))
    assert [trial.number for trial in trials] == list(range(1, len(trials) + 1))
    values = json.loads(path.read_text())
    assert values["node_denylist"] == list(found.node_denylist)
    assert values["provenance"]["precision"] == "FP16"
    assert values["provenance"]["conversions"] == len(trials) == len(convert.calls) - 1
    assert values["provenance"]["minimal"] is True
    assert Denylist.read(path) == found


def test_nothing_in_tensorrt_is_to_blame(graph: Any, tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="not TensorRT's doing"):
        find_denylist(lambda ops, names: False, graph, tmp_path / "a.json")
    assert not (tmp_path / "a.json").exists()
    with pytest.raises(VerificationError, match="no op in a TensorRT engine"):
        find_denylist(lambda ops, names: True, type(graph)())
    with pytest.raises(VerificationError, match="allow more"):
        find_denylist(lambda ops, names: True, graph, max_runs=0)


def test_the_best_found_within_the_limit(graph: Any) -> None:
    found = find_denylist(Converter(graph, "0/Conv2D_2"), graph, max_runs=1)
    assert "Conv2D" in found.op_denylist and len(found.op_denylist) > 1
    assert found.provenance["minimal"] is False


def test_files_are_not_overwritten(graph: Any, tmp_path: Path) -> None:
    path = tmp_path / "denylist.json"
    path.write_text("mine")
    convert = Converter(graph, "0/Exp_4")
    with pytest.raises(OutputError, match="exists"):
        find_denylist(convert, graph, path)
    assert not convert.calls, "the file is looked for before hours of conversions"
    find_denylist(convert, graph, path, overwrite=True)
    assert Denylist.read(path).op_denylist == ("Exp",)
    with pytest.raises(OutputError, match="cannot be written"):
        Denylist().write(tmp_path / "no folder" / "x.json")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no denylist"),
        ("[]", "no JSON object"),
        ('{"op_denylist": "Relu"}', "op_denylist is 'Relu'"),
        ('{"node_denylist": [1]}', "node_denylist"),
        ('{"provenance": 3}', "provenance"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "denylist.json"
    path.write_text(text)
    with pytest.raises(SpecError, match=says):
        Denylist.read(path)


def test_bad_choice(graph: Any) -> None:
    with pytest.raises(SpecError, match="by is 'node'"):
        find_denylist(lambda ops, names: True, graph, by="node")
