"""layers.json: what of TensorRT's build log is kept, and how inspect shows it. The log is made of
the names in real plans (recorded_layers.py); test_profile_gpu.py has real logs."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from recorded_layers import CONVERTED, build_log, layer_names, plan_of

from converters import ConversionSpec, ModelError, extract_plans, inspect_model
from converters.cli import main
from converters.conversion_stages import Ranges, build
from converters.model.engine_file import plan_hash
from converters.model.trt_graph import engine_nodes, load_graph
from converters.report.layers_record import (
    LAYERS_FILE,
    layers_of_log,
    read_layers,
    require_layers,
    write_layers,
)
from converters.util.progress import Progress


def with_layers(folder: Path, model: str = "fp16_explicit", dtype: str = "Half") -> Path:
    """Copies a converted model, and gives it the layers.json that `convert` would have left."""
    shutil.copytree(CONVERTED / model, folder)
    loaded = load_graph(folder)
    engines = engine_nodes(loaded.graph_def)
    log = "".join(build_log(layer_names(plan_of(folder, engine)), dtype) for engine in engines)
    write_layers(folder, layers_of_log(log, loaded, engines))
    return folder


@pytest.mark.parametrize("model", ["fp16_explicit", "fp16_gap", "static"])
def test_each_plan_has_its_layers(tmp_path: Path, model: str) -> None:
    folder = with_layers(tmp_path / "model", model)
    found = read_layers(folder)
    engines = engine_nodes(load_graph(folder).graph_def)
    assert [plan.engine for plan in found] == [engine.canonical_name for engine in engines]
    for plan, engine in zip(found, engines):
        data = plan_of(folder, engine)
        assert plan.sha256 == plan_hash(data)
        assert [layer.name for layer in plan.layers] == layer_names(data)
        for layer in plan.layers:
            assert layer.ops == tuple(engine.node_ops[node] for node in layer.nodes)
        fused = {layer.ops for layer in plan.layers}
        assert ("Conv2D", "Relu") in fused or model == "static"


def test_a_plan_has_the_layers_of_its_own_shapes(tmp_path: Path) -> None:
    loaded = load_graph(CONVERTED / "fp32_two_shapes")
    (engine,) = engines = engine_nodes(loaded.graph_def)
    names = layer_names(plan_of(loaded.path, engine))
    log = "".join(
        build_log(names, dtype, engine.canonical_name, f"[[{batch},16,16,3]]")
        for batch, dtype in ((1, "Float"), (8, "Half"), (4, "Int8"))
    )
    (found,) = layers_of_log(log, loaded, engines)
    assert found.input_shapes == ((8, 16, 16, 3),)
    assert found.layers[1].precision == "Half"


@pytest.mark.parametrize("logged", [True, False])
def test_converting_leaves_them_beside_the_model(tmp_path: Path, logged: bool) -> None:
    """A conversion in this process (--no-child) has no log."""
    (engine,) = engine_nodes(load_graph(CONVERTED / "fp16_explicit").graph_def)

    def run(job: str, arguments: Any, log: Path) -> Any:
        shutil.copytree(CONVERTED / "fp16_explicit", arguments["folder"], dirs_exist_ok=True)
        if logged:
            plan = plan_of(CONVERTED / "fp16_explicit", engine)
            log.write_text(build_log(layer_names(plan), "Half"))
        return {"signatures": {}, "timings": []}

    source = SimpleNamespace(saved_model=tmp_path, tags=("serve",))
    plan: Any = SimpleNamespace(source=source, signatures={}, kept=(), building={})
    context: Any = SimpleNamespace(
        work=tmp_path, shown=False, child=False, run=run, progress=Progress(False)
    )
    folder = tmp_path / "out"
    build(plan, ConversionSpec("FP16").resolved(), Ranges(), folder, context)
    assert (folder / LAYERS_FILE).exists() == logged
    assert [len(found.layers) for found in read_layers(folder)] == ([10] if logged else [])


def test_what_is_written_is_read(tmp_path: Path) -> None:
    folder = with_layers(tmp_path / "model")
    found = read_layers(folder)
    (tmp_path / "again").mkdir()
    write_layers(tmp_path / "again", found)
    assert read_layers(tmp_path / "again") == found
    (plan,) = found
    (copy,) = [layer for layer in plan.layers if layer.changes_format]
    assert (copy.kind, copy.precision, copy.ops) == ("Reformat", "Float -> Half", ("MatMul",))


def test_a_log_without_layers_leaves_no_file(tmp_path: Path) -> None:
    loaded = load_graph(CONVERTED / "int8")
    engines = engine_nodes(loaded.graph_def)
    assert layers_of_log("nothing\n", loaded, engines) == ()
    write_layers(tmp_path, ())
    assert not list(tmp_path.iterdir())
    with pytest.raises(ModelError, match=r"has no layers.json.*\n?.*Convert the model again"):
        require_layers(loaded)


@pytest.mark.parametrize("text", ["{", '{"schema": 2, "plans": []}', '{"schema": 1}', "[]"])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / LAYERS_FILE).write_text(text)
    with pytest.raises(ModelError, match=f"{re.escape(str(tmp_path / LAYERS_FILE))} cannot be"):
        read_layers(tmp_path)


def test_inspect_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = with_layers(tmp_path / "model")
    page = tmp_path / "page.html"
    options = ["--layers", "--no-ask", "--html", str(page)]
    assert main(["inspect", str(folder), *options]) == 0
    out = capsys.readouterr().out
    (title,) = (line for line in out.splitlines() if "change" in line)
    assert title.endswith("(FP16), built for 8x16x16x3: 10 layers, 1 of them changes the format")
    (copy,) = (line for line in out.splitlines() if line.startswith("Reformat "))
    assert re.fullmatch(r"Reformat +Float -> Half +MatMul +\S+/dense_1/MatMul", copy)
    assert out.count("Conv2D + Relu") == 3
    html = page.read_text()
    assert "<h2>Layers</h2>" in html and html.count("Conv2D + Relu") == 3
    assert html.count('<span class="tag why">format</span>') == 1
    assert main(["inspect", str(folder), "--layers", "--no-ask", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    kept = json.loads(json.dumps([asdict(plan) for plan in read_layers(folder)]))
    assert found["layers"] == kept
    assert inspect_model(folder, ask=False).layers == ()


def test_inspect_says_what_is_missing(capsys: pytest.CaptureFixture) -> None:
    assert main(["inspect", str(CONVERTED / "int8"), "--layers", "--no-ask"]) == 1
    assert "has no layers.json" in capsys.readouterr().err
    native = CONVERTED / "native" / "cnn"
    assert main(["inspect", str(native), "--layers", "--no-ask"]) == 1
    assert f"{native} is not converted" in capsys.readouterr().err


def test_extracted_plans_keep_them(tmp_path: Path) -> None:
    folder = with_layers(tmp_path / "model", "fp16_gap")
    made = extract_plans(folder, tmp_path / "plans", partial=True, compare=False)
    assert {plan.sha256 for plan in made.plans} == {one.sha256 for one in read_layers(folder)}
    assert read_layers(tmp_path / "plans") == read_layers(folder)
    extract_plans(CONVERTED / "int8", tmp_path / "without", compare=False)
    assert not (tmp_path / "without" / LAYERS_FILE).exists()
