"""Fewer cases of a large table: any two values of different columns still meet in one test."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any


def all_pairs(*columns: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Some combinations of the columns' values: each pair of values is in one of them."""
    return pairs_of(itertools.product(*columns))


def pairs_of(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The same for combinations that the caller lists, for tables with gaps."""
    rows = list(rows)
    # Values need not be hashable: a pair is two columns and the values' texts.
    pairs = [
        {(i, j, repr(row[i]), repr(row[j])) for i, j in itertools.combinations(range(len(row)), 2)}
        for row in rows
    ]
    missing, chosen = set().union(*pairs), []
    while missing:
        best = max(range(len(rows)), key=lambda i: len(pairs[i] & missing))
        chosen.append(best)
        missing -= pairs[best]
    return [rows[i] for i in sorted(chosen)]
