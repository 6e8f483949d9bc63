"""Prints the results of tftrt_convert.py as Markdown, a table for each network.

python -m benchmarks.tables.tftrt_table benchmarks/results/h200/tftrt_convert.json
python -m benchmarks.tables.tftrt_table --overview 8 guide/tftrt_convert.json  # a row a network
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.converters.tftrt_jobs import AGAIN, ENGINES, NATIVE, OURS, STOCK

PRECISIONS = ("FP32", "FP16", "INT8")

Row = dict[str, Any]


def tables(rows: list[Row]) -> str:
    """Returns Markdown, with this package's figures in bold.

    Native TensorFlow is measured beside each precision, so its figures are a range. "-" was not
    measured, "failed" could not be measured, and a star marks a conversion that ran beside others.
    """
    models = dict.fromkeys(row["model"] for row in rows)
    return "\n\n".join(_table(model, [r for r in rows if r["model"] == model]) for model in models)


def overview(rows: list[Row], batch: str) -> str:
    """Returns Markdown with a row for each network and precision that this package converted:
    what is in engines, and the latency at one batch. "-" was not measured.
    """
    heads = ["network", "precision", "nodes in engines", "engines", "native, ms", "converted, ms"]
    heads += ["faster", "converting, s"]
    lines = [heads, ["---", "---", *["---:"] * (len(heads) - 2)]]
    native = {(r["model"], r["precision"]): r for r in rows if r["peer"] == NATIVE}
    for row in rows:
        if row["peer"] != OURS:
            continue
        before = native.get((row["model"], row["precision"]), {})
        known = "nodes" in row
        line = [
            row["model"],
            row["precision"],
            f"{row['nodes_in_engines']} of {row['nodes']}" if known else "-",
            str(row["engines"]) if known else "-",
            _number(before.get("latency_ms", {}).get(batch), 2),
            _number(row.get("latency_ms", {}).get(batch), 2),
            _number(row.get("speed_up", {}).get(batch), 1),
            _number(row.get("convert_s"), 0),
        ]
        failed = [cell if cell != "-" else "failed" for cell in line]
        lines.append(failed if "error" in row else line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _table(model: str, rows: list[Row]) -> str:
    precisions = [p for p in PRECISIONS if any(row["precision"] == p for row in rows)]
    measured = {row["peer"] for row in rows}
    others = [STOCK, *(peer for peer in (AGAIN, ENGINES) if peer in measured)]
    heads = [model, NATIVE]
    for precision in precisions:
        heads += [*(f"{peer} {precision}" for peer in others), precision]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    found = {batch for row in rows for batch in row.get("latency_ms", {})}
    batches = sorted(found, key=int, reverse=True)

    def cells(figure: Callable[[Row], float | None], digits: int, star: str = "") -> list[str]:
        return _cells(rows, others, precisions, figure, digits, star)

    for name, figure in (("latency", "latency_ms"), ("queued", "queued_ms")):
        for batch in batches:
            values = cells(lambda row, f=figure, b=batch: row.get(f, {}).get(b), 2)
            lines.append([f"{name} at batch {batch}, ms", *values])
    converting = cells(lambda row: row.get("convert_s"), 0, star="at_once")
    lines.append(["converting, s", "-", *converting[1:]])
    cold = cells(lambda row: row.get("cold_start_s"), 1)
    lines.append(["first result in a fresh process, s", *cold])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(
    rows: list[Row],
    others: list[str],
    precisions: list[str],
    figure: Callable[[Row], float | None],
    digits: int,
    star: str,
) -> list[str]:
    """Returns the native cell, then those of `others` and of this package for each precision.

    The figures of rows that have the key `star` get a star.
    """

    def text(peer: str, precision: str | None = None) -> str:
        chosen = [r for r in rows if r["peer"] == peer and precision in (None, r["precision"])]
        values = sorted(value for row in chosen if (value := figure(row)) is not None)
        if not values:
            return "failed" if any("error" in row for row in chosen) else "-"
        shown = [f"{value:.{digits}f}" for value in values]
        mark = "\\*" if any(star in row for row in chosen) else ""
        return " to ".join(dict.fromkeys((shown[0], shown[-1]))) + mark

    cells = [text(NATIVE)]
    for precision in precisions:
        ours = text(OURS, precision)
        bold = f"**{ours}**" if ours[0].isdigit() else ours
        cells += [*(text(peer, precision) for peer in others), bold]
    return cells


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--overview", metavar="BATCH", help="one table, for requests of this batch")
    options = parser.parse_args()
    found = json.loads(options.file.read_text())["rows"]
    print(overview(found, options.overview) if options.overview else tables(found))
