"""Chooses a few rows of a large table of cases. Any two values of different columns still meet in
one row."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any


def all_pairs(*columns: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Returns some combinations of the columns' values. Each pair of values is in one of them."""
    return pairs_of(itertools.product(*columns))


def pairs_of(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Does the same with the combinations that the caller lists, for tables with gaps."""
    rows = list(rows)
    # A pair is two columns and the texts of their values, because values need not be hashable.
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
