"""Lines over named places as inline SVG, in the style of report/html_report.py."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from converters.report.graph_svg import engine_colour

_WIDTH, _HEIGHT = 520.0, 280.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 16.0, 40.0
_TICKS = 4
_TEXT = 'style="text-anchor:{anchor}" class="m"'


@dataclass(frozen=True)
class Line:
    """`values` has numbers by place, all at least 0; places without one are left out. A `dashed`
    line has the colour of its `colour` number."""

    name: str
    values: Mapping[str, float]
    colour: int
    dashed: bool = False


def line_chart(places: Sequence[str], lines: Sequence[Line], axis: str, label: str) -> str:
    """The chart as an <svg> element with a legend below. `axis` names the places and `label` the
    chart with its unit; the values begin at 0."""
    top = _round_up(max((value for line in lines for value in line.values.values()), default=1.0))
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(places))
    x = {place: _LEFT + step * (i + 0.5) for i, place in enumerate(places)}

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value / top)

    parts = [
        f'<svg class="graph" role="img" width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}" '
        f'viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" aria-label="{escape(label)}">'
    ]
    for i in range(_TICKS + 1):
        value = top * i / _TICKS
        parts.append(
            f'<path d="M{_LEFT:.0f} {y(value):.1f}H{_WIDTH - _RIGHT:.0f}" '
            'style="stroke:var(--line)"/>'
            f'<text {_TEXT.format(anchor="end")} x="{_LEFT - 8:.0f}" y="{y(value) + 4:.1f}">'
            f"{short_number(value)}</text>"
        )
    for place, at in x.items():
        parts.append(
            f'<text {_TEXT.format(anchor="middle")} x="{at:.1f}" y="{_HEIGHT - 22:.0f}">'
            f"{escape(place)}</text>"
        )
    parts.append(
        f'<text {_TEXT.format(anchor="middle")} x="{(_LEFT + _WIDTH - _RIGHT) / 2:.1f}" '
        f'y="{_HEIGHT - 5:.0f}">{escape(axis)}</text>'
    )
    for line in lines:
        points = [(x[place], y(line.values[place])) for place in places if place in line.values]
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
        dash = ";stroke-dasharray:5 4" if line.dashed else ""
        colour = engine_colour(line.colour)
        parts.append(f'<path d="M{path}" style="stroke:{colour};stroke-width:2{dash}"/>')
        for place, value in line.values.items():
            parts.append(
                f'<circle cx="{x[place]:.1f}" cy="{y(value):.1f}" r="3.5" style="fill:{colour}">'
                f"<title>{escape(f'{line.name}, {axis} {place}: {short_number(value)}')}</title>"
                "</circle>"
            )
    parts.append("</svg>")
    return "\n".join(parts) + _legend(lines)


def _legend(lines: Sequence[Line]) -> str:
    items = []
    for line in lines:
        colour = engine_colour(line.colour)
        look = f"border:2px dashed {colour}" if line.dashed else f"background:{colour}"
        items.append(
            f'<li><span class="swatch" style="{look}"></span>{escape(line.name)}</li>',
        )
    return f'<ul class="legend">{"".join(items)}</ul>'


def short_number(value: float) -> str:
    """Four digits, and no exponent for large numbers: 0.4097, 12.5, 22477."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def _round_up(value: float) -> float:
    """The next of these factors times a power of ten, so that the ticks are round."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    factors = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10)
    return next(power * factor for factor in factors if value <= power * factor)
