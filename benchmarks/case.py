"""One kind of work and what each peer made of it."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks import peers


@dataclasses.dataclass
class Row:
    """One peer's figures in one case."""

    peer: str
    baseline: bool = False
    note: str = ""  # why there are none
    first_seconds: float = 0.0  # of the untimed call
    seconds: list[float] = dataclasses.field(default_factory=list)
    cpu_seconds: list[float] = dataclasses.field(default_factory=list)  # of all its threads
    value: float | None = None  # median, in the case's unit
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
    # The rate's numerator; 0 means that the time itself, in milliseconds, is the figure.
    frames: int = 0
    # Frames of the clip that a right answer shows, for the check; None where there is no array.
    indices: Sequence[int] | None = None
    repeat: int = 1
    unit: str = ""  # frames/s or ms, unless it is said
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
            if row.seconds and row.peer != peers.OURS and not row.baseline and not row.note
        ]
        return min(rivals, key=lambda row: row.median) if rivals else None

    def ratio_to(self, other: Row | None) -> float | None:
        """How many times as fast as `other` we are."""
        ours = self.row(peers.OURS)
        if ours is None or other is None or ours.note:
            return None
        return other.median / ours.median
