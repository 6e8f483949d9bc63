"""The report of `profile` as one HTML page: no script, and nothing is loaded from elsewhere."""

from __future__ import annotations

from html import escape
from pathlib import PurePath

from converters.measure.profile_data import ComparedLayers, LayerProfile, ProfileData, layers_of
from converters.measure.profile_text import (
    COMPARED_HEADS,
    HEADS,
    NO_NODES,
    by_precision,
    compared_row,
    engine_title,
    layer_row,
    profile_conditions,
    profile_title,
)
from converters.report import html_report

_COLOURS = 8


def profile_page(report: ProfileData) -> str:
    """The whole page. Every name in it is escaped: names come from the model."""
    name = PurePath(report.model).name or report.model
    header = (
        f'<header>\n<p class="kicker">Layers</p>\n<h1>{escape(name)}</h1>\n'
        f'<p class="path">{escape(profile_title(report))}</p>\n'
        f'<p class="verdict">{escape(_sentence(profile_conditions(report)))}</p>\n</header>\n'
    )
    body = [
        header,
        _cards(report),
        html_report.section("Time by type", _shares(report)),
        html_report.section("Side by side", _comparison(report)),
        html_report.section("Layers", _engines(report)),
        html_report.section("How it was measured", _notes(report)),
    ]
    return html_report.page(f"{name}: layers", "".join(body))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _cards(report: ProfileData) -> str:
    layers = layers_of(report.engines)
    if not layers:
        return ""
    ms = sum(engine.request_ms for engine in report.engines)
    slowest = max(layers, key=lambda layer: layer.ms)
    formats = sum(layer.share for layer in layers if layer.changes_format)
    cards = [
        (f"{ms:.4g} ms", "of a request in engines"),
        (str(len(layers)), "layers"),
        (f"{100 * slowest.share:.1f} %", f"in the slowest layer: {_what(slowest)}"),
        (f"{100 * formats:.1f} %", "in changes of format"),
    ]
    original = sum(engine.request_ms for engine in report.original_engines)
    if original:
        cards.insert(1, (f"{original / ms:.2f}\u00d7", "as fast as the original's engines"))
    return html_report.cards_row(cards)


def _what(layer: LayerProfile) -> str:
    return " + ".join(layer.ops) or layer.kind or layer.name


def _shares(report: ProfileData) -> str:
    """One bar with a piece for each type."""
    pieces = [
        (name, f"{100 * share:.1f} %", share, f"var(--e{place % _COLOURS})")
        for place, (name, share) in enumerate(by_precision(report).items())
    ]
    return html_report.stacked_bar("shares of time by type", pieces) if pieces else ""


def _engines(report: ProfileData) -> str:
    heads = [head[:1].upper() + head[1:] for head in HEADS if head != "format"]
    parts = []
    for engine in report.engines:
        most = max(layer.ms for layer in engine.layers) or 1.0
        rows = "".join(_row(layer, layer.ms / most) for layer in engine.layers)
        title = f"<h3>{escape(engine_title(engine))}</h3>"
        parts.append(f'<div class="panel scroll">{title}{html_report.table(heads, [rows])}</div>')
    return "\n".join(parts)


def _row(layer: LayerProfile, length: float) -> str:
    ms, share, kind, precision, _, ops, nodes = layer_row(layer)
    mark = f" {html_report.tag('format', 'tag why')}" if layer.changes_format else ""
    colour = "var(--c0)" if layer.changes_format else "var(--e0)"
    return (
        f'<tr><td class="num">{ms}</td>'
        f'<td class="bar">{html_report.share_bar(share, length, colour)}</td>'
        f'<td class="mono" title="{escape(layer.name)}">{escape(kind)}{mark}</td>'
        f"<td>{html_report.tag(precision)}</td><td>{escape(ops)}</td>"
        f'<td class="mono nodes">{html_report.node_lines(nodes)}</td></tr>\n'
    )


def _comparison(report: ProfileData) -> str:
    if not report.comparison:
        return ""
    heads = [head[:1].upper() + head[1:] for head in COMPARED_HEADS]
    rows = [_compared(row) for row in report.comparison]
    return f'<div class="panel scroll">{html_report.table(heads, rows)}</div>'


def _compared(row: ComparedLayers) -> str:
    *numbers, precision, original, ops, nodes = compared_row(row)
    figures = "".join(f'<td class="num">{escape(number)}</td>' for number in numbers)
    style = "small" if nodes == NO_NODES else "mono nodes"
    return (
        f"<tr>{figures}<td>{html_report.tag(precision)}</td><td>{html_report.tag(original)}</td>"
        f'<td>{escape(ops)}</td><td class="{style}">{html_report.node_lines(nodes)}</td></tr>'
    )


def _notes(report: ProfileData) -> str:
    titles = [engine_title(engine) for engine in report.original_engines]
    notes = [f"{report.original}: {title}" for title in titles]
    notes += [f"trace: {file}" for file in report.trace]
    notes += report.notes
    items = [escape(_sentence(note)) for note in notes]
    if report.nsys:  # a command to copy, so no sentence
        items.append(f"With Nsight Systems: <code>{escape(report.nsys)}</code>")
    shown = "".join(f"<li>{item}</li>" for item in items)
    return f'<div class="panel small"><ul class="notes">{shown}</ul></div>' if shown else ""
