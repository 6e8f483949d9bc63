"""The report of `benchmark` as one HTML page: no script, and nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import PurePath

from converters.measure.benchmark_data import BenchmarkData, Cell, callers_text
from converters.measure.benchmark_text import best_text, conditions, first_text, table, title
from converters.measure.figures import Figures
from converters.measure.line_chart import Line, line_chart, short_number
from converters.report import html_report
from converters.util.shapes import format_shape_set


def benchmark_page(report: BenchmarkData) -> str:
    """The whole page. Every name in it is escaped: names come from the model."""
    name = PurePath(report.model).name or report.model
    verdict = best_text(report) if report.max_latency_ms is not None else ""
    header = (
        f'<header>\n<p class="kicker">Latency and throughput</p>\n<h1>{escape(name)}</h1>\n'
        f'<p class="path">{escape(title(report))}</p>\n'
        f'<p class="verdict">{escape(verdict[:1].upper() + verdict[1:])}</p>\n</header>\n'
    )
    heads, rows = table(report)
    html_rows = [_row(row) for row in rows]
    body = [
        header,
        _cards(report),
        html_report.section("Items per second", _chart(report, "items/s", lambda f: f.items_per_s)),
        html_report.section(
            "Median latency", _chart(report, "milliseconds", lambda f: f.latency_ms.median)
        ),
        html_report.section(
            "All cells",
            f'<div class="panel scroll">{html_report.table(heads, html_rows)}</div>',
        ),
        html_report.section("How it was measured", _notes(report)),
    ]
    return html_report.page(f"{name}: latency and throughput", "".join(body))


def _row(cells: list[str]) -> str:
    first, *rest = cells
    numbers = "".join(f'<td class="num">{escape(text)}</td>' for text in rest)
    return f'<tr><td class="mono">{escape(first)}</td>{numbers}</tr>'


def _cards(report: BenchmarkData) -> str:
    fastest = max(report.cells, key=lambda cell: cell.model.items_per_s)
    quickest = min(report.cells, key=lambda cell: cell.model.latency_ms.median)
    cards = [
        (short_number(fastest.model.items_per_s), f"items/s at most: {_where(fastest)}"),
        (f"{quickest.model.latency_ms.median:.4g} ms", f"least median: {_where(quickest)}"),
        (f"{report.first['model'].total_s:.2f} s", "to the first result"),
    ]
    if fastest.speed_up is not None:
        cards.insert(1, (f"{fastest.speed_up:.2f}\u00d7", "the original's items/s there"))
    return html_report.cards_row(cards)


def _where(cell: Cell) -> str:
    return f"batch {cell.batch}, {callers_text(cell.callers)}"


def _chart(report: BenchmarkData, unit: str, value: Callable[[Figures], float]) -> str:
    """Over batches, a line for each number of callers; over callers if there is one shape."""
    shapes = [dict(cell.shapes) for cell in report.cells]
    one_shape = all(found == shapes[0] for found in shapes)
    batches = [cell.batch for cell in report.cells]
    unique = len({format_shape_set(found) for found in shapes}) == len(set(batches))
    lines: dict[tuple[str, bool], dict[str, float]] = {}
    places: dict[str, None] = {}
    for cell in report.cells:
        place = str(cell.batch) if unique else format_shape_set(cell.shapes)
        name = callers_text(cell.callers)
        if one_shape:
            place, name = str(cell.callers), format_shape_set(cell.shapes)
        places[place] = None
        lines.setdefault((name, False), {})[place] = value(cell.model)
        if cell.original is not None:
            lines.setdefault((name, True), {})[place] = value(cell.original)
    names = list(dict.fromkeys(name for name, _ in lines))
    drawn = [
        Line(f"{name}, original" if original else name, values, names.index(name), original)
        for (name, original), values in lines.items()
    ]
    axis = "callers" if one_shape else "batch" if unique else "shapes"
    chart = line_chart(list(places), drawn, axis, f"{unit} by {axis}")
    return f'<div class="panel scroll"><h3>{escape(unit)}</h3>{chart}</div>'


def _notes(report: BenchmarkData) -> str:
    first = [first_text(role, one) for role, one in report.first.items()]
    notes = [conditions(report), *first, *report.notes]
    items = "".join(f"<li>{escape(note[:1].upper() + note[1:])}.</li>" for note in notes)
    return f'<div class="panel small"><ul class="notes">{items}</ul></div>'
