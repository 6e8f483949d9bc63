"""A signature's graph as inline SVG for the HTML report; its style is in report_style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from converters.report.html_style import ENGINE_COLOURS
from converters.report.report_data import Box, Drawing
from converters.report.svg_layout import Layout, Place, layout

# More than this would be a picture that nobody reads, and slow to lay out.
MOST_BOXES = 400
_TITLE_WIDTH, _LINE_WIDTH = 8.6, 6.2  # of a character, in pixels
_LINE_HEIGHT = 16.0
_PADDING = 12.0
_MOST_CHARACTERS = 34
_CLASSES = {"engine": "engine", "left out": "left", "input": "io", "output": "io"}


def drawing_svg(drawing: Drawing, number: int) -> str:
    """The drawing as an <svg> element; `number` makes its ids unique in the page."""
    sizes = {box.key: _size(box) for box in drawing.boxes}
    placed = layout(sizes, drawing.edges)
    marker = f"arrow{number}"
    parts = [
        f'<svg class="graph" role="img" width="{placed.width:.0f}" height="{placed.height:.0f}" '
        f'viewBox="0 0 {placed.width:.0f} {placed.height:.0f}" '
        f'aria-label="graph of {escape(drawing.signature or "the model")}">',
        f'<defs><marker id="{marker}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
        *_edges(placed, marker),
        *(_box(box, placed.places[box.key]) for box in drawing.boxes),
        "</svg>",
    ]
    return "\n".join(parts)


def engine_colour(place: int) -> str:
    """The CSS colour of an engine by its place in the report."""
    return f"var(--e{place % ENGINE_COLOURS})"


def _size(box: Box) -> tuple[float, float]:
    shown = [_short(line) for line in box.lines]
    text = max(
        [len(_short(box.title)) * _TITLE_WIDTH, *(len(line) * _LINE_WIDTH for line in shown)]
    )
    height = 2 * _PADDING + _LINE_HEIGHT * (1 + len(shown))
    if box.kind == "engine":
        # A large engine looks large, but a graph of 10 000 nodes still fits.
        height += min(90.0, 5.0 * math.sqrt(box.nodes))
        return max(text + 3 * _PADDING, 190.0), height
    if box.kind in ("input", "output"):
        return text + 3 * _PADDING, height - _PADDING
    return text + 2 * _PADDING, height - _PADDING


def _short(text: str) -> str:
    """A long name keeps its end, which tells nodes apart; any other text its beginning."""
    if len(text) <= _MOST_CHARACTERS:
        return text
    if "/" in text and " " not in text:
        return "\u2026" + text[1 - _MOST_CHARACTERS :]
    return text[: _MOST_CHARACTERS - 1] + "\u2026"


def _box(box: Box, place: Place) -> str:
    radius = place.height / 2 if box.kind in ("input", "output") else 9.0
    style = f' style="fill:{engine_colour(box.engine)}"' if box.kind == "engine" else ""
    middle = place.x + place.width / 2
    top = place.y + place.height / 2 - _LINE_HEIGHT * len(box.lines) / 2
    hint = escape("\n".join((box.title, *box.lines)))
    text = [
        f'<text class="t" x="{middle:.1f}" y="{top + 4:.1f}">{escape(_short(box.title))}</text>'
    ]
    for i, line in enumerate(box.lines, 1):
        y = top + 4 + i * _LINE_HEIGHT
        text.append(f'<text class="m" x="{middle:.1f}" y="{y:.1f}">{escape(_short(line))}</text>')
    return (
        f'<g class="{_CLASSES[box.kind]}"><title>{hint}</title>'
        f'<rect x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="{min(radius, 18.0):.1f}"{style}/>{"".join(text)}</g>'
    )


def _edges(placed: Layout, marker: str) -> list[str]:
    return [
        f'<path d="{_curve(points)}" marker-end="url(#{marker})"/>'
        for points in placed.paths.values()
    ]


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """A curve through the points that leaves and enters each of them upright."""
    (x, y), *rest = points
    d = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        bend = (to_y - y) / 2
        d.append(f"C{x:.1f} {y + bend:.1f} {to_x:.1f} {to_y - bend:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return "".join(d)
