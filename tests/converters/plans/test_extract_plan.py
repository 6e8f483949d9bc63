"""extract_plans writes plans with their inputs and outputs. It refuses a plan that is only a part
of the model."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import made_up_runtime
import pytest
from made_up_driver import Driver
from made_up_runtime import made_up_plan
from trt_graphs import SEGMENTED, GraphMaker, asset, plan_bytes, with_plans

from converters.model.engine_file import StoredEngine, read_engine_file, write_engine_file
from converters.model.flat_graph import flatten
from converters.model.trt_graph import engine_nodes, load_graph
from converters.plans import plan_compare, plan_runner
from converters.plans.extract_plan import extract_plans
from converters.plans.plan_compare import why_not_whole
from converters.util.errors import (
    ModelError,
    OutputError,
    PlanError,
    PlanVersionError,
    UnavailableError,
)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return with_plans("whole", tmp_path / "models", batches=(4,))


def stored(model: Path) -> list[bytes]:
    return [
        engine.plan
        for node in engine_nodes(load_graph(model).graph_def)
        for engine in read_engine_file(asset(model, node))
    ]


def test_the_plan_of_a_whole_model_is_written(whole: Path, tmp_path: Path) -> None:
    made = extract_plans(whole, tmp_path / "out", compare=False)
    assert sorted(os.listdir(tmp_path / "out")) == ["TRTEngineOp_000_000.plan", "plans.json"]
    (data,) = stored(whole)
    assert (tmp_path / "out" / "TRTEngineOp_000_000.plan").read_bytes() == data
    (plan,) = made.plans
    assert plan.sha256 == hashlib.sha256(data).hexdigest()
    assert (plan.size, plan.tensorrt_version, plan.precision) == (1400, "8.6.0.12", "FP16")
    assert (plan.batch, plan.max_batch_size, plan.profile_strategy) == ("explicit", None, "Range")
    assert plan.input_shapes == ((4, 6), (4, 6))
    assert made.whole_model == {"serving_default": True}
    assert made.excluded == ()


def test_bindings_have_the_signatures_names(whole: Path, tmp_path: Path) -> None:
    (plan,) = extract_plans(whole, tmp_path / "out", compare=False).plans
    loaded = load_graph(whole)
    (engine,) = engine_nodes(loaded.graph_def)
    assert [(b.name, b.io, b.dtype) for b in plan.bindings] == [
        ("TensorRTInputPH_0", "input", "float32"),
        ("TensorRTInputPH_1", "input", "float32"),
        ("TensorRTOutputPH_0", "output", "float32"),
    ]
    # An engine may have its inputs in any order. Its segment shows which input is which.
    segment = next(
        f for f in loaded.graph_def.library.function if f.signature.name == engine.segment_func
    )
    first_layer = {
        name: node.op
        for node in segment.node_def
        for name in node.input
        if name.startswith("tensorrtinputph_")
    }
    assert set(first_layer) == {"tensorrtinputph_0", "tensorrtinputph_1"}
    names = [b.signature_names for b in plan.bindings]
    assert names[2] == ("joined",)
    assert sorted(names[:2]) == [("left",), ("right",)]
    fed = {b.tensor: b.signature_names for b in plan.bindings[:2]}
    assert fed == {
        "serving_default_left:0": ("left",),
        "serving_default_right:0": ("right",),
    }


def test_plans_json_says_all_of_it(whole: Path, tmp_path: Path) -> None:
    record = {"environment": {"gpus": [{"name": "NVIDIA H200", "compute_capability": "9.0"}]}}
    (whole / "conversion.json").write_text(json.dumps(record))
    made = extract_plans(whole, tmp_path / "out", compare=False)
    values = json.loads((tmp_path / "out" / "plans.json").read_text())
    assert values == json.loads(json.dumps(made.to_json()))
    assert values["schema"] == 1
    assert values["plans"][0]["gpu"]["name"] == "NVIDIA H200"
    assert values["plans"][0]["bindings"][2]["signature_names"] == ["joined"]
    assert values["plans"][0]["bindings"][0]["shape"] == [None, 6]
    assert values["not_compared"] == "it was not asked for"
    text = str(made)
    for part in (
        "TensorRT 8.6.0.12",
        "built for [4x6, 4x6]",
        "TensorRTOutputPH_0 (float32): joined",
    ):
        assert part in text


def test_every_built_shape_is_a_file(tmp_path: Path) -> None:
    model = with_plans("whole", tmp_path, batches=(2, 8))
    made = extract_plans(model, tmp_path / "out", compare=False)
    assert [plan.file for plan in made.plans] == [
        "TRTEngineOp_000_000.8x6_8x6.plan",
        "TRTEngineOp_000_000.2x6_2x6.plan",
    ]
    for plan, data in zip(made.plans, stored(model)):
        assert (tmp_path / "out" / plan.file).read_bytes() == data


def test_a_part_is_not_the_whole(tmp_path: Path) -> None:
    model = with_plans("two_engines", tmp_path)
    with pytest.raises(PlanError) as caught:
        extract_plans(model, tmp_path / "out", compare=False)
    for part in ("'serving_default': it has 2 engines", "Cumsum", "--partial"):
        assert part in str(caught.value)
    assert not (tmp_path / "out").exists()
    made = extract_plans(model, tmp_path / "out", partial=True, compare=False)
    assert [plan.engine for plan in made.plans] == ["TRTEngineOp_000_000", "TRTEngineOp_000_001"]
    assert [node.op for node in made.excluded] == ["Cumsum"]
    assert made.whole_model == {"serving_default": False}
    first, second = made.plans
    assert [b.signature_names for b in first.bindings] == [("image",), ()]
    assert [b.signature_names for b in second.bindings] == [(), ("probabilities",)]
    assert "excluded: Cumsum" in str(made)


def static_model(folder: Path) -> GraphMaker:
    maker = GraphMaker()
    maker.node("Placeholder", "image")
    maker.node("Identity", "copy", ["image"])
    maker.engine(
        "scope/TRTEngineOp_000_000",
        ["copy"],
        {"a": "Relu"},
        static_engine=True,
        serialized_segment=plan_bytes(5),
        max_batch_size=16,
        _use_implicit_batch=True,
    )
    maker.node("Identity", "scores", ["scope/TRTEngineOp_000_000"])
    maker.write(folder / "static.pb")
    return maker


def test_a_static_plan_comes_out_of_its_node(tmp_path: Path) -> None:
    static_model(tmp_path)
    made = extract_plans(tmp_path / "static.pb", tmp_path / "out", compare=False)
    (plan,) = made.plans
    assert plan.file == "TRTEngineOp_000_000.plan"
    assert (tmp_path / "out" / plan.file).read_bytes() == plan_bytes(5)
    assert (plan.batch, plan.max_batch_size) == ("implicit", 16)
    assert plan.input_shapes == ((16, 4, 4, 2),)
    assert [b.signature_names for b in plan.bindings] == [("image",), ("scores",)]
    assert made.whole_model == {"": True}


def test_what_makes_a_plan_a_part_is_told(tmp_path: Path) -> None:
    def why(maker: GraphMaker) -> str | None:
        return why_not_whole(maker.flat(tmp_path))

    assert why(static_model(tmp_path)) is None
    maker = static_model(tmp_path)
    maker.node("Placeholder", "image2")
    maker.node("Identity", "around", ["image2"])
    assert "the output 'around' does not come from the engine" in (why(maker) or "")
    maker = static_model(tmp_path)
    maker.graph.node[1].op = "Relu"
    assert "it has 1 engine, and outside are Relu copy" in (why(maker) or "")
    maker = static_model(tmp_path)
    maker.graph.node[0].op = "Const"
    assert "input 0 of the engine, copy:0, is no input" in (why(maker) or "")
    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.node("Identity", "y", ["x"])
    assert why(maker) == "it has no engine"


def test_an_output_with_two_names_keeps_both(tmp_path: Path) -> None:
    maker = static_model(tmp_path)
    maker.node("Identity", "again", ["scores"])
    maker.node("Identity", "twice", ["scores"])
    made = extract_plans(maker.write(tmp_path / "g.pb"), tmp_path / "out", compare=False)
    assert made.plans[0].bindings[1].signature_names == ("again", "twice")


def test_a_signature_is_chosen_by_name(whole: Path, tmp_path: Path) -> None:
    made = extract_plans(whole, tmp_path / "out", signature="serving_default", compare=False)
    assert len(made.plans) == 1
    with pytest.raises(ModelError, match="no signature 'other'; it has: serving_default"):
        extract_plans(whole, tmp_path / "more", signature="other", compare=False)


def test_models_without_plans_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="has no plan to extract: TRTEngineOp_000_000 has no saved"):
        extract_plans(SEGMENTED / "whole", tmp_path / "out", compare=False)
    with pytest.raises(PlanError, match="it has no engine"):
        extract_plans(SEGMENTED / "whole_native", tmp_path / "out", compare=False)
    with pytest.raises(PlanError, match="no plan to extract: no engine"):
        extract_plans(SEGMENTED / "whole_native", tmp_path / "out", partial=True, compare=False)
    assert not (tmp_path / "out").exists()


def test_a_damaged_file_of_plans_leaves_nothing(whole: Path, tmp_path: Path) -> None:
    (engine,) = engine_nodes(load_graph(whole).graph_def)
    path = asset(whole, engine)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(PlanError, match="record 0"):
        extract_plans(whole, tmp_path / "out", compare=False)
    assert os.listdir(tmp_path) == ["models"]


def test_nothing_is_written_over_unless_asked(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("x")
    with pytest.raises(OutputError, match="out"):
        extract_plans(whole, out, compare=False)
    assert os.listdir(out) == ["mine"]
    extract_plans(whole, out, compare=False, overwrite=True)
    assert sorted(os.listdir(out)) == ["TRTEngineOp_000_000.plan", "plans.json"]


def has_tensorrt() -> bool:
    try:
        import tensorrt  # noqa: F401
    except (ImportError, OSError):
        return False
    return True


@pytest.mark.skipif(has_tensorrt(), reason="TensorRT's Python package is here")
def test_where_nothing_can_run_comparing_is_refused_or_noted(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="TensorRT's Python package cannot be imported"):
        extract_plans(whole, tmp_path / "out", compare=True)
    assert not (tmp_path / "out").exists()
    made = extract_plans(whole, tmp_path / "out")
    assert "tensorrt==8.6.0" in made.not_compared
    assert made.comparisons == ()


_RANGE = [[1, 6], [8, 6], [8, 6]]


@pytest.mark.parametrize(
    ("version", "values", "says"),
    [
        ((10, 3, 0, 12), {}, "built by TensorRT 10.3.0.12"),
        ((8, 6, 0, 12), {"location": "HOST"}, "which are shapes"),
    ],
)
def test_plans_that_cannot_be_compared_are_written(
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: tuple[int, ...],
    values: dict[str, Any],
    says: str,
) -> None:
    monkeypatch.setattr(plan_compare, "run_in_child", lambda job, arguments: job(**arguments))
    monkeypatch.setattr(plan_runner, "import_tensorrt", lambda: made_up_runtime)
    Driver.installed(monkeypatch)
    plan = made_up_plan(profiles=[_RANGE], **values)
    plan = plan.replace(bytes([8, 6, 0, 12]), bytes(version), 1)
    (node,) = engine_nodes(load_graph(whole).graph_def)
    write_engine_file(asset(whole, node), [StoredEngine(((4, 6), (4, 6)), plan)])
    made = extract_plans(whole, tmp_path / "out")
    assert says in made.not_compared and made.comparisons == ()
    assert (tmp_path / "out" / made.plans[0].file).read_bytes() == plan
    with pytest.raises((PlanVersionError, UnavailableError), match=says):
        extract_plans(whole, tmp_path / "more", compare=True)


def test_the_function_of_one_engine_is_what_the_model_has() -> None:
    pytest.importorskip("tensorflow")
    from converters.plans.plan_compare import engine_function
    from converters.segments.segmenter import tftrt_is_compiled_in

    if not tftrt_is_compiled_in():
        pytest.skip("this TensorFlow has no TRTEngineOp")
    # The engines of the two models have the same names. Each function must run its own engine.
    for name in ("two_engines", "frozen.pb"):
        loaded = load_graph(SEGMENTED / name)
        for engine in engine_nodes(loaded.graph_def):
            function = engine_function(loaded, engine)
            (node,) = [n for n in function.graph.as_graph_def().node if n.op == "TRTEngineOp"]
            assert node.name == engine.canonical_name
            assert not node.attr["_allow_build_at_runtime"].b
            assert node.attr["segment_func"].func.name.startswith(engine.segment_func)
            assert [t.dtype.name for t in function.inputs] == list(engine.input_dtypes)
            assert [t.dtype.name for t in function.outputs] == list(engine.output_dtypes)


def test_two_plans_of_one_shape_cannot_hide_each_other(whole: Path, tmp_path: Path) -> None:
    (engine,) = engine_nodes(load_graph(whole).graph_def)
    found = read_engine_file(asset(whole, engine))
    write_engine_file(asset(whole, engine), found * 2)
    with pytest.raises(PlanError, match="twice"):
        extract_plans(whole, tmp_path / "out", compare=False)


def test_the_golden_models_are_what_they_are_named() -> None:
    for name, whole_model in (("whole", True), ("two_engines", False), ("frozen.pb", False)):
        (flat,) = flatten(load_graph(SEGMENTED / name))
        assert (why_not_whole(flat) is None) == whole_model
