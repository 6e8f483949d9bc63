"""What was measured of one model in one cell: latencies, items per second and memory."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from converters.measure.callers import Turn


@dataclass(frozen=True)
class Latency:
    """Of all requests, in milliseconds. `p95` is the smallest time that 95 % of the requests do
    not exceed; of fewer than 100 requests `p99` is the slowest."""

    mean: float
    median: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, values_ms: Sequence[float]) -> Latency:
        """From at least one value."""
        ordered = sorted(values_ms)
        return cls(
            statistics.fmean(ordered),
            statistics.median(ordered),
            _percentile(ordered, 95),
            _percentile(ordered, 99),
            ordered[-1],
        )


@dataclass(frozen=True)
class MemoryUse:
    """In bytes: `loaded` after the model was loaded, `held` between requests of this cell, `peak`
    at most from the cell's warm-up to its end. `source` says whose memory that is."""

    source: str
    loaded: int
    held: int
    peak: int


@dataclass(frozen=True)
class Figures:
    """One model in one cell. `seconds` is the time of all rounds together, `rounds` has the items
    per second of each. `gpu_ms` is the time between CUDA events around the plan; None for models.
    """

    requests: int
    seconds: float
    items_per_s: float
    latency_ms: Latency
    gpu_ms: Latency | None = None
    memory: MemoryUse | None = None
    rounds: tuple[float, ...] = ()

    @classmethod
    def of(cls, turns: Sequence[Turn], items: int, memory: MemoryUse | None = None) -> Figures:
        """From the rounds of a cell; a request has `items` items."""
        latencies = [ms for turn in turns for ms in turn.latencies_ms]
        gpu = [ms for turn in turns for ms in turn.gpu_ms]
        seconds = sum(turn.seconds for turn in turns)
        return cls(
            len(latencies),
            seconds,
            items * len(latencies) / seconds,
            Latency.of(latencies),
            Latency.of(gpu) if gpu else None,
            memory,
            tuple(items * len(turn.latencies_ms) / turn.seconds for turn in turns),
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Figures:
        """What `to_json` gave."""
        given = dict(values)
        for key in ("latency_ms", "gpu_ms"):
            given[key] = Latency(**given[key]) if given[key] else None
        given["memory"] = MemoryUse(**given["memory"]) if given["memory"] else None
        given["rounds"] = tuple(given["rounds"])
        return cls(**given)


def _percentile(ordered: Sequence[float], share: int) -> float:
    return ordered[math.ceil(len(ordered) * share / 100) - 1]
