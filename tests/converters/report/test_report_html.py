"""The HTML report is complete, loads nothing, and is safe for any names in the model."""

from __future__ import annotations

import dataclasses
import random
import re
import time
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import pytest
from trt_graphs import SEGMENTED, GraphMaker, with_plans

from converters.report.graph_svg import MOST_BOXES, drawing_svg, layout
from converters.report.inspect_model import ModelReport, inspect_model
from converters.report.report_data import Box, Drawing

VOID = ("meta", "br")


class Page(HTMLParser):
    """Checks that tags close in order, and keeps what the page has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text.append(data)

    def count(self, tag: str, **attributes: str) -> int:
        return sum(
            name == tag and all(values.get(key) == value for key, value in attributes.items())
            for name, values in self.tags
        )

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ModelReport:
    model = with_plans("two_engines", tmp_path_factory.mktemp("model"), batches=(2, 8))
    return inspect_model(model, SEGMENTED / "two_engines_native", ask=False)


def test_the_page_is_well_formed_and_complete(report: ModelReport) -> None:
    page = Page(report.to_html())
    for part in (
        "92.9 %",
        "TRTEngineOp_000_000",
        "TRTEngineOp_000_001",
        "8x8x8x3",
        "unsupported op",
        "TF-TRT has no converter for Cumsum",
        "8.6.0.12",
        "serving_default",
        "written by TensorFlow 2.17.1",
        "6 of 10 nodes",
    ):
        assert part in page.words, part
    assert page.count("html", lang="en") == 1
    assert page.count("svg") == 1


def test_the_page_loads_nothing(report: ModelReport) -> None:
    text = report.to_html()
    page = Page(text)
    names = {name for name, _ in page.tags}
    assert names.isdisjoint({"script", "link", "iframe", "img", "object", "embed", "base", "form"})
    for _, values in page.tags:
        assert values.keys().isdisjoint({"src", "href", "srcset", "onload", "onclick", "action"})
    assert "@import" not in text
    # The only url() names the head of an arrow, which is in the same page.
    assert set(re.findall(r"url\(([^)]*)\)", text)) == {"#arrow0"}
    assert "http" not in text


def test_light_and_dark_have_the_same_colours(report: ModelReport) -> None:
    style = report.to_html().split("<style>")[1].split("</style>")[0]
    light, dark = style.split("prefers-color-scheme: dark")
    names = set(re.findall(r"(--\w[\w-]*):", light))
    assert set(re.findall(r"(--\w[\w-]*):", dark.split("* { box-sizing")[0])) == names
    assert set(re.findall(r"var\((--[\w-]+)\)", report.to_html())) <= names


def test_engines_are_coloured_boxes_and_left_out_nodes_stand_alone(report: ModelReport) -> None:
    (drawing,) = report.drawings
    kinds = [box.kind for box in drawing.boxes]
    assert sorted(kinds) == ["engine", "engine", "input", "left out", "output"]
    by_key = {box.key: box for box in drawing.boxes}
    (left,) = [box for box in drawing.boxes if box.kind == "left out"]
    assert left.title == "Cumsum"
    assert by_key["engine 0"].lines[0] == "6 ops, FP16"
    assert set(drawing.edges) == {
        ("input image", "engine 0"),
        ("engine 0", left.key),
        (left.key, "engine 1"),
        ("engine 1", "output probabilities"),
    }
    page = Page(report.to_html())
    assert page.count("g", **{"class": "engine"}) == 2
    fills = {v.get("style") for n, v in page.tags if n == "rect" and v.get("style")}
    assert fills == {"fill:var(--e0)", "fill:var(--e1)"}


def test_bars_are_as_long_as_their_shares(report: ModelReport) -> None:
    page = Page(report.to_html())
    widths = [
        float(match[1])
        for _, values in page.tags
        for match in [re.match(r"width:([\d.]+)%;background", values.get("style") or "")]
        if match
    ]
    # The first bar shows shares: of 14 nodes, 6 and 7 are in engines and 1 is left out.
    assert widths[:3] == pytest.approx([100 * 6 / 14, 50.0, 100 / 14], abs=0.01)
    # The next bars compare the number of ops in each engine with that of the largest engine.
    assert widths[3:5] == pytest.approx([100 * 6 / 7, 100.0], abs=0.1)


EVIL = "</title><script>alert(\"1\")</script>&amp;<img src=x onerror='y'>"


def test_names_cannot_break_out(tmp_path: Path) -> None:
    maker = GraphMaker()
    maker.node("Placeholder", EVIL)
    maker.engine(f"e{EVIL}".replace("/", "|"), [EVIL], {EVIL: EVIL})
    maker.node(EVIL, f"op{EVIL}", [maker.graph.node[1].name])
    maker.node("Identity", f"y{EVIL}", [f"op{EVIL}"])
    report = inspect_model(maker.write(tmp_path / "g.pb"), ask=False)
    report = dataclasses.replace(report, path=f"/models/{EVIL}", notes=(EVIL,))
    text = report.to_html()
    page = Page(text)
    assert "<script" not in text.replace("&lt;script", "")
    assert {name for name, _ in page.tags}.isdisjoint({"script", "img"})
    assert page.words.count("alert") >= 5


def test_a_model_without_engines_is_reported(tmp_path: Path) -> None:
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.node("Identity", "y", ["x"])
    page = Page(inspect_model(maker.write(tmp_path / "g.pb"), ask=False).to_html())
    assert "no compute nodes" in page.words
    assert "0 engines" in page.words


def test_a_forecast_is_called_one() -> None:
    page = Page(inspect_model(SEGMENTED / "two_engines_native", ask=False).to_html())
    assert "What TF-TRT would convert" in page.words
    assert "Not converted; TF-TRT would take 92.9 %" in page.words
    assert "Plans" not in page.words


def test_a_large_graph_stays_readable_and_quick(tmp_path: Path) -> None:
    maker = GraphMaker()
    last = maker.node("Placeholder", "x")
    for i in range(40):
        for j in range(40):
            last = maker.node("Relu", f"block{i}/relu{j}", [last])
        for j in range(3):
            last = maker.node("Cumsum", f"block{i}/sum{j}", [last])
    maker.node("Identity", "y", [last])
    path = maker.write(tmp_path / "g.pb")
    begin = time.monotonic()
    report = inspect_model(path, ask=False)
    text = report.to_html()
    assert time.monotonic() - begin < 20
    (drawing,) = report.drawings
    # 120 nodes that are left out share boxes with their neighbours, so there are fewer boxes.
    assert len(drawing.boxes) < 60
    assert any(box.title == "3 nodes" and "Cumsum \u00d73" in box.lines for box in drawing.boxes)
    assert len(text) < 200_000


def test_too_many_boxes_are_not_drawn(report: ModelReport) -> None:
    boxes = tuple(Box(f"b{i}", "left out", "Op", ("n",), 1) for i in range(MOST_BOXES + 1))
    many = dataclasses.replace(report, drawings=(Drawing("s", boxes, ()),))
    page = Page(many.to_html())
    assert page.count("svg") == 0
    assert f"{MOST_BOXES + 1} boxes are too many to draw" in page.words


def test_long_texts_are_shortened_in_boxes_but_kept_in_hints() -> None:
    name = "scope/" * 20 + "the_end"
    svg = drawing_svg(Drawing("", (Box("a", "left out", "Op", (name,), 1),), ()), 0)
    assert f"<title>Op\n{name}</title>" in svg
    assert re.search(r">\u2026[^<]*the_end</text>", svg)


# The layout.


def random_graph(seed: int) -> tuple[dict[str, tuple[float, float]], list[tuple[str, str]]]:
    chance = random.Random(seed)
    keys = [f"n{i}" for i in range(chance.randint(1, 40))]
    sizes = {key: (chance.uniform(40, 250), chance.uniform(20, 120)) for key in keys}
    edges = [
        (keys[i], keys[j])
        for i, j in combinations(range(len(keys)), 2)
        if chance.random() < 2.5 / len(keys)
    ]
    return sizes, edges


@pytest.mark.parametrize("seed", range(12))
def test_boxes_do_not_overlap_and_edges_go_down(seed: int) -> None:
    sizes, edges = random_graph(seed)
    found = layout(sizes, edges)
    assert found.places.keys() == sizes.keys()
    for key, place in found.places.items():
        assert (place.width, place.height) == sizes[key]
        assert place.x >= 0
        assert place.y >= 0
        assert place.x + place.width <= found.width
        assert place.y + place.height <= found.height
    for a, b in combinations(found.places.values(), 2):
        beside = a.x + a.width <= b.x or b.x + b.width <= a.x
        assert beside or a.y + a.height <= b.y or b.y + b.height <= a.y
    for source, target in edges:
        points = found.paths[source, target]
        assert points[0][1] == pytest.approx(found.places[source].y + sizes[source][1])
        assert points[-1][1] == pytest.approx(found.places[target].y)
        assert [y for _, y in points] == sorted(y for _, y in points)


def test_edges_pass_beside_boxes_of_the_layers_between() -> None:
    sizes = dict.fromkeys("abcd", (100.0, 40.0))
    found = layout(sizes, [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")])
    for x, y in found.paths["a", "d"][1:-1]:
        for key in "bc":
            place = found.places[key]
            if place.y <= y <= place.y + place.height:
                assert not place.x <= x <= place.x + place.width


def test_loops_and_lone_boxes_are_laid_out() -> None:
    sizes = dict.fromkeys(("a", "b", "c", "alone"), (100.0, 40.0))
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("b", "b"), ("a", "b")]
    found = layout(sizes, edges)
    assert set(found.paths) == {("a", "b"), ("b", "c"), ("c", "a")}
    assert found.places["a"].y < found.places["b"].y < found.places["c"].y
    # The edge that closes the loop still runs from its source to its target.
    assert found.paths["c", "a"][0][1] > found.paths["c", "a"][-1][1]
    assert layout({}, []).places == {}
