"""The report of inspect_model as one HTML page: no script, and nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import PurePath

from converters.report.graph_boxes import ops_text
from converters.report.graph_svg import MOST_BOXES, drawing_svg, engine_colour
from converters.report.report_data import EngineReport, ReportData
from converters.report.text_report import (
    LAYER_HEADS,
    SOURCES,
    built_text,
    bytes_text,
    layer_rows,
    layers_title,
    signature_prefix,
    summary,
    tensors_text,
)
from converters.segments.segment_rules import shape_text

_CATEGORY_COLOURS = 6
# More names than this are slow in a browser, and nobody reads them.
_MOST_NAMES = 200


def html_report(report: ReportData) -> str:
    """The whole page. Every name in it is escaped: names come from the model."""
    title = PurePath(report.path).name or report.path
    body = [
        _header(report, title),
        _cards(report),
        section("Compute nodes", _share(report)),
    ]
    if report.engines:
        body.append(section("Engines", f'<div class="panel scroll">{_engines(report)}</div>'))
    body += [section("Layers", _layers(report)), section("Graph", _graphs(report))]
    if report.left_out:
        left = f'<div class="panel scroll">{_left_out(report)}</div>'
        body.append(section("Left out", left))
    if report.advice:
        body.append(section("Advice", f'<div class="panel scroll">{_advice(report)}</div>'))
    body += [
        section("Outside, but no compute", _plumbing(report)),
        section("Notes", _notes(report)),
    ]
    return page(f"{title}: TensorRT engines", "".join(body))


def page(title: str, body: str) -> str:
    """A whole page around `body`, in the style of all reports."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def section(title: str, content: str) -> str:
    """A part of the page with a heading; nothing without content."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>\n" if content else ""


def _header(report: ReportData, title: str) -> str:
    facts = [report.kind.replace("_", " ")]
    if report.tags:
        facts.append(f"tags {', '.join(report.tags)}")
    if report.tensorflow_version:
        facts.append(f"written by TensorFlow {report.tensorflow_version}")
    joined = " \u00b7 ".join(facts)
    kicker = "What TF-TRT would convert" if report.forecast else "What runs in TensorRT"
    return (
        f'<header>\n<p class="kicker">{kicker}</p>\n<h1>{escape(title)}</h1>\n'
        f'<p class="path"><code>{escape(report.path)}</code> &middot; '
        f"{escape(joined)}</p>\n"
        f'<p class="verdict">{escape(_sentence(summary(report)))}</p>\n</header>\n'
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _cards(report: ReportData) -> str:
    plans = [plan for engine in report.engines for plan in engine.plans]
    before, after = report.nodes_before, report.nodes_after
    cards = [
        (f"{100 * report.share_converted:.1f} %", "of compute nodes in engines"),
        (str(len(report.engines)), "engine" if len(report.engines) == 1 else "engines"),
        (str(len(report.left_out)), "compute nodes left out"),
        (f"{before.total} \u2192 {after.total}", f"nodes, before ({report.before_from}) and after"),
    ]
    if not report.forecast:
        size = bytes_text(sum(plan.size for plan in plans))
        cards.insert(2, (size, f"in {len(plans)} plan{'' if len(plans) == 1 else 's'}"))
    return cards_row(cards)


def cards_row(cards: Iterable[tuple[str, str]]) -> str:
    """Figures with what they are, side by side."""
    made = (f'<div class="card"><b>{escape(n)}</b><span>{escape(t)}</span></div>' for n, t in cards)
    return f'<div class="cards">\n{"".join(made)}\n</div>\n'


def _share(report: ReportData) -> str:
    """One bar of all compute nodes: a piece for each engine, then for each category left out."""
    total = report.converted_compute + len(report.left_out)
    if not total:
        return '<div class="panel small">The model has no compute nodes.</div>'
    pieces = [
        (engine.name, engine.compute_nodes, engine_colour(i))
        for i, engine in enumerate(report.engines)
    ]
    pieces += [
        (category, count, f"var(--c{i % _CATEGORY_COLOURS})")
        for i, (category, count) in enumerate(report.categories.items())
    ]
    shown = [(name, str(count), count / total, colour) for name, count, colour in pieces]
    return stacked_bar("shares of compute nodes", shown)


def stacked_bar(label: str, pieces: Sequence[tuple[str, str, float, str]]) -> str:
    """One bar of pieces side by side, each (name, text, share, colour), with a legend."""
    bar = "".join(
        f'<i style="width:{100 * share:.2f}%;background:{colour}" '
        f'title="{escape(name)}: {escape(text)}"></i>'
        for name, text, share, colour in pieces
    )
    legend = "".join(
        f'<li><span class="swatch" style="background:{colour}"></span>{escape(name)}: '
        f"{escape(text)}</li>"
        for name, text, _, colour in pieces
    )
    return (
        f'<div class="panel"><div class="stack" role="img" aria-label="{escape(label)}">'
        f'{bar}</div><ul class="legend">{legend}</ul></div>'
    )


def _engines(report: ReportData) -> str:
    most = max(engine.compute_nodes for engine in report.engines) or 1
    largest = max(engine.plan_bytes for engine in report.engines) or 1
    heads = ["Engine", "Ops", "Mode", "Inputs and outputs"]
    heads += [] if report.forecast else ["Plans", "Built for"]
    rows = []
    for i, engine in enumerate(report.engines):
        colour = engine_colour(i)
        swatch = f'<span class="swatch" style="background:{colour}"></span>'
        count = f"{engine.compute_nodes} of {engine.nodes} nodes"
        ins, outs = tensors_text(engine.inputs), tensors_text(engine.outputs)
        cells = [
            f'<td class="name">{swatch}{escape(engine.name)}{_problems(engine)}</td>',
            f'<td class="bar">{share_bar(count, engine.compute_nodes / most, colour)}'
            f'<div class="small">{escape(ops_text(engine.ops))}</div>'
            f"{_details('all ops', _op_names(engine))}</td>",
            f"<td>{tag(engine.precision)} {tag(engine.mode)} {tag(engine.batch + ' batch')}"
            f"{_settings(engine)}</td>",
            f'<td class="mono tensors">{_lines(ins)}<br>\u2192 {_lines(outs)}</td>',
        ]
        if not report.forecast:
            size = bytes_text(engine.plan_bytes) if engine.plans else "none"
            versions = sorted({p.tensorrt_version or "version unknown" for p in engine.plans})
            cells += [
                f'<td class="bar">{share_bar(size, engine.plan_bytes / largest, colour)}'
                f'<div class="small">{escape(", ".join(versions))}</div></td>',
                f'<td class="mono tensors">{_lines((built_text(engine) or "-").split("; "))}</td>',
            ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return table(heads, rows)


def node_lines(nodes: str) -> str:
    """Lines of node names that are joined by " + ". A long name may break after a slash."""
    return _lines(nodes.split(" + ")).replace("/", "/<wbr>")


def _lines(texts: Iterable[str]) -> str:
    return "<br>".join(map(escape, texts))


def share_bar(text: str, share: float, colour: str) -> str:
    """A text above a bar whose length is the share."""
    fill = f'<i style="width:{100 * share:.1f}%;background:{colour}"></i>' if share else ""
    return f'{escape(text)}<div class="track">{fill}</div>'


def tag(text: str, classes: str = "tag") -> str:
    """A word with a border around it."""
    return f'<span class="{classes}">{escape(text)}</span>'


def _settings(engine: EngineReport) -> str:
    facts = []
    if engine.profile_strategy:
        facts.append(f"profile {engine.profile_strategy}")
    if engine.max_cached_engines:
        facts.append(f"cache of {engine.max_cached_engines}")
    if engine.calibrated_tensors:
        facts.append(f"{engine.calibrated_tensors} calibrated tensors")
    if engine.device:
        facts.append(engine.device)
    return f'<div class="small">{escape(", ".join(facts))}</div>' if facts else ""


def _problems(engine: EngineReport) -> str:
    return "".join(
        f'<p class="problem" style="white-space:normal">{escape(text)}</p>'
        for text in engine.problems
    )


def _op_names(engine: EngineReport) -> list[str]:
    ops = sorted(engine.ops.items(), key=lambda item: (-item[1], item[0]))
    return [f"{op} \u00d7{count}" for op, count in ops]


def _layers(report: ReportData) -> str:
    heads = [head[:1].upper() + head[1:] for head in LAYER_HEADS]
    parts = []
    for plan in report.layers:
        rows = []
        for layer, (kind, precision, ops, nodes) in zip(plan.layers, layer_rows(plan)):
            mark = f" {tag('format', 'tag why')}" if layer.changes_format else ""
            rows.append(
                f'<tr><td class="mono" title="{escape(layer.name)}">{escape(kind)}{mark}</td>'
                f"<td>{tag(precision)}</td><td>{escape(ops)}</td>"
                f'<td class="mono nodes">{node_lines(nodes)}</td></tr>'
            )
        title = f"<h3>{escape(layers_title(plan))}</h3>"
        parts.append(f'<div class="panel scroll">{title}{table(heads, rows)}</div>')
    return "\n".join(parts)


def _graphs(report: ReportData) -> str:
    parts = []
    for number, drawing in enumerate(report.drawings):
        name = f"<h3>{escape(drawing.signature)}</h3>" if drawing.signature else ""
        if len(drawing.boxes) > MOST_BOXES:
            content = f'<p class="small">{len(drawing.boxes)} boxes are too many to draw.</p>'
        else:
            content = drawing_svg(drawing, number)
        parts.append(f'<div class="panel scroll">{name}{content}</div>')
    return "\n".join(parts)


def _left_out(report: ReportData) -> str:
    colours = {name: f"var(--c{i % _CATEGORY_COLOURS})" for i, name in enumerate(report.categories)}
    most = max(group.count for group in report.left_out_ops)
    rows = []
    for group in report.left_out_ops:
        bar = share_bar(str(group.count), group.count / most, colours[group.category])
        rows.append(
            f'<tr><td class="name">{escape(group.op)}</td><td class="bar">{bar}</td>'
            f'<td><span class="tag why">{escape(group.category)}</span></td>'
            f"<td>{escape(group.reason)}{_details(_nodes_text(group.count), group.nodes)}</td>"
            f'<td class="small">{escape(group.source)}</td></tr>'
        )
    return table(["Op", "Nodes", "Why", "Reason", "From"], rows)


def _advice(report: ReportData) -> str:
    rows = [
        f'<tr><td class="name">{escape(advice.rule)}</td>'
        f"<td>{escape(signature_prefix(advice, report) + advice.reason)}"
        f"{_details(_nodes_text(len(advice.nodes)), advice.nodes)}</td>"
        f"<td>{escape(advice.cure)}</td>"
        f'<td class="small">{escape(advice.source)}</td></tr>'
        for advice in report.advice
    ]
    return table(["Rule", "Why", "Cure", "Source"], rows)


def _nodes_text(count: int) -> str:
    return "its node" if count == 1 else f"its {count} nodes"


def _details(summary_text: str, names: Iterable[str]) -> str:
    shown = list(names)
    more = len(shown) - _MOST_NAMES
    items = "".join(f"<li><code>{escape(name)}</code></li>" for name in shown[:_MOST_NAMES])
    items += f"<li>and {more} more</li>" if more > 0 else ""
    return (
        f"<details><summary>{escape(summary_text)}</summary>"
        f'<ul class="names">{items}</ul></details>'
    )


def table(heads: list[str], rows: list[str]) -> str:
    """A table of rows that are HTML already; the heads are text."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "\n".join(rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _plumbing(report: ReportData) -> str:
    if not report.plumbing:
        return ""
    held = ", ".join(f"{escape(op)} {count}" for op, count in report.plumbing.items())
    return f'<div class="panel small">{held}. These hold, pass on or order values.</div>'


