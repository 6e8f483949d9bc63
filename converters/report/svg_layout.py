"""Places boxes in layers from top to bottom, after Sugiyama, Tagawa and Toda (1981).

Layers by longest path, long edges through waypoints, order within a layer by barycentres, and
places across by least squares with a least distance (pool adjacent violators).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
    """Lays out boxes of `sizes` (width, height) joined by `edges`; loops are taken as they come."""
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
    # What nothing precedes stands right above what it feeds.
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
    """The centres nearest to those wanted, in the same order, that keep their distance."""
    offsets, at = [], 0.0
    for i, width in enumerate(widths):
        at += (widths[i - 1] + width) / 2 + _GAP_X if i else 0.0
        offsets.append(at)
    # Without the offsets, keeping distance is keeping order: neighbours out of order are pooled.
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
