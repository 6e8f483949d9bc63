"""The HTML page of a benchmark and its charts."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from recorded_benchmark import recorded

from converters.measure.line_chart import Line, line_chart


def charts(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_the_page_needs_nothing_else() -> None:
    page = recorded().to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert "fast&lt;er&gt;" in page and "fast<er>" not in page
    assert not re.search(r"https?://|<script|<link|src=", page)
    assert "Best within 2 ms (p99): batch 8" in page
    assert page.count("<tr>") == 1 + 8
    assert "It rained." in page


def test_charts_have_a_line_for_each_number_of_callers_and_model() -> None:
    items, latency = charts(recorded().to_html())
    assert items.get("aria-label") == "items/s by batch"
    assert latency.get("aria-label") == "milliseconds by batch"
    titles = [title.text for title in items.iter("title")]
    assert len(titles) == 8
    assert "1 caller, batch 8: 4000" in titles
    assert "2 callers, original, batch 1: 650" in titles


def test_one_shape_is_drawn_over_callers() -> None:
    cells = recorded().cells[:2]
    items, _ = charts(recorded(cells=cells).to_html())
    assert items.get("aria-label") == "items/s by callers"
    assert "x:1x3, callers 2: 1300" in [title.text for title in items.iter("title")]


def test_larger_values_are_higher() -> None:
    lines = [Line("a", {"1": 0.0, "8": 50.0, "32": 100.0}, 0)]
    (chart,) = charts(line_chart(["1", "8", "32"], lines, "batch", "speed"))
    points = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in chart.iter("circle")]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert x0 < x1 < x2 and y0 > y1 > y2
    assert abs((y0 - y1) - (y1 - y2)) < 0.2  # the values begin at 0 and rise evenly
    assert "100" in [text.text for text in chart.iter("text")]


def test_ticks_are_round_and_above_the_largest_value() -> None:
    for largest, ticks in (
        (22477.0, ["0", "6000", "12000", "18000", "24000"]),
        (39.6, ["0", "10", "20", "30", "40"]),
        (0.115, ["0", "0.03", "0.06", "0.09", "0.12"]),
    ):
        (chart,) = charts(line_chart(["1"], [Line("a", {"1": largest}, 0)], "batch", "speed"))
        assert [text.text for text in chart.iter("text")][:5] == ticks
