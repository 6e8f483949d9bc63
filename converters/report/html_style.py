"""The style sheet of the HTML report: light and dark, and for paper."""

from __future__ import annotations

# Colours of engines, by place, repeated after the last.
ENGINE_COLOURS = 8

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
