"""Statistics of requests."""

from __future__ import annotations

import json

import pytest

from converters.measure.callers import Turn
from converters.measure.figures import Figures, Latency, MemoryUse


def test_percentiles_are_of_requests_that_were() -> None:
    latency = Latency.of(range(200, 0, -1))
    assert latency == Latency(mean=100.5, median=100.5, p95=190, p99=198, max=200)
    assert Latency.of([3.0]) == Latency(3.0, 3.0, 3.0, 3.0, 3.0)
    assert Latency.of([1.0, 2.0, 3.0, 10.0]).p99 == 10.0


def test_figures_are_of_all_rounds_together() -> None:
    turns = [Turn(2.0, [10.0] * 10, [1.0] * 10), Turn(0.5, [1.0] * 40, [2.0] * 40)]
    figures = Figures.of(turns, items=8)
    assert figures.requests == 50 and figures.seconds == 2.5
    assert figures.items_per_s == pytest.approx(8 * 50 / 2.5)
    assert figures.rounds == (40.0, 640.0)
    assert figures.latency_ms.median == 1.0 and figures.latency_ms.p95 == 10.0
    assert figures.gpu_ms is not None and figures.gpu_ms.mean == pytest.approx(1.8)
    assert Figures.of([Turn(1.0, [1.0])], 1).gpu_ms is None


def test_json_gives_the_figures_back() -> None:
    use = MemoryUse("the process", 10, 20, 50)
    for figures in (
        Figures.of([Turn(1.0, [1.0, 2.0], [0.5, 0.6])], 4, use),
        Figures.of([Turn(1.0, [1.0, 2.0])], 4),
    ):
        assert Figures.from_json(json.loads(json.dumps(figures.to_json()))) == figures
