"""Draws docs/nvdec.svg from results/h200/nvdec_decode.json, as plot.py does.

python -m benchmarks.tables.plot_nvdec
"""

from __future__ import annotations

import json

from benchmarks.tables import plot
from benchmarks.tables.nvdec_table import CODECS, FIGURES, NATIVE, OURS, PLOT, RESULTS, ratio


def main() -> None:
    document = json.loads(RESULTS.read_text())
    peers = {
        name: row
        for name, row in document["peers"].items()
        if name not in (OURS, f"{OURS} VideoDataset", *NATIVE)
    }
    cases = []
    for codec, shown in CODECS.items():
        for figure, title, unit in FIGURES:
            ours = document["peers"].get(OURS, {}).get(codec, {}).get(figure)
            ratios = {
                name: times
                for name, row in peers.items()
                if (times := ratio(ours, row.get(codec, {}).get(figure), unit)) is not None
            }
            if ratios:
                cases.append((f"{shown}, {title}", ratios))
    machine = document["machine"]
    caption = f"{machine['gpu']}, {machine['cores']} cores, {machine['date']}; 1080p, GOP of 50"
    plot.draw_cases(cases, caption, PLOT)


if __name__ == "__main__":
    main()
