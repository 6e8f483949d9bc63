"""Writes the small table of speed into README.md, from the results that docs/benchmarks.md shows.

    python -m benchmarks.tables.summary_table [--check]

`--check` changes nothing and exits with 1 if the README does not show the present results.
"""

from __future__ import annotations

import json
import sys
from typing import Any, NamedTuple

from benchmarks.tables import claims_table, nvdec_table, pages

BEGIN = "<!-- summary: written by benchmarks/tables/summary_table.py -->"
END = "<!-- /summary -->"
# The text of a row, the claim and its case.
ON_CPU = (
    ("1080p H.264 to RGB, frame by frame", "decode_each", "h264"),
    ("32 random frames of it", "decode_random", "h264"),
    ("16 frames at 224x224", "decode_resized", "h264"),
    ("random clips in `tf.data`, 224x224", "dataset_clips", "own resize"),
    ("encode 720p RGB with x264", "encode_x264", "from rgb24"),
)
# The text of a row, the codec and the figure.
ON_GPU = (
    ("decode 1080p H.264 to RGB, 1 stream", "h264", "whole_1_fps"),
    ("32 random frames of it", "h264", "random_ms"),
    ("decode 1080p HEVC to RGB, 14 streams", "hevc", "whole_14_fps"),
)
# A yardstick is no peer: this program makes no RGB.
YARDSTICK = "ffmpeg CLI"


class Row(NamedTuple):
    """A row of the table; `times` is how many times as fast this package is."""

    what: str
    unit: str
    ours: float
    peer: str
    theirs: float
    times: float


def of_claims(documents: list[dict[str, Any]]) -> list[Row]:
    """Returns a row, with the fastest peer, for each case of ON_CPU that a peer ran too."""
    cases = {(d["name"], case["case"]): case for d in documents for case in d["cases"]}
    found = []
    for what, name, case_name in ON_CPU:
        case = cases.get((name, case_name))
        if case is None:
            continue
        ours = [row["value"] for row in case["rows"] if row["peer"] == claims_table.OURS]
        peers = [
            row
            for row in case["rows"]
            if row.get("ours_is_times_as_fast") and not row["note"] and row["peer"] != YARDSTICK
        ]
        if ours and ours[0] is not None and peers:
            best = min(peers, key=lambda row: row["ours_is_times_as_fast"])
            times = best["ours_is_times_as_fast"]
            found.append(Row(what, case["unit"], ours[0], best["peer"], best["value"], times))
    return found


def of_gpu(document: dict[str, Any]) -> list[Row]:
    """Returns a row, with the fastest peer, for each figure of ON_GPU that a peer has too."""
    units = {name: unit for name, _, unit in nvdec_table.FIGURES}
    peers = {
        name: row
        for name, row in document["peers"].items()
        if name not in nvdec_table.NATIVE and not name.startswith(f"{nvdec_table.OURS} ")
    }
    found = []
    for what, codec, figure in ON_GPU:
        values = {name: row.get(codec, {}).get(figure) for name, row in peers.items()}
        ours = values.pop(nvdec_table.OURS, None)
        ratios = {
            name: times
            for name, value in values.items()
            if (times := nvdec_table.ratio(ours, value, units[figure])) is not None
        }
        if ours and ratios:
            best = min(ratios, key=lambda name: ratios[name])
            found.append(Row(what, units[figure], ours, best, values[best], ratios[best]))
    return found


def render(documents: list[dict[str, Any]], gpu: dict[str, Any]) -> str:
    """Returns Markdown: the rows of the CPU and of the GPU, and a line on the machines."""
    machine = documents[0]["machine"]
    lines = [
        "| | unit | tf_nvcodec | fastest other library | |",
        "|---|---|---:|---|---:|",
    ]
    found = {"CPU": of_claims(documents), "GPU": of_gpu(gpu)}
    for where, rows in found.items():
        for row in rows:
            ours, theirs = pages.shown(row.ours), pages.shown(row.theirs)
            lines.append(
                f"| {where}: {row.what} | {row.unit} | **{ours}** | {row.peer}: {theirs} |"
                f" {row.times:.2f}x |"
            )
    cpu = f"{machine['cpu']}, {machine['cores']} cores"
    machines = f"CPU: {cpu}. GPU: {gpu['machine']['gpu'].partition(',')[0]}."
    last = "The last column says how many times as fast tf_nvcodec is."
    if any(row.peer == nvdec_table.REUSED for row in found["GPU"]):
        last += f" {nvdec_table.REUSED} keeps its decoders for the next file."
    return "\n".join([*lines, "", f"{machines} {last}"])


if __name__ == "__main__":
    table = render(
        claims_table.load(claims_table.RESULTS), json.loads(nvdec_table.RESULTS.read_text())
    )
    what = __doc__.splitlines()[0]
    sys.exit(pages.write("benchmarks.tables.summary_table", what, pages.README, table, BEGIN, END))
