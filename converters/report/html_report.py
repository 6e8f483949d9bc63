"""The report of inspect_model as one HTML page: no script, and nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import PurePath

from converters.report.graph_boxes import ops_text
from converters.report.graph_svg import MOST_BOXES, drawing_svg, engine_colour
from converters.report.html_style import STYLE
from converters.report.report_data import EngineReport, LeftOutOp, ModelReport
from converters.report.text_report import SOURCES, built_text, bytes_text, summary, tensors_text
from converters.segments.segment_rules import shape_text

_CATEGORY_COLOURS = 6
# A browser shows more names than this slowly, and nobody reads them.
_MOST_NAMES = 200


def html_report(report: ModelReport) -> str:
    """The whole page. Every name in it is escaped: names come from the model."""
    title = PurePath(report.path).name or report.path
    body = [
        _header(report, title),
        _cards(report),
        _section("Compute nodes", _share(report)),
    ]
    if report.engines:
        body.append(_section("Engines", f'<div class="panel scroll">{_engines(report)}</div>'))
    body.append(_section("Graph", _graphs(report)))
    if report.left_out:
        left = f'<div class="panel scroll">{_left_out(report)}</div>'
        body.append(_section("Left out", left))
    body += [
        _section("Outside, but no compute", _plumbing(report)),
        _section("Notes", _notes(report)),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}: TensorRT engines</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{''.join(body)}\n</main>\n</body>\n</html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>\n" if content else ""


def _header(report: ModelReport, title: str) -> str:
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


def _cards(report: ModelReport) -> str:
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
    made = (f'<div class="card"><b>{escape(n)}</b><span>{escape(t)}</span></div>' for n, t in cards)
    return f'<div class="cards">\n{"".join(made)}\n</div>\n'


def _share(report: ModelReport) -> str:
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
    bar = "".join(
        f'<i style="width:{100 * count / total:.2f}%;background:{colour}" '
        f'title="{escape(name)}: {count}"></i>'
        for name, count, colour in pieces
    )
    legend = "".join(
        f'<li><span class="swatch" style="background:{colour}"></span>{escape(name)}: {count}</li>'
        for name, count, colour in pieces
    )
    return (
        f'<div class="panel"><div class="stack" role="img" aria-label="shares of compute nodes">'
        f'{bar}</div><ul class="legend">{legend}</ul></div>'
    )


def _engines(report: ModelReport) -> str:
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
            f'<td class="bar">{_bar(count, engine.compute_nodes / most, colour)}'
            f'<div class="small">{escape(ops_text(engine.ops))}</div>'
            f"{_details('all ops', _op_names(engine))}</td>",
            f"<td>{_tag(engine.precision)} {_tag(engine.mode)} {_tag(engine.batch + ' batch')}"
            f"{_settings(engine)}</td>",
            f'<td class="mono tensors">{_lines(ins)}<br>\u2192 {_lines(outs)}</td>',
        ]
        if not report.forecast:
            size = bytes_text(engine.plan_bytes) if engine.plans else "none"
            versions = sorted({p.tensorrt_version or "version unknown" for p in engine.plans})
            cells += [
                f'<td class="bar">{_bar(size, engine.plan_bytes / largest, colour)}'
                f'<div class="small">{escape(", ".join(versions))}</div></td>',
                f'<td class="mono tensors">{_lines((built_text(engine) or "-").split("; "))}</td>',
            ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return _table(heads, rows)


def _lines(texts: Iterable[str]) -> str:
    return "<br>".join(map(escape, texts))


def _bar(text: str, share: float, colour: str) -> str:
    fill = f'<i style="width:{100 * share:.1f}%;background:{colour}"></i>' if share else ""
    return f'{escape(text)}<div class="track">{fill}</div>'


def _tag(text: str) -> str:
    return f'<span class="tag">{escape(text)}</span>'


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


def _graphs(report: ModelReport) -> str:
    parts = []
    for number, drawing in enumerate(report.drawings):
        name = f"<h3>{escape(drawing.signature)}</h3>" if drawing.signature else ""
        if len(drawing.boxes) > MOST_BOXES:
            content = f'<p class="small">{len(drawing.boxes)} boxes are too many to draw.</p>'
        else:
            content = drawing_svg(drawing, number)
        parts.append(f'<div class="panel scroll">{name}{content}</div>')
    return "\n".join(parts)


def _left_out(report: ModelReport) -> str:
    colours = {name: f"var(--c{i % _CATEGORY_COLOURS})" for i, name in enumerate(report.categories)}
    most = max(group.count for group in report.left_out_ops)
    rows = []
    for group in report.left_out_ops:
        bar = _bar(str(group.count), group.count / most, colours[group.category])
        rows.append(
            f'<tr><td class="name">{escape(group.op)}</td><td class="bar">{bar}</td>'
            f'<td><span class="tag why">{escape(group.category)}</span></td>'
            f"<td>{escape(group.reason)}{_details(_nodes_of(group), group.nodes)}</td>"
            f'<td class="small">{escape(group.source)}</td></tr>'
        )
    return _table(["Op", "Nodes", "Why", "Reason", "From"], rows)


def _nodes_of(group: LeftOutOp) -> str:
    return "its node" if group.count == 1 else f"its {group.count} nodes"


def _details(summary_text: str, names: Iterable[str]) -> str:
    shown = list(names)
    more = len(shown) - _MOST_NAMES
    items = "".join(f"<li><code>{escape(name)}</code></li>" for name in shown[:_MOST_NAMES])
    items += f"<li>and {more} more</li>" if more > 0 else ""
    return (
        f"<details><summary>{escape(summary_text)}</summary>"
        f'<ul class="names">{items}</ul></details>'
    )


def _table(heads: list[str], rows: list[str]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "\n".join(rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _plumbing(report: ModelReport) -> str:
    if not report.plumbing:
        return ""
    held = ", ".join(f"{escape(op)} {count}" for op, count in report.plumbing.items())
    return f'<div class="panel small">{held}. These hold, pass on or order values.</div>'


def _notes(report: ModelReport) -> str:
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
