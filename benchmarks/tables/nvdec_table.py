"""Writes the table of benchmarks/results/h200/nvdec_decode.json into docs/benchmarks.md.

    python -m benchmarks.tables.nvdec_table [--check]

`--check` changes nothing and exits with 1 if the page does not show the present results.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.harness import clips
from benchmarks.tables import pages

RESULTS = clips.RESULTS / "h200" / "nvdec_decode.json"
PLOT = clips.ROOT / "docs" / "nvdec.svg"
BEGIN = "<!-- gpu: written by benchmarks/tables/nvdec_table.py -->"
END = "<!-- /gpu -->"
OURS = "tf_nvcodec"
# These peers convert nothing and have no column.
NATIVE = ("tf_nvcodec native", "PyNvVideoCodec NV12")
REUSED = "PyNvVideoCodec reused"
LIMIT = "whole_14_fps"
CODECS = {"h264": "H.264", "hevc": "HEVC"}
# Name in the results, meaning, unit. With ms, less is better.
FIGURES = (
    ("whole_1_fps", "1 stream to RGB", "frames/s"),
    ("whole_7_fps", "7 streams to RGB", "frames/s"),
    ("whole_14_fps", "14 streams to RGB", "frames/s"),
    ("random_ms", "32 random frames", "ms"),
    ("first_warm_ms", "open a file, first frame", "ms"),
    ("first_named_ms", "open a file by name, first frame", "ms"),
    ("first_memory_ms", "first frame, bytes in memory", "ms"),
    ("clips_per_s", "clips of 16 at 224x224, float16", "clips/s"),
)


def ratio(ours: float | None, theirs: float | None, unit: str) -> float | None:
    """Returns how many times as fast this package is; None if one figure is missing."""
    if not ours or not theirs:
        return None
    return theirs / ours if unit == "ms" else ours / theirs


def render(document: dict[str, Any]) -> str:
    """Returns Markdown: a row for each codec and figure, a column for each peer."""
    measured = {
        name: row
        for name, row in document["peers"].items()
        if CODECS.keys() & row.keys() and name not in NATIVE
    }
    peers = [OURS, *(name for name in measured if name != OURS)]
    lines = [
        "| 1080p | unit | " + " | ".join(peers) + " |",
        "|---|---|" + "---:|" * len(peers),
    ]
    for codec, shown in CODECS.items():
        for figure, title, unit in FIGURES:
            values = {peer: measured.get(peer, {}).get(codec, {}).get(figure) for peer in peers}
            if not any(values.values()):
                continue
            cells = [_cell(values[OURS], values[peer], unit, peer == OURS) for peer in peers]
            lines.append(f"| {shown}, {title} | {unit} | " + " | ".join(cells) + " |")
    plot = pages.plot_line(PLOT, "speed beside other libraries on a GPU", pages.SPEED)
    return "\n\n".join([*plot, "\n".join(lines), _footer(document)])


def _cell(ours: float | None, value: float | None, unit: str, is_ours: bool) -> str:
    if not value:
        return "-"
    text = pages.shown(value)
    if is_ours:
        return f"**{text}**"
    times = ratio(ours, value, unit)
    return text if times is None else f"{text} ({times:.2f}x)"


def _footer(document: dict[str, Any]) -> str:
    machine = document["machine"]
    versions = ", ".join(
        f"{name} {row['version']}"
        for name, row in document["peers"].items()
        if "version" in row and name not in (*NATIVE, REUSED) and not name.startswith(f"{OURS} ")
    )
    with_figures = (row for row in document["peers"].values() if CODECS.keys() & row.keys())
    rounds = sorted({row["rounds"] for row in with_figures if "rounds" in row}) or [0]
    cores = "".join(
        f" {name} uses {row['cores']} cores."
        for name, row in document["peers"].items()
        if "cores" in row
    )
    counts = " to ".join(dict.fromkeys(str(count) for count in (rounds[0], rounds[-1])))
    taken = f"Medians of {counts} rounds on"
    reused = (
        f" {REUSED} keeps its decoders for the next file." if REUSED in document["peers"] else ""
    )
    if rounds == [1]:
        taken = "One round, with up to nine calls for a first frame, on"
    return (
        f"{taken} {machine['gpu']}, {machine['cores']} cores, {machine['date']};"
        " the clips have 663 frames and a GOP of 50. The brackets say how many times as fast"
        f" {OURS} is. The ops read a whole file for its first frame;"
        " [opening it by name](nvdec.md#the-first-frame) takes less."
        " PyNvVideoCodec and DALI open a decoder or make a pipeline in each call, as a program"
        f" does that reads one file after another; {OURS} takes decoders from its pool.{reused}"
        f"{cores}{_limits(document)}{_missing(document)} Versions: {versions}."
    )


def _missing(document: dict[str, Any]) -> str:
    """Returns which peers failed in what; what a peer does not offer is no failure."""
    parts = []
    for name, row in document["peers"].items():
        for codec, shown in CODECS.items():
            found = row.get(codec, {})
            what = list(found.get("errors", {}))
            if "error" in found:
                what.append(found["error"].partition(":")[0])
            if what:
                parts.append(f"{name} with {shown} ({', '.join(what)})")
    return f" No result: {'; '.join(parts)}." if parts else ""


def limit(document: dict[str, Any], codec: str) -> tuple[float, str] | None:
    """Returns the highest frames/s of any peer at 14 streams, and which peer reached it.

    It stands for NVDEC's limit, because converting takes hardly any time of the engines.
    """
    found = [
        (row[codec][LIMIT], name)
        for name, row in document["peers"].items()
        if LIMIT in row.get(codec, {})
    ]
    return max(found, default=None)


def _limits(document: dict[str, Any]) -> str:
    parts = []
    for codec, shown in CODECS.items():
        best = limit(document, codec)
        ours = document["peers"].get(OURS, {}).get(codec, {}).get(LIMIT)
        if best is None or not ours:
            continue
        parts.append(
            f"{shown} {best[0]:.0f} frames/s ({best[1]};"
            f" {OURS} to RGB {ours / best[0]:.2f} of that)"
        )
    if not parts:
        return ""
    return f" The highest rate of NVDEC with 14 streams is {'; '.join(parts)}."


if __name__ == "__main__":
    table = render(json.loads(RESULTS.read_text()))
    what = __doc__.splitlines()[0]
    sys.exit(pages.write("benchmarks.tables.nvdec_table", what, pages.SPEED, table, BEGIN, END))
