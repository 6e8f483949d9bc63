"""What a benchmark's figures say: speed-up, scaling, and the best cell within a latency."""

from __future__ import annotations

import json
import re

import pytest
from recorded_benchmark import figures, recorded

from converters.measure import benchmark_data
from converters.measure.benchmark_data import Cell, best_within


def test_the_best_cell_has_the_most_items_per_second_within_the_limit() -> None:
    report = recorded()
    # The cell with the most items per second, 8 x 500, has a p99 of 2 ms.
    assert [cell.model.items_per_s for cell in report.cells] == [1000, 1300, 4000, 3200]
    for limit, best in ((0.9, None), (1.0, 0), (1.99, 1), (2.0, 2), (60.0, 2)):
        assert best_within(report.cells, limit) == best
        assert recorded(max_latency_ms=limit).best == best
    assert recorded(max_latency_ms=None).best is None


def test_p99_decides_not_the_median() -> None:
    slow_tail = figures(8, 1.0, 1000)
    slow_tail = type(slow_tail)(
        **{**vars(slow_tail), "latency_ms": type(slow_tail.latency_ms)(1.0, 1.0, 1.0, 9.0, 9.0)}
    )
    cells = [Cell({"x": (8, 3)}, 8, 1, slow_tail), Cell({"x": (1, 3)}, 1, 1, figures(1, 2.0, 500))]
    assert best_within(cells, 5.0) == 1


def test_speed_up_and_scaling() -> None:
    report = recorded()
    assert [cell.speed_up for cell in report.cells] == pytest.approx([2.0] * 4)
    assert [cell.latency_speed_up for cell in report.cells] == pytest.approx([2.0] * 4)
    assert [report.scaling(cell) for cell in report.cells] == pytest.approx([1.0, 1.3, 1.0, 0.8])
    alone = Cell({"x": (1, 3)}, 1, 1, figures(1, 1.0, 10))
    assert alone.speed_up is None and alone.latency_speed_up is None


def test_the_json_form_has_the_documented_keys() -> None:
    values = json.loads(json.dumps(recorded().to_json()))
    documented = benchmark_data.__doc__ or ""
    head, _, inside = documented.partition("cells             list, each with\n")
    cell_text, _, tail = inside.partition("\nbest ")

    def keys(text: str, indent: str) -> set[str]:
        rows = re.findall(rf"^{indent}(\w+(?:, \w+)*)(?=  |$)", text, re.MULTILINE)
        return {key for row in rows for key in row.split(", ")}

    assert keys(head, "") | keys("best " + tail, "") | {"cells", "best"} == set(values)
    assert keys(cell_text, "  ") == set(values["cells"][0])
    assert values["best"] == 2 and values["first"]["model"]["total_s"] == 4.5
    assert values["cells"][0]["model"]["memory"]["peak"] == 5 << 20
    assert values["cells"][0]["original"]["gpu_ms"] is None


def test_the_text_has_a_row_for_each_model_of_a_cell() -> None:
    text = str(recorded())
    rows = [re.split(r"\s{2,}", line) for line in text.splitlines() if line.startswith("x:")]
    assert len(rows) == 8
    assert rows[4][:5] == ["x:8x3", "1", "model", "500", "4000.0"]
    assert rows[4][9:] == ["1.000", "1.00", "2.00", "2.0 MiB", "5.0 MiB"]
    assert rows[5][2] == "original" and rows[5][9:] == ["-", "-", "-", "-", "-"]
    assert "best within 2 ms (p99): batch 8 (x:8x3, 1 caller), 4000.0 items/s" in text
    assert "model: first result after 4.50 s" in text and "note: it rained" in text
    none = str(recorded(max_latency_ms=0.5))
    assert "best within 0.5 ms (p99): none; the smallest p99 is 1.000 ms" in none


def test_columns_that_nobody_measured_are_left_out() -> None:
    cell = Cell({"x": (1, 3)}, 1, 1, figures(1, 1.0, 10))
    text = str(recorded(cells=(cell,), original=None, max_latency_ms=None))
    heads = next(line for line in text.splitlines() if line.startswith("shapes"))
    for word in ("GPU", "memory", "speed-up", "model"):
        assert word not in heads
    assert "best" not in text