def _notes(report: ReportData) -> str:
    notes = [
        f"Signature {name}: "
        + " \u2192 ".join(
            ", ".join(f"{key} {info.dtype} {shape_text(info.shape)}" for key, info in infos.items())
            for infos in (signature.inputs, signature.outputs)
        )
        for name, signature in report.signatures.items()
    ]
    sources = dict.fromkeys(out.source for out in report.left_out)
    notes += [f"Reasons marked \u201c{source}\u201d: {SOURCES[source]}." for source in sources]
    notes += [_sentence(note) for note in report.notes]
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<div class="panel small"><ul class="notes">{items}</ul></div>' if items else ""


# --e0 to --e7 are the colours of engines, by their place; they repeat after the last.
STYLE = """
:root {
  color-scheme: light dark;
  --bg: #f6f7f9; --card: #ffffff; --ink: #16202c; --muted: #5c6b7c; --line: #dce2e9;
  --track: #e8ecf1; --warm: #b4540a; --warm-soft: #fdf1e5; --warm-line: #e6a465;
  --edge: #9aa8b7; --io: #e9eef5; --io-line: #9fb0c4; --alarm: #b3261e;
  --e0: #2f7d4f; --e1: #2a6fb0; --e2: #7a4fb5; --e3: #0f8186; --e4: #a3406f; --e5: #5b7420;
  --e6: #4658b8; --e7: #8a5a2b;
  --c0: #d9822b; --c1: #c0504d; --c2: #b8962e; --c3: #8c7a6b; --c4: #c26ba0; --c5: #7c8794;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #10151b; --card: #18202a; --ink: #e6ecf3; --muted: #93a3b5; --line: #2b3744;
    --track: #263240; --warm: #f0a45c; --warm-soft: #33261a; --warm-line: #8d5a2b;
    --edge: #5d6f82; --io: #222d3a; --io-line: #4b5f76; --alarm: #ff8a80;
    --e0: #2f8a57; --e1: #3279bd; --e2: #8560c2; --e3: #1a8c91; --e4: #b04e7d; --e5: #6a8529;
    --e6: #5568cc; --e7: #996839;
    --c0: #e0913f; --c1: #d3625f; --c2: #c9a840; --c3: #9c8b7c; --c4: #d07db0; --c5: #8a96a4;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--bg); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 1180px; margin: 0 auto; padding: 32px 24px 48px; }
h1 { margin: 0; font-size: 28px; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 40px 0 12px; font-size: 18px; }
h3 { margin: 0 0 8px; font-size: 14px; color: var(--muted); font-weight: 600; }
code, .mono { font: 12.5px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.nodes { overflow-wrap: anywhere; }
.kicker { margin: 0 0 4px; color: var(--muted); font-size: 13px; letter-spacing: .04em; }
.path { margin: 6px 0 0; color: var(--muted); overflow-wrap: anywhere; }
.verdict { margin: 14px 0 0; font-size: 17px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 14px;
  margin: 24px 0 0; }
.card, .panel { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.card { padding: 14px 16px; }
.card b { display: block; font-size: 25px; line-height: 1.25; font-variant-numeric: tabular-nums; }
.card span { color: var(--muted); font-size: 13px; }
.panel { padding: 16px; }
.scroll { overflow-x: auto; }
.stack { display: flex; height: 26px; border-radius: 8px; overflow: hidden;
  background: var(--track); }
.stack i { display: block; min-width: 2px; border-right: 1px solid var(--card); }
.stack i:last-child { border-right: 0; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; margin: 12px 0 0; padding: 0;
  list-style: none; font-size: 13px; color: var(--muted); }
.swatch { display: inline-block; width: 11px; height: 11px; border-radius: 3px;
  margin-right: 7px; vertical-align: -1px; flex: none; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--muted); font-weight: 600; font-size: 12.5px;
  padding: 4px 12px 8px 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
td { padding: 10px 12px 10px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child > td { border-bottom: 0; }
td.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.tensors { white-space: nowrap; }
td.name { white-space: nowrap; font-weight: 600; }
.bar { min-width: 110px; }
.track { height: 8px; border-radius: 4px; background: var(--track); margin-top: 5px;
  overflow: hidden; }
.track i { display: block; height: 100%; border-radius: 4px; min-width: 3px; }
.tag { display: inline-block; padding: 1px 8px; border-radius: 99px; font-size: 12px;
  border: 1px solid var(--line); background: var(--bg); white-space: nowrap; }
.why { color: var(--warm); border-color: var(--warm-line); background: var(--warm-soft); }
.problem { color: var(--alarm); font-size: 13px; margin: 4px 0 0; }
.small { font-size: 13px; color: var(--muted); }
details { font-size: 13px; margin-top: 4px; }
summary { cursor: pointer; color: var(--muted); }
.names { columns: 2 320px; margin: 8px 0 0; padding-left: 18px; overflow-wrap: anywhere; }
ul.notes { margin: 0; padding-left: 20px; }
svg.graph { display: block; margin: 0 auto; }
svg.graph text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif;
  fill: var(--ink); text-anchor: middle; }
svg.graph .t { font-weight: 650; font-size: 13px; }
svg.graph .m { fill: var(--muted); font-size: 11px; }
svg.graph .engine text { fill: #fff; }
svg.graph .engine .m { fill: #fff; fill-opacity: .85; }
svg.graph .left rect { fill: var(--warm-soft); stroke: var(--warm-line); stroke-dasharray: 5 3; }
svg.graph .left .t { fill: var(--warm); }
svg.graph .io rect { fill: var(--io); stroke: var(--io-line); }
svg.graph path { fill: none; stroke: var(--edge); stroke-width: 1.4; }
svg.graph marker path { fill: var(--edge); stroke: none; }
footer { margin-top: 40px; color: var(--muted); font-size: 13px; }
@media print {
  :root { --bg: #fff; }
  main { max-width: none; padding: 0; }
  .panel, .card { break-inside: avoid; }
}
"""
