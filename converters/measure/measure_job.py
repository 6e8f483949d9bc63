"""The job of the child process that loads one model or plan and measures it when it is told to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from converters.inputs.batch_files import read_spool
from converters.measure.callers import Turn, run_turn
from converters.measure.figures import Figures, MemoryUse
from converters.measure.model_requests import ModelRequests, request_error
from converters.measure.turns import commands_from
from converters.util.errors import ConverterError


def measure(
    subject: dict[str, Any],
    cells: list[dict[str, Any]],
    queued: int,
    inputs: str,
    memory: bool,
    commands: str,
    answers: str,
) -> dict[str, Any]:
    """Runs the commands; returns the facts of the first request, and the figures of each cell.

    `subject` has the arguments of ModelRequests or PlanRequests, and "kind". A cell has "folder"
    with its batches, "items" of a request, and "callers". A command has the number of its "cell",
    the "seconds" and "least" requests to measure, and whether it is a "warm_up".
    """
    with commands_from(commands, answers) as orders:
        target = _loaded(subject, memory)
        orders.ready(device=target.device, library=target.library)
        measured = _Measured(target, cells, queued, inputs, memory)
        try:
            for order in orders:
                measured.run(**order)
            return measured.result()
        finally:
            target.close()


def _loaded(subject: dict[str, Any], memory: bool) -> Any:
    kind = subject["kind"]
    arguments = {name: value for name, value in subject.items() if name != "kind"}
    if kind == "plan":
        from converters.measure.plan_requests import PlanRequests

        return PlanRequests(**arguments, count_memory=memory)
    return ModelRequests(**arguments)


class _Measured:
    """The cells of one model, one after the other."""

    def __init__(
        self, target: Any, cells: Sequence[dict[str, Any]], queued: int, inputs: str, memory: bool
    ) -> None:
        self._target = target
        self._cells = cells
        self._queued = queued
        self._inputs = inputs
        self._memory = memory
        self._current: int | None = None
        self._first_request_s: float | None = None
        self._turns: list[list[Turn]] = [[] for _ in cells]
        self._held = [0] * len(cells)
        self._peak = [0] * len(cells)

    def run(self, cell: int, seconds: float, least: int, warm_up: bool) -> None:
        try:
            if cell != self._current:
                self._begin(cell)
            callers = self._cells[cell]["callers"]
            turn = run_turn(self._target, callers, self._queued, seconds, least)
        except ConverterError:
            raise
        except Exception as error:
            raise request_error(error, self._batches(cell)[0]) from error
        if warm_up:
            if self._memory:
                self._held[cell] = self._target.held_bytes()
            return
        self._turns[cell].append(turn)
        if self._memory:
            self._peak[cell] = self._target.peak_bytes()

    def _begin(self, cell: int) -> None:
        callers = self._cells[cell]["callers"]
        if self._memory:
            self._target.reset_peak()
        self._target.prepare(self._batches(cell), callers, self._queued, self._inputs)
        if self._first_request_s is None:
            began = time.perf_counter()
            self._target.begin(0)
            self._target.finish(0, self._target.send(0))
            self._first_request_s = time.perf_counter() - began
        self._current = cell

    def _batches(self, cell: int) -> list[Any]:
        return list(read_spool(self._cells[cell]["folder"])())

    def result(self) -> dict[str, Any]:
        target = self._target
        figures = []
        for number, turns in enumerate(self._turns):
            use = None
            if self._memory:
                held, peak = self._held[number], self._peak[number]
                use = MemoryUse(target.memory_source, target.loaded_bytes, held, peak)
            figures.append(Figures.of(turns, self._cells[number]["items"], use).to_json())
        first = self._first_request_s
        return {
            "first": {"import_s": target.import_s, "load_s": target.load_s, "request_s": first},
            "cells": figures,
        }
