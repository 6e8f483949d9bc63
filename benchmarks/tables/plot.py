"""Draws docs/benchmarks.svg: how many times as fast as each peer this package is.

    python -m benchmarks.tables.plot

A row is a case, a dot is a peer, and the axis is logarithmic. Left of the line at 1 the peer is
faster. Peers whose frames were wrong are left out, and so are cases that this package did not run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import clips

_TARGET = clips.ROOT / "docs" / "benchmarks.svg"
# Of a claim with many cases, those whose name contains one of these are drawn.
_DRAWN = {"decode_pass": ("gop 50",)}
_GROUPS = (
    ("decode_each", "frame by frame"),
    ("decode_pass", "front to back"),
    ("decode_full", "full decode"),
    ("decode_random", "32 random frames"),
    ("decode_clip", "16 frames at 5 s"),
    ("decode_resized", "16 frames at 224x224"),
    ("decode_first_frame", "open + first frame"),
    ("encode_x264", "x264 encode"),
    ("dataset_clips", "clips by tf.data"),
    ("dataset_first_batch", "first batch of"),
)
# The colours of Okabe and Ito, which colour-blind people can tell apart, and a marker for each
# peer.
_STYLES = {
    "torchcodec": ("#0072B2", "o"),
    "torchcodec approximate": ("#56B4E9", "o"),
    "PyAV": ("#D55E00", "s"),
    "OpenCV": ("#009E73", "^"),
    "decord2": ("#CC79A7", "D"),
    "video-reader-rs": ("#F0E442", "p"),
    "tensorflow-io": ("#E69F00", "v"),
    "ffmpeg CLI": ("#000000", "|"),
    "PyNvVideoCodec": ("#0072B2", "o"),
    "PyNvVideoCodec reused": ("#56B4E9", "o"),
    "DALI": ("#D55E00", "s"),
    "tf_nvcodec cpu": ("#999999", "v"),
}


def rows(folder: Path) -> list[tuple[str, dict[str, float]]]:
    """Returns (label, {peer: times as fast}) for each measured case, in the order of the plot."""
    found = []
    for name, label in _GROUPS:
        file = folder / f"{name}.json"
        if not file.exists():
            continue
        for case in json.loads(file.read_text())["cases"]:
            ratios = {
                row["peer"]: row["ours_is_times_as_fast"]
                for row in case["rows"]
                if row["ours_is_times_as_fast"] and not row["note"]
            }
            drawn = any(part in case["case"] for part in _DRAWN.get(name, ("",)))
            if ratios and drawn:
                found.append((f"{label}, {case['case']}", ratios))
    return found


def _caption(folder: Path) -> str:
    file = next(
        folder / f"{name}.json" for name, _ in _GROUPS if (folder / f"{name}.json").exists()
    )
    described = json.loads(file.read_text())["machine"]
    return (
        f"{described['cpu']}, {described['cores']} cores, {described['system']}, "
        f"FFmpeg {described['ffmpeg']}, {described['date']}; medians, 1080p clips unless named"
    )


def draw(folder: Path, target: Path) -> None:
    """Draws the plot of the results in `folder` into `target`."""
    cases = rows(folder)
    if not cases:
        raise RuntimeError(f"no results of tf_nvcodec in {folder}; run benchmarks.run_all first")
    draw_cases(cases, _caption(folder), target)


def draw_cases(cases: list[tuple[str, dict[str, float]]], caption: str, target: Path) -> None:
    """Draws rows of (label, {peer: times as fast})."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams.update({"svg.hashsalt": "tf_nvcodec", "font.size": 9})
    figure, axes = pyplot.subplots(figsize=(8, 1.6 + 0.3 * len(cases)))
    seen: dict[str, Any] = {}
    for place, (_, ratios) in enumerate(cases):
        for peer, ratio in ratios.items():
            color, marker = _STYLES.get(peer, ("#666666", "x"))
            size = 120 if marker == "|" else 38
            seen[peer] = axes.scatter(ratio, place, s=size, c=color, marker=marker, zorder=3)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    ticks = [0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50]
    axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.minorticks_off()
    low = min(min(ratios.values()) for _, ratios in cases)
    high = max(max(ratios.values()) for _, ratios in cases)
    axes.set_xlim(min(0.7, low * 0.9), max(2.0, high * 1.15))
    axes.set_yticks(range(len(cases)), [label for label, _ in cases])
    axes.invert_yaxis()
    axes.grid(axis="both", color="#dddddd", linewidth=0.6)
    axes.set_xlabel("tf_nvcodec is this many times as fast as ...   (left of 1x: slower)")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    order = [*(peer for peer in _STYLES if peer in seen), *(seen.keys() - _STYLES.keys())]
    labels = ["ffmpeg CLI (decode: no RGB)" if peer == "ffmpeg CLI" else peer for peer in order]
    axes.legend(
        [seen[peer] for peer in order],
        labels,
        loc="lower center",
        bbox_to_anchor=(0.4, 1.0),
        ncols=4,
        frameon=False,
    )
    figure.text(0.01, 0.005, caption, fontsize=7, color="#555555")
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(str(target), metadata={"Date": None})
    print(f"wrote {target}")


if __name__ == "__main__":
    draw(
        Path(sys.argv[1]) if len(sys.argv) > 1 else clips.RESULTS,
        Path(sys.argv[2]) if len(sys.argv) > 2 else _TARGET,
    )
