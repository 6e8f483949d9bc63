"""The load generator: how many requests are in flight, when it stops, and what it measures."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from converters.measure.callers import run_turn


class Sleeper:
    """A target whose requests take `seconds`, each in the caller's own time."""

    def __init__(self, seconds: float = 0.0, gpu_ms: float | None = None) -> None:
        self.seconds, self.gpu_ms = seconds, gpu_ms
        self.sent = self.finished = self.most = 0
        self.threads: set[int] = set()
        self.order: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        self._counts: dict[int, int] = {}

    def begin(self, caller: int) -> None:
        self.threads.add(threading.get_ident())

    def send(self, caller: int) -> int:
        with self._lock:
            self.sent += 1
            self.most = max(self.most, self.sent - self.finished)
            self._counts[caller] = self._counts.get(caller, 0) + 1
            return self._counts[caller]

    def finish(self, caller: int, ticket: int) -> float | None:
        time.sleep(self.seconds)
        with self._lock:
            self.finished += 1
            self.order.append((caller, ticket))
        return self.gpu_ms


def test_every_request_has_a_latency() -> None:
    target = Sleeper(0.002)
    turn = run_turn(target, 1, 1, 0.2, 1)
    assert len(turn.latencies_ms) == target.sent == target.finished > 5
    assert min(turn.latencies_ms) >= 2.0
    assert turn.seconds >= 0.2
    # One after the other, so that the latencies are all of the time.
    assert sum(turn.latencies_ms) <= 1e3 * turn.seconds
    assert turn.gpu_ms == []


def test_the_least_number_of_requests_counts_for_all_callers_together() -> None:
    for callers, each in ((1, 10), (3, 4)):
        target = Sleeper()
        assert len(run_turn(target, callers, 1, 0.0, 10).latencies_ms) == callers * each


@pytest.mark.parametrize(("callers", "queued"), [(1, 1), (1, 4), (3, 2)])
def test_requests_in_flight(callers: int, queued: int) -> None:
    target = Sleeper(0.001)
    run_turn(target, callers, queued, 0.05, 1)
    assert target.most <= callers * queued
    assert target.most > (callers * queued) // 2  # the callers keep them in flight
    for caller in range(callers):
        tickets = [ticket for one, ticket in target.order if one == caller]
        assert tickets == sorted(tickets)  # the oldest ends first
    assert len(target.threads) == callers


def test_a_queued_request_waits_for_those_before_it() -> None:
    alone = run_turn(Sleeper(0.002), 1, 1, 0.0, 20)
    queued = run_turn(Sleeper(0.002), 1, 4, 0.0, 20)
    assert sorted(queued.latencies_ms)[10] > 2 * sorted(alone.latencies_ms)[10]


def test_gpu_times_are_kept() -> None:
    assert run_turn(Sleeper(gpu_ms=0.25), 2, 1, 0.0, 4).gpu_ms == [0.25] * 4


@pytest.mark.parametrize("where", ["begin", "send", "finish"])
def test_an_error_of_one_caller_ends_all(where: str) -> None:
    target = Sleeper(0.001)
    working = getattr(target, where)

    def fail(caller: int, *arguments: Any) -> Any:
        if caller == 1:
            raise ValueError("no such shape")
        return working(caller, *arguments)

    setattr(target, where, fail)
    began = time.monotonic()
    with pytest.raises(ValueError, match="no such shape"):
        run_turn(target, 3, 1, 60.0, 1)
    assert time.monotonic() - began < 10


def test_callers_that_get_no_thread_end_all(monkeypatch: Any) -> None:
    submit = ThreadPoolExecutor.submit

    def refuse(pool: ThreadPoolExecutor, call: Any, caller: int) -> Any:
        if caller == 2:
            raise RuntimeError("can't start new thread")
        return submit(pool, call, caller)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run_turn(Sleeper(0.001), 4, 1, 60.0, 1)
    assert time.monotonic() - began < 10
