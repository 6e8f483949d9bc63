"""The report of a benchmark that was never run: 2 batches, 2 numbers of callers, and an original
model that is half as fast."""

from __future__ import annotations

from typing import Any

from converters.measure.benchmark import BenchmarkReport
from converters.measure.benchmark_data import Cell, FirstResult
from converters.measure.callers import Turn
from converters.measure.figures import Figures, MemoryUse


def figures(batch: int, ms: float, requests: int, **more: Any) -> Figures:
    """One second of requests that each took `ms`."""
    gpu = [ms / 2] * requests if more.pop("gpu", False) else []
    return Figures.of([Turn(1.0, [ms] * requests, gpu)], batch, **more)


def recorded(**changes: Any) -> BenchmarkReport:
    """The report. `changes` replace its fields."""
    use = MemoryUse("TensorFlow's allocator", 1 << 20, 2 << 20, 5 << 20)
    cells = tuple(
        Cell(
            {"x": (batch, 3)},
            batch,
            callers,
            figures(batch, ms, requests, gpu=True, memory=use),
            figures(batch, 2 * ms, requests // 2),
        )
        for batch, callers, ms, requests in (
            (1, 1, 1.0, 1000),
            (1, 2, 1.5, 1300),
            (8, 1, 2.0, 500),
            (8, 2, 5.0, 400),
        )
    )
    fields: dict[str, Any] = {
        "model": "models/fast<er>",
        "original": "models/native",
        "kind": "model",
        "signature": "serving_default",
        "device": "a GPU",
        "library": "TensorFlow 2.17.1",
        "inputs": "device",
        "queued": 1,
        "seconds": 1.0,
        "warm_up": 0.5,
        "max_latency_ms": 2.0,
        "first": {"model": FirstResult(3.0, 1.0, 0.5), "original": FirstResult(3.0, 2.0, 0.25)},
        "cells": cells,
        "notes": ("it rained",),
    }
    return BenchmarkReport(**{**fields, **changes})
