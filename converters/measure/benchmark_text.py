"""The rows of a benchmark, and its report as plain text."""

from __future__ import annotations

from converters.measure.benchmark_data import BenchmarkData, Cell, FirstResult, cell_name
from converters.measure.figures import Figures
from converters.report.text_report import bytes_text, table_lines
from converters.util.shapes import format_shape_set


def benchmark_text(report: BenchmarkData) -> str:
    """All of the report in plain text."""
    heads, rows = table(report)
    lines = [title(report), conditions(report), "", *table_lines([heads, *rows]), ""]
    lines += [first_text(role, first) for role, first in report.first.items()]
    lines += [best_text(report)] if report.max_latency_ms is not None else []
    lines += [f"note: {note}" for note in report.notes]
    return "\n".join(lines)


def title(report: BenchmarkData) -> str:
    """What was measured, and where."""
    against = f", against {report.original}" if report.original else ""
    signature = f", signature {report.signature}" if report.signature else ""
    return f"{report.model}{against}: {report.library} on {report.device}{signature}"


def conditions(report: BenchmarkData) -> str:
    """How it was measured, in one sentence."""
    where = {
        "device": "inputs are in the device's memory before a request begins",
        "host": "each request copies its inputs from the host",
    }[report.inputs]
    return (
        f"at least {report.seconds:g} s a cell after {report.warm_up:g} s of warm-up, "
        f"{report.queued} request{'' if report.queued == 1 else 's'} in flight for each caller; "
        f"{where}, and a request ends when its outputs are on the host"
    )


def table(report: BenchmarkData) -> tuple[list[str], list[list[str]]]:
    """The heads and the rows of the table; a compared cell has a row for each model."""
    gpu = any(f.gpu_ms for cell in report.cells for _, f in _sides(cell))
    memory = any(f.memory for cell in report.cells for _, f in _sides(cell))
    compared = report.original is not None
    heads = ["shapes", "callers"] + (["model"] if compared else [])
    heads += ["requests", "items/s", "mean ms", "median ms", "p95 ms", "p99 ms"]
    heads += (["GPU median ms"] if gpu else []) + ["scaling"] + (["speed-up"] if compared else [])
    heads += ["memory held", "memory peak"] if memory else []
    rows = []
    for cell in report.cells:
        for role, figures in _sides(cell):
            own = role == "model"
            row = [format_shape_set(cell.shapes), str(cell.callers)] + ([role] if compared else [])
            row += _numbers(figures)
            if gpu:
                row.append(f"{figures.gpu_ms.median:.3f}" if figures.gpu_ms else "-")
            row.append(f"{report.scaling(cell):.2f}" if own else "-")
            if compared:
                row.append(f"{cell.speed_up:.2f}" if own else "-")
            if memory:
                use = figures.memory
                row += [bytes_text(use.held), bytes_text(use.peak)] if use else ["-", "-"]
            rows.append(row)
    return heads, rows


def first_text(role: str, first: FirstResult) -> str:
    """The time to the first result."""
    return (
        f"{role}: first result after {first.total_s:.2f} s (import {first.import_s:.2f}, load "
        f"{first.load_s:.2f}, first request {first.request_s:.2f} s)"
    )


def best_text(report: BenchmarkData) -> str:
    """The cell with the most items per second within the limit, in one sentence."""
    limit = f"within {report.max_latency_ms:g} ms (p99)"
    if report.best is None:
        return f"best {limit}: none; the smallest p99 is {_smallest_p99(report):.3f} ms"
    cell = report.cells[report.best]
    return (
        f"best {limit}: batch {cell.batch} ({cell_name(cell)}), "
        f"{cell.model.items_per_s:.1f} items/s, p99 {cell.model.latency_ms.p99:.3f} ms"
    )


def _smallest_p99(report: BenchmarkData) -> float:
    return min(cell.model.latency_ms.p99 for cell in report.cells)


def _sides(cell: Cell) -> list[tuple[str, Figures]]:
    sides = [("model", cell.model)]
    return sides if cell.original is None else [*sides, ("original", cell.original)]


def _numbers(figures: Figures) -> list[str]:
    latency = figures.latency_ms
    times = (latency.mean, latency.median, latency.p95, latency.p99)
    return [str(figures.requests), f"{figures.items_per_s:.1f}", *(f"{ms:.3f}" for ms in times)]
