"""A kind of work, and each peer's figures for it."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks import peers


@dataclasses.dataclass
class Row:
    """A peer's figures in a case."""

    peer: str
    baseline: bool = False
    note: str = ""  # why there are no figures
    seconds: list[float] = dataclasses.field(default_factory=list)
    cpu_seconds: list[float] = dataclasses.field(default_factory=list)  # summed over all threads
    value: float | None = None  # the median, in the case's unit
    color_distance: float | None = None
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclasses.dataclass
class Case:
    """One kind of work on one clip."""

    name: str
    operation: str
    arguments: dict[str, Any]
    # The numerator of the rate; with 0 the figure is the time itself, in milliseconds.
    frames: int = 0
    # The frames of the clip that a right answer shows, for the check; None if there is no array.
    indices: Sequence[int] | None = None
    # Whether the operation yields arrays; then every round is checked.
    stream: bool = False
    repeat: int = 1
    unit: str = ""  # frames/s or ms if it is empty
    rows: list[Row] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.unit = self.unit or ("frames/s" if self.frames else "ms")

    def value(self, seconds: float) -> float:
        return self.frames / seconds if self.frames else seconds * 1e3

    def row(self, peer: str) -> Row | None:
        return next((row for row in self.rows if row.peer == peer and row.seconds), None)

    def fastest(self) -> Row | None:
        rivals = [
            row
            for row in self.rows
            if row.seconds and not peers.is_ours(row.peer) and not row.baseline and not row.note
        ]
        return min(rivals, key=lambda row: row.median) if rivals else None

    def ours(self) -> Row | None:
        """Returns the row of this package: that of the plain form, else of another form."""
        names = sorted(row.peer for row in self.rows if row.seconds and peers.is_ours(row.peer))
        return self.row(names[0]) if names else None

    def ratio_to(self, other: Row | None, form: str = "") -> float | None:
        """Returns how many times as fast as `other` this package, or a form of it, is."""
        ours = self.row(form) if form else self.ours()
        if ours is None or other is None or ours.note:
            return None
        return other.median / ours.median
