"""benchmark: how fast a model or a plan is, beside the model that it was made from.

Each model runs in a fresh child process, which holds nothing else. Two models that are compared
take turns, round by round. The warm-up of a cell counts nowhere.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converters.checks.fresh_check import Request, fresh_check
from converters.inputs.batch_files import spool_files, write_spool
from converters.inputs.calibration_data import Batch, InputSpec
from converters.measure.benchmark_data import BenchmarkData, Cell, FirstResult
from converters.measure.benchmark_page import benchmark_page
from converters.measure.benchmark_text import benchmark_text
from converters.measure.cells import cell_batches, items_of
from converters.measure.figures import Figures
from converters.measure.measure_job import measure
from converters.measure.model_requests import ENGINES_ALONE
from converters.measure.subject import PathLike, Subject, check_same_inputs, open_subject
from converters.measure.turns import TurnTaker
from converters.util.child import environment_variables
from converters.util.errors import EngineError, MeasureError
from converters.util.progress import Progress
from converters.util.shapes import Shape, ShapeSet, format_shape_set, shapes_of

INPUTS = ("device", "host")
MODEL, ORIGINAL = "model", "original"
# A cell is measured in so many pieces; models that are compared take turns with them.
ROUNDS = 5
LEAST_REQUESTS = 20
# With fewer requests the 99th percentile is the slowest of them.
_ENOUGH_FOR_P99 = 100


@dataclass(frozen=True)
class BenchmarkReport(BenchmarkData):
    """The result of `benchmark`. `to_json()` gives JSON values, whose keys
    converters/measure/benchmark_data.py explains; `str()` the table as text."""

    def __str__(self) -> str:
        return benchmark_text(self)

    def to_html(self) -> str:
        """A page of its own with the table and charts."""
        return benchmark_page(self)


@dataclass(frozen=True)
class _Wanted:
    """A cell to measure: its batches are in `folder`."""

    shapes: Mapping[str, Shape]
    items: int
    folder: str
    callers: int

    def job(self) -> dict[str, Any]:
        return {"folder": self.folder, "items": self.items, "callers": self.callers}


def benchmark(
    model: PathLike,
    original: PathLike | None = None,
    *,
    shapes: ShapeSet | Sequence[ShapeSet] | None = None,
    batch_sizes: Sequence[int] | None = None,
    data: Any = None,
    concurrency: Sequence[int] = (1,),
    queued: int = 1,
    seconds: float = 5.0,
    warm_up: float = 1.0,
    max_latency_ms: float | None = None,
    memory: bool = False,
    inputs: str = "device",
    signature: str | None = None,
    tags: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> BenchmarkReport:
    """Measures latency and throughput of a model or a plan, for each shape and number of callers.

    A request begins when a caller calls the signature, and ends when all outputs are on the host.
    TensorFlow returns from a call before the GPU has done the work, so the request waits for the
    outputs' values (`.numpy()`). A plan's outputs are copied into page-locked memory.

    Args:
      model: a SavedModel, converted or not; a frozen graph, MetaGraph or Keras file; or a plan that
        `extract_plans` wrote. A native model is measured on the CPU if there is no GPU.
      original: a model or plan to compare with, usually the one before conversion. Both get the
        same batches, and take turns in 5 rounds of each cell.
      shapes: one set of full shapes by input name, or several. Each is a row of cells.
      batch_sizes: replaces the first dimension of the inputs by each of these, or cuts `data`.
      data: what converters.calibration_data.batches takes: arrays, files, a dataset. Requests take
        the first 8 batches in turn. None takes one random batch for each shape.
      concurrency: numbers of callers, each a row of cells. A caller is a thread of one process; a
        plan has an execution context, a stream and a copy of the engine for each caller.
      queued: requests that a caller keeps in flight. 1 measures latency; more measure throughput,
        and then a latency includes the wait for the requests before it.
      seconds: the least time of each cell and model, in seconds. At least 20 requests are measured.
      warm_up: the least time of requests before that, in seconds, which count nowhere.
      max_latency_ms: `best` of the report is the cell with the most items per second whose 99th
        percentile is at most this, in milliseconds.
      memory: also measures memory in bytes: TensorFlow's allocator of the GPU, for a plan
        TensorRT's allocations and the buffers, on a CPU the whole process.
      inputs: "device": inputs are in the GPU's memory before a request begins; "host": each
        request copies them there.
      signature: which to measure; None takes serving_default, or the only one.
      tags: the MetaGraph of SavedModels.
      outputs: of a frozen graph, or of a MetaGraph without a signature.
      seed: of random inputs.
      progress: True shows bars on stderr, False nothing, None bars on a terminal and else lines.

    Raises:
      MeasureError: a shape, the data or a count does not fit, or a request fails.
      EngineError: an engine of the model does not serve a shape: TensorFlow would run in its place.
      ModelError: a model is missing or damaged, or has no such signature.
      PlanError: a plan cannot be loaded here, or does not take a shape.
      UnavailableError: TensorRT, TF-TRT or a GPU is needed and missing.
    """
    _check(concurrency, batch_sizes, queued, seconds, warm_up, max_latency_ms, inputs, seed)
    if data is not None and shapes is not None:
        raise MeasureError("shapes are of random inputs; give shapes or data, not both")
    sets = [shapes] if isinstance(shapes, Mapping) else list(shapes or ())
    shown = Progress(progress)
    with contextlib.ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trt-convert-")))
        subjects = {MODEL: open_subject(model, work / MODEL, signature, tags, outputs)}
        if original is not None:
            subjects[ORIGINAL] = open_subject(original, work / ORIGINAL, signature, tags, outputs)
            check_same_inputs(subjects[MODEL], subjects[ORIGINAL])
        batches = cell_batches(subjects[MODEL].specs, sets, batch_sizes or (), data, seed)
        wanted = _wanted(batches, subjects[MODEL].specs, concurrency, work)
        notes = []
        for subject in subjects.values():
            notes += _engines_run(subject, wanted, shown)
        stack.enter_context(environment_variables(ENGINES_ALONE))
        shared = {
            "cells": [cell.job() for cell in wanted],
            "queued": queued,
            "inputs": inputs,
            "memory": memory,
        }
        takers: dict[str, TurnTaker] = {}
        facts: dict[str, dict[str, Any]] = {}
        for role, subject in subjects.items():
            own = work / f"{role}-pipes"
            own.mkdir()
            job = {"subject": subject.job(), **shared}
            with shown.step(f"loading {subject.given}"):
                takers[role] = stack.enter_context(TurnTaker(measure, job, own))
                facts[role] = takers[role].start()
        with shown.step("measuring", total=len(wanted) * len(takers) * (1 + ROUNDS)) as step:
            for number, cell in enumerate(wanted):
                step.note(f"{format_shape_set(cell.shapes)}, callers: {cell.callers}")
                for command in _commands(number, cell, queued, seconds, warm_up):
                    for taker in takers.values():
                        taker.turn(**command)
                        step.advance()
            results = {role: taker.end() for role, taker in takers.items()}
    cells = _cells(wanted, results)
    few = [cell for cell in cells if cell.model.requests < _ENOUGH_FOR_P99]
    if few:
        notes.append(
            f"{len(few)} of {len(cells)} cells have fewer than {_ENOUGH_FOR_P99} requests, so that "
            "their p99 is the slowest request: more seconds (--seconds) give more requests"
        )
    return BenchmarkReport(
        model=str(model),
        original=None if original is None else str(original),
        kind=subjects[MODEL].kind,
        signature=subjects[MODEL].signature,
        device=facts[MODEL]["device"],
        library=facts[MODEL]["library"],
        inputs=inputs,
        queued=queued,
        seconds=seconds,
        warm_up=warm_up,
        max_latency_ms=max_latency_ms,
        first={role: FirstResult(**found["first"]) for role, found in results.items()},
        cells=cells,
        notes=tuple(notes),
    )


def _check(
    concurrency: Sequence[int],
    batch_sizes: Sequence[int] | None,
    queued: int,
    seconds: float,
    warm_up: float,
    max_latency_ms: float | None,
    inputs: str,
    seed: int,
) -> None:
    if inputs not in INPUTS:
        raise MeasureError(f"inputs is {inputs!r}; it is one of {', '.join(INPUTS)}")
    if seed < 0:
        raise MeasureError(f"seed is {seed}; it cannot be negative")
    counts = {"concurrency": concurrency, "batch_sizes": batch_sizes, "queued": [queued]}
    for name, values in counts.items():
        if values is not None and (not values or min(values) < 1):
            raise MeasureError(f"{name} is {values}; each number is at least 1, and there is one")
        if values is not None and len(set(values)) < len(values):
            raise MeasureError(f"{name} is {values}; each number comes once")
    for name, value in (("seconds", seconds), ("max_latency_ms", max_latency_ms)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise MeasureError(f"{name} is {value}; it is a finite number above 0")
    if not (math.isfinite(warm_up) and warm_up >= 0):
        raise MeasureError(f"warm_up is {warm_up}; it is a finite number of seconds, at least 0")


def _wanted(
    cells: Iterable[Sequence[Batch]],
    specs: Mapping[str, InputSpec],
    concurrency: Sequence[int],
    work: Path,
) -> list[_Wanted]:
    """Each cell with each number of callers; the batches go into files of `work`."""
    wanted = []
    for number, batches in enumerate(cells):
        folder = work / f"cell{number}"
        write_spool(folder, batches, "The batches of a benchmark")
        shapes = shapes_of(batches[0])
        items = items_of(specs, shapes)
        wanted += [_Wanted(shapes, items, str(folder), callers) for callers in concurrency]
    return wanted


def _engines_run(subject: Subject, wanted: Sequence[_Wanted], shown: Progress) -> list[str]:
    """Notes about engines that are built at the first request. EngineError if TensorFlow runs in
    place of an engine. The log that tells costs time, so this has a process of its own."""
    if not subject.has_engines:
        return []
    files = {cell.folder: (cell.shapes, spool_files(cell.folder)[0]) for cell in wanted}
    requests = [Request(subject.signature, given, str(file)) for given, file in files.values()]
    with shown.step(f"looking which engines of {subject.given} run"):
        report = fresh_check(Path(subject.path), requests, subject.tags or ())
    native = [
        f"{format_shape_set(run.shapes)}: {', '.join(run.native)}"
        for run in report.runs
        if run.native
    ]
    if native:
        raise EngineError(
            f"{subject.given}: TensorFlow ran in place of engines, so that times would say nothing "
            "of TensorRT:\n  " + "\n  ".join(native) + "\nGive shapes that the model was converted "
            "for (--shape, --batch; `trt-convert inspect` shows them), or convert it for these"
        )
    return [
        f"{subject.given} built {', '.join(run.built)} for {format_shape_set(run.shapes)} at the "
        "first request, which is no part of the figures"
        for run in report.runs
        if run.built
    ]


def _commands(
    number: int, cell: _Wanted, queued: int, seconds: float, warm_up: float
) -> list[dict[str, Any]]:
    """The warm-up and the rounds of one cell."""
    warm = {"cell": number, "seconds": warm_up, "least": cell.callers * queued, "warm_up": True}
    least = -(-LEAST_REQUESTS // ROUNDS)
    turn = {"cell": number, "seconds": seconds / ROUNDS, "least": least, "warm_up": False}
    return [warm, *[turn] * ROUNDS]


def _cells(wanted: Sequence[_Wanted], results: Mapping[str, Any]) -> tuple[Cell, ...]:
    figures = {
        role: [Figures.from_json(values) for values in found["cells"]]
        for role, found in results.items()
    }
    return tuple(
        Cell(
            cell.shapes,
            cell.items,
            cell.callers,
            figures[MODEL][number],
            figures[ORIGINAL][number] if ORIGINAL in figures else None,
        )
        for number, cell in enumerate(wanted)
    )
