"""Draws a signature's graph as inline SVG for the HTML report; html_report.py has its style.

`layout` places boxes in layers from top to bottom, after Sugiyama, Tagawa and Toda (1981): layers
by longest path, long edges through waypoints, order within a layer by barycentres, and places
across by least squares with a least distance (pool adjacent violators).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from converters.report.report_data import Box, Drawing

# How many colours the page's style has: --e0 to --e7.
ENGINE_COLOURS = 8
# A drawing with more boxes is unreadable and slow to lay out.
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
    """A long name keeps its end, where names differ; any other long text keeps its beginning."""
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
    """A curve through the points that is vertical at each of them."""
    (x, y), *rest = points
    d = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        bend = (to_y - y) / 2
        d.append(f"C{x:.1f} {y + bend:.1f} {to_x:.1f} {to_y - bend:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return "".join(d)


_SWEEPS = 12
_GAP_X, _GAP_Y = 28.0, 46.0
_WAYPOINT = 14.0


@dataclass
class _Node:
    """A box or a waypoint of an edge."""

    width: float
    height: float
    layer: int = 0
    x: float = 0.0  # centre
    y: float = 0.0  # top
    above: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where a box is: its left, its top, and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """Places of boxes, and for each edge the points it runs through, from source to target."""

    width: float
    height: float
    places: Mapping[str, Place]
    paths: Mapping[tuple[str, str], Sequence[tuple[float, float]]]


def layout(sizes: Mapping[str, tuple[float, float]], edges: Sequence[tuple[str, str]]) -> Layout:
    """Lays out boxes of `sizes` (width, height) joined by `edges`; loops are allowed."""
    nodes = {key: _Node(width, height) for key, (width, height) in sizes.items()}
    joined = [edge for edge in dict.fromkeys(edges) if edge[0] != edge[1]]
    backwards = _backwards(list(nodes), joined)
    directed = {e: (e[1], e[0]) if e in backwards else e for e in joined}
    _layers(nodes, list(directed.values()))
    chains = {edge: _chain(nodes, *path) for edge, path in directed.items()}
    last = max((node.layer for node in nodes.values()), default=0)
    layers: list[list[str]] = [[] for _ in range(last + 1)]
    for key, node in nodes.items():
        layers[node.layer].append(key)
    _order(nodes, layers)
    _across(nodes, layers)
    return _measured(nodes, layers, sizes, chains, backwards)


def _backwards(keys: list[str], edges: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Edges that close a loop when boxes are walked depth first."""
    after: dict[str, list[str]] = {key: [] for key in keys}
    for source, target in edges:
        after[source].append(target)
    state: dict[str, int] = {}  # 1 while walking below it, 2 when done
    found = set()
    for start in keys:
        stack = [] if start in state else [(start, iter(after[start]))]
        state.setdefault(start, 1)
        while stack:
            key, rest = stack[-1]
            for target in rest:
                if state.get(target) == 1:
                    found.add((key, target))
                elif target not in state:
                    state[target] = 1
                    stack.append((target, iter(after[target])))
                    break
            else:
                state[key] = 2
                stack.pop()
    return found


def _layers(nodes: dict[str, _Node], edges: list[tuple[str, str]]) -> None:
    missing = dict.fromkeys(nodes, 0)
    after: dict[str, list[str]] = {key: [] for key in nodes}
    for source, target in edges:
        after[source].append(target)
        missing[target] += 1
    order = [key for key, count in missing.items() if count == 0]
    firsts = set(order)
    for key in order:
        for target in after[key]:
            nodes[target].layer = max(nodes[target].layer, nodes[key].layer + 1)
            missing[target] -= 1
            if missing[target] == 0:
                order.append(target)
    # A box without a predecessor is placed right above the first box that it feeds.
    for key in firsts:
        if after[key]:
            nodes[key].layer = min(nodes[target].layer for target in after[key]) - 1


def _chain(nodes: dict[str, _Node], source: str, target: str) -> list[str]:
    """Joins two boxes, through a waypoint in each layer between; returns the keys on the way."""
    keys = [source]
    for layer in range(nodes[source].layer + 1, nodes[target].layer):
        key = f"\0{source}\0{target}\0{layer}"
        nodes[key] = _Node(_WAYPOINT, 0.0, layer)
        keys.append(key)
    keys.append(target)
    for above, below in zip(keys, keys[1:]):
        nodes[above].below.append(below)
        nodes[below].above.append(above)
    return keys


def _order(nodes: dict[str, _Node], layers: list[list[str]]) -> None:
    place = {key: float(i) for layer in layers for i, key in enumerate(layer)}

    def centre(key: str, others: list[str]) -> float:
        return sum(place[other] for other in others) / len(others) if others else place[key]

    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            wanted = {
                key: centre(key, nodes[key].above if downwards else nodes[key].below)
                for key in layer
            }
            layer.sort(key=lambda key: wanted[key])
            for i, key in enumerate(layer):
                place[key] = float(i)


def _across(nodes: dict[str, _Node], layers: list[list[str]]) -> None:
    for layer in layers:
        x = 0.0
        for key in layer:
            nodes[key].x = x + nodes[key].width / 2
            x += nodes[key].width + _GAP_X
    for sweep in range(2 * _SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            wanted = []
            for key in layer:
                node = nodes[key]
                others = node.above if downwards else node.below
                others = others or node.above + node.below
                xs = [nodes[other].x for other in others] or [node.x]
                wanted.append(sum(xs) / len(xs))
            for key, x in zip(layer, _spread(wanted, [nodes[key].width for key in layer])):
                nodes[key].x = x


def _spread(wanted: list[float], widths: list[float]) -> list[float]:
    """The centres nearest to the wanted ones that keep the order and the least distance."""
    offsets, at = [], 0.0
    for i, width in enumerate(widths):
        at += (widths[i - 1] + width) / 2 + _GAP_X if i else 0.0
        offsets.append(at)
    # After subtracting the offsets, only the order matters: neighbours out of order are pooled.
    pools: list[list[float]] = []  # sum, count
    for want, offset in zip(wanted, offsets):
        pools.append([want - offset, 1.0])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            total, count = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += count
    centres = [total / count for total, count in pools for _ in range(int(count))]
    return [centre + offset for centre, offset in zip(centres, offsets)]


def _measured(
    nodes: dict[str, _Node],
    layers: list[list[str]],
    sizes: Mapping[str, tuple[float, float]],
    chains: Mapping[tuple[str, str], list[str]],
    backwards: set[tuple[str, str]],
) -> Layout:
    left = min((node.x - node.width / 2 for node in nodes.values()), default=0.0) - _GAP_X
    right = max((node.x + node.width / 2 for node in nodes.values()), default=0.0) + _GAP_X
    y = _GAP_X
    for layer in layers:
        tallest = max((nodes[key].height for key in layer), default=0.0)
        for key in layer:
            node = nodes[key]
            node.x -= left
            node.y = y + (tallest - node.height) / 2
        y += tallest + _GAP_Y
    places = {
        key: Place(nodes[key].x - width / 2, nodes[key].y, width, height)
        for key, (width, height) in sizes.items()
    }
    paths = {}
    for edge, keys in chains.items():
        first, last = nodes[keys[0]], nodes[keys[-1]]
        points = [(first.x, first.y + first.height)]
        points += [(nodes[key].x, nodes[key].y) for key in keys[1:-1]]
        points.append((last.x, last.y))
        paths[edge] = points[::-1] if edge in backwards else points
    return Layout(right - left, y - _GAP_Y + _GAP_X, places, paths)
