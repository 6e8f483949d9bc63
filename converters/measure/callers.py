"""Sends requests from several threads at once, and measures when each began and ended."""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol


class Target(Protocol):
    """What receives the requests. Each caller is a thread of its own, numbered from 0."""

    def begin(self, caller: int) -> None:
        """Called once in the caller's thread before its first request."""

    def send(self, caller: int) -> Any:
        """Starts a request; returns a ticket for `finish`."""

    def finish(self, caller: int, ticket: Any) -> float | None:
        """Waits until the outputs are on the host; returns the GPU's milliseconds if it knows."""


@dataclass
class Turn:
    """What the callers measured: one latency for each request, from its start to its outputs.

    `seconds` are from the first start to the last end. `gpu_ms` is empty where nobody measured it.
    """

    seconds: float = 0.0
    latencies_ms: list[float] = field(default_factory=list)
    gpu_ms: list[float] = field(default_factory=list)


def run_turn(target: Target, callers: int, queued: int, seconds: float, least: int) -> Turn:
    """Lets `callers` threads send requests for `seconds`, and at least `least` requests in all.

    A caller keeps `queued` requests in flight: it starts the next one only when the oldest of
    them has ended. An exception of the target is raised here.
    """
    start = threading.Barrier(callers)
    stop = threading.Event()
    each = -(-least // callers)

    def call(caller: int) -> tuple[float, float, Turn]:
        try:
            target.begin(caller)
            start.wait()
            return _call(target, caller, queued, seconds, each, stop)
        except BaseException:
            stop.set()
            start.abort()  # the others may still wait for this caller
            raise

    with ThreadPoolExecutor(callers) as pool:
        try:
            futures = [pool.submit(call, caller) for caller in range(callers)]
        except BaseException:  # the system gives no more threads
            stop.set()
            start.abort()  # those that there are wait for all
            raise
        errors = [error for future in futures if (error := future.exception()) is not None]
        # A broken barrier is only the echo of the first error.
        for error in sorted(errors, key=lambda e: isinstance(e, threading.BrokenBarrierError)):
            raise error
        parts = [future.result() for future in futures]
    return Turn(
        max(end for _, end, _ in parts) - min(begin for begin, _, _ in parts),
        [ms for _, _, part in parts for ms in part.latencies_ms],
        [ms for _, _, part in parts for ms in part.gpu_ms],
    )


def _call(
    target: Target, caller: int, queued: int, seconds: float, least: int, stop: threading.Event
) -> tuple[float, float, Turn]:
    clock = time.perf_counter
    turn = Turn()
    flying: deque[tuple[float, Any]] = deque()
    sent = 0
    begin = clock()
    until = begin + seconds

    def finish() -> None:
        began, ticket = flying.popleft()
        gpu_ms = target.finish(caller, ticket)
        turn.latencies_ms.append(1e3 * (clock() - began))
        if gpu_ms is not None:
            turn.gpu_ms.append(gpu_ms)

    while (sent < least or clock() < until) and not stop.is_set():
        if len(flying) == queued:
            finish()
        flying.append((clock(), target.send(caller)))
        sent += 1
    while flying:
        finish()
    return begin, clock(), turn
