"""Times requests that several threads make at once: requests/s and the latency of each."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np


def measure(call: Callable[[int], None], clients: int, requests: int) -> tuple[float, list[float]]:
    """Returns the seconds of `requests` requests by so many clients, and of each."""

    def ask(number: int) -> float:
        began = time.perf_counter()
        call(number % clients)
        return time.perf_counter() - began

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        each = list(threads.map(ask, range(requests)))
    return time.perf_counter() - began, each


def figures(rounds: list[tuple[float, list[float]]]) -> dict[str, float]:
    each = [1000 * seconds for _, some in rounds for seconds in some]
    return {
        "requests_per_s": statistics.median(len(some) / total for total, some in rounds),
        "p50_ms": float(np.percentile(each, 50)),
        "p99_ms": float(np.percentile(each, 99)),
    }
