"""Writes the tables of benchmarks/results/*.json into docs/benchmarks.md, between their markers.

    python -m benchmarks.tables.claims_table [--check]

`--check` changes nothing and exits with 1 if the page does not show the present results.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.harness.clips import RESULTS, ROOT
from benchmarks.run_all import SCRIPTS
from benchmarks.tables import pages

PLOT = ROOT / "docs" / "benchmarks.svg"
BEGIN = "<!-- benchmarks: written by benchmarks/tables/claims_table.py -->"
END = "<!-- /benchmarks -->"
OURS = peers.OURS


def load(folder: Path) -> list[dict[str, Any]]:
    """Loads the claims' result documents in the order of SCRIPTS, then others in the folder."""
    documents = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    # A result without cases, as that of first_touch, measures the machine and is no claim.
    documents = [document for document in documents if "cases" in document]
    order = {name: place for place, name in enumerate(SCRIPTS)}
    return sorted(documents, key=lambda document: order.get(document["name"], len(order)))


def render(documents: list[dict[str, Any]]) -> str:
    """Returns Markdown: a table for each claim, a row for each case, a column for each peer."""
    if not documents:
        return "No results yet: `make bench` measures and fills this in."
    parts = pages.plot_line(PLOT, "speed beside other libraries on the CPU", pages.SPEED)
    for document in documents:
        measured = [
            row["peer"]
            for case in document["cases"]
            for row in case["rows"]
            if row["value"] is not None
        ]
        names = sorted(set(measured), key=lambda name: (not peers.is_ours(name), name))
        lines = [
            f"**{document['title']}**",
            "",
            "| case | unit | " + " | ".join(names) + " |",
            "|---|---|" + "---:|" * len(names),
        ]
        for case in document["cases"]:
            rows = {row["peer"]: row for row in case["rows"]}
            cells = [_cell(rows.get(name), case["unit"]) for name in names]
            lines.append(f"| {case['case']} | {case['unit']} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, _footer(documents)])


def _cell(row: dict[str, Any] | None, unit: str) -> str:
    if row is None or row["value"] is None:
        return "-"
    value = pages.shown(row["value"])
    if peers.is_ours(row["peer"]):
        return f"**{value}**"
    notes = " wrong frames" if row["note"].startswith("WRONG") else ""
    # The ratio is that of times, which a table of memory does not show.
    ratio = None if unit == "MB" else row.get("ours_is_times_as_fast")
    return f"{value}{notes}" + (f" ({ratio:.2f}x)" if ratio is not None else "")


def _footer(documents: list[dict[str, Any]]) -> str:
    machine = documents[0]["machine"]
    for key in ("cpu", "cores", "system", "date"):
        found = {str(document["machine"][key]): document["name"] for document in documents}
        if len(found) > 1:
            raise SystemExit(
                f"results of several machines or days ({found}): `make bench` measures all anew"
            )
    rounds = max(document["rounds"] for document in documents)
    versions: dict[str, str] = {}
    for document in documents:
        versions.update(document["peers"])
    named = ", ".join(f"{peer} {version}" for peer, version in sorted(versions.items()))
    return (
        f"Medians of {rounds} rounds (memory: one) on {machine['cpu']}, {machine['cores']} cores,"
        f" {machine['system']}, FFmpeg {machine['ffmpeg']}, {machine['date']}. The brackets say how"
        f" many times as fast tf_nvcodec is.{_memory_note(documents)}"
        f" Versions: {named}."
    )


def _memory_note(documents: list[dict[str, Any]]) -> str:
    """Returns a note that says above what the figures in MB are."""
    loaded = [
        row["loaded_mb"]
        for document in documents
        for case in document["cases"]
        for row in case["rows"]
        if row["peer"] == OURS and "loaded_mb" in row
    ]
    if not loaded:
        return ""
    return (
        " MB count what decoding needs beside the imported libraries; tf_nvcodec with TensorFlow"
        f" takes {max(loaded):.0f} MB to import."
    )


if __name__ == "__main__":
    table = render(load(RESULTS))
    what = __doc__.splitlines()[0]
    sys.exit(pages.write("benchmarks.tables.claims_table", what, pages.SPEED, table, BEGIN, END))
