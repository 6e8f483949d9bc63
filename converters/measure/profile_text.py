"""The rows of a profile, and its report as plain text."""

from __future__ import annotations

from collections.abc import Mapping

from converters.measure.profile_data import ComparedLayers, EngineProfile, LayerProfile, ProfileData
from converters.report.text_report import table_lines
from converters.util.shapes import format_shape_set

HEADS = ["ms", "share", "layer", "type", "format", "ops", "TensorFlow nodes, or the layer's name"]
COMPARED_HEADS = [
    *("ms", "original ms", "speed-up", "type", "original type", "ops", "TensorFlow nodes")
]
NO_NODES = "layers that tell no TensorFlow node"


def profile_text(report: ProfileData) -> str:
    """All of the report in plain text."""
    lines = [profile_title(report), profile_conditions(report)]
    for engine in report.engines:
        rows = [layer_row(layer) for layer in engine.layers]
        lines += ["", engine_title(engine), *table_lines([HEADS, *rows])]
    if report.original_engines:
        lines += ["", f"{report.original}:"]
        lines += [engine_title(engine) for engine in report.original_engines]
    if report.comparison:
        rows = [compared_row(row) for row in report.comparison]
        lines += ["", "side by side", *table_lines([COMPARED_HEADS, *rows])]
    lines += ["", *(f"trace: {file}" for file in report.trace)]
    lines += [f"with Nsight Systems: {report.nsys}"] if report.nsys else []
    lines += [f"note: {note}" for note in report.notes]
    return "\n".join(lines).rstrip("\n")


def profile_title(report: ProfileData) -> str:
    """What was profiled, and where."""
    against = f", beside {report.original}" if report.original else ""
    signature = f", signature {report.signature}" if report.signature else ""
    return f"{report.model}{against}: {report.library} on {report.device}{signature}"


def profile_conditions(report: ProfileData) -> str:
    """How it was profiled."""
    each = "each time is the median" if report.engines else "a trace"
    return f"a request of {format_shape_set(report.shapes)}; {each} of {report.runs} requests"


def engine_title(engine: EngineProfile) -> str:
    """The engine's times."""
    copies = [layer.ms for layer in engine.layers if layer.changes_format]
    changing = f", {sum(copies):.4f} ms of them change formats" if copies else ""
    return (
        f"{engine.engine} with {format_shape_set(engine.shapes)}: {engine.request_ms:.4f} ms "
        f"without the profiler; its {len(engine.layers)} layers take {engine.layers_ms:.4f} ms"
        f"{changing}"
    )


def layer_row(layer: LayerProfile) -> list[str]:
    """A layer's row."""
    return [
        f"{layer.ms:.4f}",
        f"{100 * layer.share:.1f} %",
        layer.kind or "-",
        layer.precision or "-",
        "changes" if layer.changes_format else "",
        " + ".join(layer.ops) or "-",
        " + ".join(layer.nodes) or layer.name,
    ]


def compared_row(row: ComparedLayers) -> list[str]:
    """A row of both models."""
    return [
        "-" if row.ms is None else f"{row.ms:.4f}",
        "-" if row.original_ms is None else f"{row.original_ms:.4f}",
        "-" if row.speed_up is None else f"{row.speed_up:.2f}",
        row.precision or "-",
        row.original_precision or "-",
        " + ".join(row.ops) or "-",
        " + ".join(row.nodes) or NO_NODES,
    ]


def by_precision(report: ProfileData) -> Mapping[str, float]:
    """The share of each type, largest first; "changes of format" and "type not known" are two."""
    shares: dict[str, float] = {}
    for engine in report.engines:
        for layer in engine.layers:
            key = layer.precision or "type not known"
            key = "changes of format" if layer.changes_format else key
            shares[key] = shares.get(key, 0.0) + layer.share
    return dict(sorted(shares.items(), key=lambda item: -item[1]))
