"""The report of inspect_model as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from converters.report.graph_boxes import ops_text
from converters.report.report_data import Advice, EngineReport, PlanLayers, ReportData, TensorReport
from converters.segments.segment_rules import shape_text
from converters.util.shapes import format_shape

SOURCES = {
    "recorded": "recorded by TF-TRT during the conversion",
    "segmenter": "given by TF-TRT's segmenter, asked now",
    "rule": "by rule",
}
_MOST_NODES = 3


def text_report(report: ReportData) -> str:
    """All of the report in plain text, some 100 columns wide."""
    lines = [
        f"{report.path}: {report.kind.replace('_', ' ')}"
        + (f", tags {', '.join(report.tags)}" if report.tags else "")
        + (f", TensorFlow {report.tensorflow_version}" if report.tensorflow_version else ""),
        summary(report),
        f"nodes: {report.nodes_before.total} before ({report.before_from}), "
        f"{report.nodes_after.total} after; "
        f"compute: {report.nodes_before.compute} before, {report.nodes_after.compute} after",
    ]
    for name, signature in report.signatures.items():
        ways = [
            ", ".join(f"{key} {info.dtype} {shape_text(info.shape)}" for key, info in infos.items())
            for infos in (signature.inputs, signature.outputs)
        ]
        lines.append(f"signature {name}: {ways[0]} -> {ways[1]}")
    if report.engines:
        lines += ["", *table_lines(_engine_rows(report))]
        for engine in report.engines:
            lines += [f"  {engine.name}: {ops_text(engine.ops)}"]
            lines += [f"  {engine.name}: {problem}" for problem in engine.problems]
    for plan in report.layers:
        lines += ["", layers_title(plan), *table_lines([LAYER_HEADS, *layer_rows(plan)])]
    if report.left_out:
        lines += ["", f"left out: {nodes_text(len(report.left_out))}"]
        rows = [("op", "nodes", "why", "reason")]
        for group in report.left_out_ops:
            rows.append((group.op, str(group.count), group.category, group.reason))
        lines += table_lines(rows)
        for group in report.left_out_ops:
            lines.append(f"  {group.op}: {_names(group.nodes)}")
        sources = dict.fromkeys(SOURCES[out.source] for out in report.left_out)
        lines.append(f"reasons: {'; '.join(sources)}")
    if report.plumbing:
        held = ", ".join(f"{op} {count}" for op, count in report.plumbing.items())
        lines += ["", f"outside, but no compute: {held}"]
    lines += [f"note: {note}" for note in report.notes]
    return "\n".join(lines)


def advice_text(report: ReportData) -> str:
    """The advice in plain text: each rule's nodes, reason, cure and source."""
    if not report.advice:
        return "advice: no rule found anything to change"
    lines = ["advice:"]
    for advice in report.advice:
        lines += [
            f"  {advice.rule}: {signature_prefix(advice, report)}{_names(advice.nodes)}",
            f"    why: {advice.reason}",
            f"    cure: {advice.cure}",
            f"    source: {advice.source}",
        ]
    return "\n".join(lines)


def signature_prefix(advice: Advice, report: ReportData) -> str:
    """The advice's signature with a colon; "" if it is of all, or there is no other."""
    return f"{advice.signature}: " if len(report.signatures) > 1 and advice.signature else ""


def summary(report: ReportData) -> str:
    """One sentence: how much of the model is in how many engines."""
    count = len(report.engines)
    engines = f"{count} engine{'' if count == 1 else 's'}"
    total = report.converted_compute + len(report.left_out)
    share = f"{100 * report.share_converted:.1f} % of {nodes_text(total)}"
    if report.forecast:
        return f"not converted; TF-TRT would take {share} into {engines}"
    plans = sum(len(engine.plans) for engine in report.engines)
    size = bytes_text(sum(engine.plan_bytes for engine in report.engines))
    return f"{share} are in {engines}; {plans} plan{'' if plans == 1 else 's'}, {size}"


def nodes_text(count: int) -> str:
    """ "1 compute node" or "2 compute nodes"."""
    return f"{count} compute node{'' if count == 1 else 's'}"


def bytes_text(size: int) -> str:
    """1536 as "1.5 KiB"."""
    if size < 1024:
        return f"{size} B"
    for unit in ("KiB", "MiB", "GiB"):
        size_in_unit = size / 1024 ** (("KiB", "MiB", "GiB").index(unit) + 1)
        if size_in_unit < 1024 or unit == "GiB":
            return f"{size_in_unit:.1f} {unit}"
    raise AssertionError("not reached")


def built_text(engine: EngineReport) -> str:
    """The shapes that an engine's plans were built for."""
    return "; ".join(
        ", ".join(format_shape(shape) for shape in plan.input_shapes) for plan in engine.plans
    )


def tensors_text(tensors: Iterable[TensorReport]) -> list[str]:
    """Inputs or outputs of an engine, each as "float32 ?x8"."""
    return [f"{tensor.dtype} {shape_text(tensor.shape)}".strip() for tensor in tensors]


LAYER_HEADS = ("layer", "type", "ops", "TensorFlow nodes, or the layer's name")


def layers_title(plan: PlanLayers) -> str:
    """Which plan it is, and how many layers it has."""
    shapes = ", ".join(map(format_shape, plan.input_shapes))
    copies = sum(layer.changes_format for layer in plan.layers)
    return (
        f"{plan.engine} ({plan.precision}), built for {shapes}: {len(plan.layers)} layers, "
        f"{copies} of them change{'s' if copies == 1 else ''} the format"
    )


def layer_rows(plan: PlanLayers) -> list[tuple[str, ...]]:
    """A row of each layer; TensorRT calls one that changes a tensor's format Reformat."""
    return [
        (
            layer.kind,
            layer.precision,
            " + ".join(layer.ops) or "-",
            " + ".join(layer.nodes) or layer.name,
        )
        for layer in plan.layers
    ]


def _engine_rows(report: ReportData) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("engine", "ops", "nodes", "precision", "batch", "inputs", "outputs", "plan", "built for")
    ]
    for engine in report.engines:
        rows.append(
            (
                engine.name,
                str(engine.compute_nodes),
                str(engine.nodes),
                f"{engine.precision} {engine.mode}",
                engine.batch,
                ", ".join(tensors_text(engine.inputs)),
                ", ".join(tensors_text(engine.outputs)),
                bytes_text(engine.plan_bytes) if engine.plans else "-",
                built_text(engine) or "-",
            )
        )
    return rows


def _names(nodes: Sequence[str]) -> str:
    more = len(nodes) - _MOST_NODES
    return ", ".join(nodes[:_MOST_NODES]) + (f", {more} more" if more > 0 else "")


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    ]
