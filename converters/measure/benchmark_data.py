"""The result of `benchmark`, as data and as text. The JSON form (`to_json`) has these keys:

schema            1; raised when a key changes its meaning or goes
model, original   paths; `original` is null where nothing was compared
kind              "model" or "plan"
signature         of the model; "" for a plan that names none
device            the GPU's name, or "CPU"
library           the library that ran the model, with its version
inputs            "device": inputs are in the GPU's memory before a request begins; "host": each
                  request copies its own
queued            requests that each caller keeps in flight
seconds, warm_up  least time of a cell and of its warm-up, in seconds
max_latency_ms    the limit for `best`, in milliseconds; null where none was given
first             {"model"/"original": {"import_s", "load_s", "request_s", "total_s"}}: the time to
                  the first result, in seconds
cells             list, each with
  shapes            input name -> shape
  batch             items of a request: the largest first dimension
  callers           threads that sent requests at the same time
  model, original   {"requests", "seconds", "items_per_s", "latency_ms", "gpu_ms", "memory",
                    "rounds"}; latencies have mean, median, p95, p99 and max in milliseconds, memory
                    has loaded, held and peak in bytes
  speed_up          items per second of the model, divided by those of the original; or null
  latency_speed_up  median latency of the original, divided by that of the model; or null
  scaling           items per second, divided by those of the fewest callers with these shapes
best              place in `cells` (from 0) of the most items per second with a p99 of at most
                  max_latency_ms; null where there is none
notes             sentences about what the figures do not show
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from converters.measure.figures import Figures
from converters.util.shapes import Shape, format_shape_set

BENCHMARK_SCHEMA = 1


@dataclass(frozen=True)
class FirstResult:
    """The way to the first result in seconds: importing the library, loading the model, and the
    first request."""

    import_s: float
    load_s: float
    request_s: float

    @property
    def total_s(self) -> float:
        return self.import_s + self.load_s + self.request_s


@dataclass(frozen=True)
class Cell:
    """One shape with one number of callers. A request has `batch` items."""

    shapes: Mapping[str, Shape]
    batch: int
    callers: int
    model: Figures
    original: Figures | None = None

    @property
    def speed_up(self) -> float | None:
        """Items per second, divided by the original's."""
        if self.original is None:
            return None
        return self.model.items_per_s / self.original.items_per_s

    @property
    def latency_speed_up(self) -> float | None:
        """The original's median latency, divided by the model's."""
        if self.original is None:
            return None
        return self.original.latency_ms.median / self.model.latency_ms.median


@dataclass(frozen=True)
class BenchmarkData:
    """What `benchmark` measured; the module's text explains the fields."""

    model: str
    kind: str
    signature: str
    device: str
    library: str
    inputs: str
    queued: int
    seconds: float
    warm_up: float
    first: Mapping[str, FirstResult]
    cells: tuple[Cell, ...]
    original: str | None = None
    max_latency_ms: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> int | None:
        """The cell with the most items per second whose p99 is within `max_latency_ms`."""
        if self.max_latency_ms is None:
            return None
        return best_within(self.cells, self.max_latency_ms)

    def scaling(self, cell: Cell) -> float:
        """Items per second, divided by those of the fewest callers with the same shapes."""
        fewest = min(
            (other for other in self.cells if other.shapes == cell.shapes),
            key=lambda other: other.callers,
        )
        return cell.model.items_per_s / fewest.model.items_per_s

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values; the keys are in the module's text."""
        cells = [
            {
                **asdict(cell),
                "speed_up": cell.speed_up,
                "latency_speed_up": cell.latency_speed_up,
                "scaling": self.scaling(cell),
            }
            for cell in self.cells
        ]
        first = {role: {**asdict(one), "total_s": one.total_s} for role, one in self.first.items()}
        given = {**asdict(self), "cells": cells, "first": first, "best": self.best}
        return {"schema": BENCHMARK_SCHEMA, **given}


def best_within(cells: Sequence[Cell], max_latency_ms: float) -> int | None:
    """The place of the cell with the most items per second whose p99 latency is at most
    `max_latency_ms`; None if there is none."""
    within = [
        (cell.model.items_per_s, place)
        for place, cell in enumerate(cells)
        if cell.model.latency_ms.p99 <= max_latency_ms
    ]
    return max(within)[1] if within else None


def cell_name(cell: Cell) -> str:
    """ "x:8x3, 2 callers"."""
    return f"{format_shape_set(cell.shapes)}, {callers_text(cell.callers)}"


def callers_text(count: int) -> str:
    return f"{count} caller{'' if count == 1 else 's'}"
