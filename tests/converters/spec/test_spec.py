"""Tests ConversionSpec: its defaults, every fault by name, and the order of building."""

from __future__ import annotations

import dataclasses
import json
import sys

import numpy as np
import pytest

from converters.spec.conversion_spec import ConversionSpec
from converters.spec.thresholds import Thresholds
from converters.util.errors import ConverterError, SpecError
from converters.util.shapes import (
    ShapeRange,
    format_shape,
    format_shape_set,
    input_name,
    parse_range,
    parse_shape,
    parse_shape_set,
)

X = {"x": (8, 4)}
SETS = [{"x": (1, 4)}, {"x": (8, 4)}]
RANGE = {"x": ShapeRange((1, 4), (8, 4))}


def faults_of(**fields) -> list[str]:
    """Returns the lines of the SpecError, one for each fault."""
    with pytest.raises(SpecError) as caught:
        ConversionSpec(**fields).resolved()
    first, *rest = str(caught.value).splitlines()
    if not rest:
        return [first.split("has a fault: ")[1]]
    assert first == f"the conversion spec has {len(rest)} faults:"
    return [line.strip() for line in rest]


def test_the_defaults():
    assert dataclasses.asdict(ConversionSpec().resolved()) == {
        "precision": "FP32",
        "mode": "dynamic",
        "input_shapes": None,
        "shape_ranges": None,
        "profile_strategy": None,
        "explicit_batch": False,
        "max_batch_size": None,
        "max_workspace_size_bytes": sys.maxsize - 512,
        "minimum_segment_size": 3,
        "maximum_cached_engines": 1001,  # It has room for shapes that no engine serves.
        "op_denylist": (),
        "node_denylist": (),
        "use_calibration": False,
        "calibration_batches": None,
        "calibration_table": None,
        "custom_ranges": None,
        "require_int8": False,
        "allow_build_at_runtime": False,
        "save_gpu_specific_engines": True,
        "native_segments": True,
        "signatures": None,
        "tags": ("serve",),
        "outputs": None,
        "imports": (),
        "op_libraries": (),
        "thresholds": None,
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"precision": "int8"}, {"precision": "INT8", "use_calibration": True}),
        ({"precision": "int8"}, {"require_int8": True}),
        ({"precision": "fp16"}, {"precision": "FP16", "use_calibration": False}),
        ({"mode": "Static"}, {"mode": "static", "max_batch_size": 1}),
        ({"mode": "static", "input_shapes": SETS}, {"max_batch_size": 8}),
        ({"mode": "static", "input_shapes": SETS}, {"maximum_cached_engines": 1}),
        ({"input_shapes": X}, {"input_shapes": (X,), "explicit_batch": False}),
        ({"input_shapes": SETS}, {"maximum_cached_engines": 1002, "profile_strategy": None}),
        (
            {"input_shapes": SETS, "allow_build_at_runtime": True},
            {"maximum_cached_engines": 2},
        ),
        ({"input_shapes": {"x:0": [8, 4]}}, {"input_shapes": (X,)}),
        ({"input_shapes": [{"x": np.array([8, 4]).tolist()}]}, {"input_shapes": (X,)}),
        ({"input_shapes": {"x": (np.int64(8), 4)}}, {"input_shapes": (X,)}),
        ({"shape_ranges": RANGE}, {"explicit_batch": True, "profile_strategy": "Range"}),
        ({"shape_ranges": RANGE}, {"maximum_cached_engines": 1}),
        (
            {"shape_ranges": {"x": ShapeRange((1, 4), (8, 4), (8, 4))}},
            {"profile_strategy": "Range"},
        ),
        (
            {"shape_ranges": {"x": ShapeRange((1, 4), (8, 4), (2, 4))}},
            {"profile_strategy": "Range+Optimal"},
        ),
        ({"input_shapes": SETS, "explicit_batch": True}, {"profile_strategy": "Optimal"}),
        (
            {"input_shapes": SETS, "profile_strategy": "range"},
            {"profile_strategy": "Range", "explicit_batch": True, "maximum_cached_engines": 1},
        ),
        ({"op_denylist": ["Relu", "Relu"]}, {"op_denylist": ("Relu",)}),
        ({"op_denylist": {"Relu", "Add"}}, {"op_denylist": ("Add", "Relu")}),
        ({"node_denylist": ["a/b:0"]}, {"node_denylist": ("a/b",)}),
        (
            {"precision": "INT8", "mode": "static", "use_calibration": False},
            {"mode": "static", "use_calibration": False},
        ),
        (
            {"save_gpu_specific_engines": False, "allow_build_at_runtime": True},
            {"save_gpu_specific_engines": False},
        ),
        ({"thresholds": Thresholds(max_abs=1.0)}, {"thresholds": Thresholds(max_abs=1.0)}),
    ],
)
def test_what_is_filled_in(fields, expected):
    spec = ConversionSpec(**fields).resolved()
    assert {name: getattr(spec, name) for name in expected} == expected
    assert spec.resolved() == spec
    back = ConversionSpec.from_json(json.loads(json.dumps(spec.to_json())))
    assert back == spec and back.resolved() == spec


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"precision": "FP8"}, "precision='FP8'", "allowed: FP32, FP16, INT8"),
        ({"precision": 16}, "precision=16", "allowed: FP32, FP16, INT8"),
        ({"mode": "eager"}, "mode='eager'", "allowed: dynamic, static"),
        ({"profile_strategy": "ImplicitBatchModeCompatible"}, "profile_strategy=", "Range+Optimal"),
        ({"explicit_batch": 1}, "explicit_batch=1", "it must be a bool; allowed: True, False"),
        # single numbers
        ({"mode": "static", "max_batch_size": 0}, "max_batch_size=0", "from 1 to 2147483647"),
        ({"max_workspace_size_bytes": sys.maxsize}, "max_workspace_size_bytes=", "out of range"),
        ({"minimum_segment_size": -1}, "minimum_segment_size=-1", "out of range"),
        ({"minimum_segment_size": 2.5}, "minimum_segment_size=2.5", "not a whole number"),
        ({"maximum_cached_engines": True}, "maximum_cached_engines=True", "not a whole number"),
        # names
        ({"op_denylist": "Relu"}, "op_denylist='Relu'", "write ['a']"),
        ({"op_denylist": ["Relu,Add"]}, "op_denylist=", "'Relu,Add' is no op type"),
        ({"node_denylist": [3]}, "node_denylist=[3]", "it contains 3"),
        ({"signatures": []}, "signatures=[]", "it is empty"),
        ({"signatures": ["a", "b", "a"]}, "signatures=", "'a' more than once"),
        ({"tags": ["serve", ""]}, "tags=", "contains ''"),
        ({"outputs": "y"}, "outputs='y'", "sequence of strings"),
        # shapes
        ({"input_shapes": []}, "input_shapes=[]", "it is empty"),
        ({"input_shapes": [(1, 2)]}, "input_shapes=", "set 0, (1, 2), is no mapping"),
        ({"input_shapes": [{}]}, "input_shapes=", "set 0, {}, is no mapping"),
        ({"input_shapes": "x"}, "input_shapes='x'", "neither a mapping"),
        ({"input_shapes": {"x": (None, 4)}}, "input_shapes=", "has a dimension that is None"),
        ({"input_shapes": {"x": (1, 0)}}, "input_shapes=", "has the dimension 0"),
        ({"input_shapes": {"x": 4}}, "input_shapes=", "4 is not a sequence of whole numbers"),
        ({"input_shapes": {"x": (1, 2.0)}}, "input_shapes=", "a dimension that is 2.0"),
        ({"input_shapes": {"x": (2**16, 2**15)}}, "input_shapes=", "TensorRT takes 2147483647"),
        ({"input_shapes": [X, {"x": (8,)}]}, "input_shapes=", "set 1 has 8 for 'x'"),
        ({"input_shapes": [X, dict(X)]}, "input_shapes=", "set 1 is the same as set 0"),
        ({"input_shapes": {"x": (1,), "x:0": (2,)}}, "input_shapes=", "names the input 'x' twice"),
        ({"shape_ranges": {"x": (1, 4)}}, "shape_ranges=", "is no ShapeRange"),
        (
            {"shape_ranges": {"x": ShapeRange((8, 4), (1, 4))}},
            "shape_ranges=",
            "dimension 0 has min 8, max 1",
        ),
        (
            {"shape_ranges": {"x": ShapeRange((1, 4), (8, 4), (9, 4))}},
            "shape_ranges=",
            "dimension 0 has min 1, opt 9, max 8",
        ),
        (
            {"shape_ranges": {"x": ShapeRange((1, 4), (8,))}},
            "shape_ranges=",
            "the number of dimensions cannot change",
        ),
        # INT8's values
        (
            {"precision": "INT8", "custom_ranges": {"x": (1, 1)}},
            "custom_ranges=",
            "both must be finite in float32, min below max",
        ),
        (
            {"precision": "INT8", "custom_ranges": {"x": (0, 1e39)}},
            "custom_ranges=",
            "finite in float32",
        ),
        ({"precision": "INT8", "custom_ranges": {"x": "12"}}, "custom_ranges=", "not (min, max)"),
        (
            {"precision": "INT8", "custom_ranges": {"x": (0, 10**400)}},
            "custom_ranges=",
            "not (min, max)",
        ),
        ({"input_shapes": ({"x": 5},)}, "input_shapes=({'x': 5},)", "5 is not a sequence"),
        (
            {"precision": "INT8", "custom_ranges": {"x": (0, float("inf"))}},
            "custom_ranges=",
            "both must be finite",
        ),
        ({"precision": "INT8", "custom_ranges": {"x": 6}}, "custom_ranges=", "not (min, max)"),
        ({"precision": "INT8", "calibration_table": ""}, "calibration_table=''", "not a path"),
        ({"thresholds": 0.1}, "thresholds=0.1", "converters.compare.Thresholds"),
        # what TF-TRT would change or drop
        ({"max_batch_size": 8}, "max_batch_size=8", "TF-TRT drops it in dynamic mode"),
        (
            {"mode": "static", "precision": "INT8"},
            "mode='static'",
            "TF-TRT turns dynamic mode on to calibrate",
        ),
        ({"mode": "static", "shape_ranges": RANGE}, "shape_ranges=", "a static plan holds one"),
        ({"mode": "static", "profile_strategy": "Range"}, "profile_strategy=", "has no profiles"),
        ({"mode": "static", "explicit_batch": True}, "explicit_batch=True", "implicit batch only"),
        (
            {"mode": "static", "allow_build_at_runtime": True},
            "allow_build_at_runtime=True",
            "builds no other",
        ),
        (
            {"mode": "static", "input_shapes": [X, {"x": (8, 5)}]},
            "input_shapes=x:8x4; x:8x5",
            "8x4 and 8x5 need mode='dynamic'",
        ),
        (
            {"mode": "static", "input_shapes": SETS, "max_batch_size": 4},
            "max_batch_size=4",
            "the batch 8, which would run in TensorFlow; allowed: 8 and more",
        ),
        (
            {"input_shapes": SETS, "maximum_cached_engines": 1},
            "maximum_cached_engines=1",
            "a full cache throws engines away; allowed: 2 and more",
        ),
        ({"input_shapes": X, "shape_ranges": RANGE}, "shape_ranges=", "not both"),
        (
            {"shape_ranges": RANGE, "explicit_batch": False},
            "explicit_batch=False",
            "ranges need explicit batch",
        ),
        (
            {"profile_strategy": "Range", "explicit_batch": False},
            "profile_strategy='Range'",
            "TF-TRT drops the strategy",
        ),
        (
            {"shape_ranges": RANGE, "profile_strategy": "Optimal"},
            "profile_strategy='Optimal'",
            "those within the range would run in TensorFlow",
        ),
        (
            {
                "shape_ranges": {"x": ShapeRange((1, 4), (8, 4), (2, 4))},
                "profile_strategy": "Range",
            },
            "profile_strategy='Range'",
            "drops the opt of 'x'",
        ),
        ({"calibration_batches": 3}, "calibration_batches=3", "no effect with precision FP32"),
        (
            {"precision": "FP16", "calibration_table": "t"},
            "calibration_table='t'",
            "no effect with precision FP16",
        ),
        ({"custom_ranges": {"x": (0, 1)}}, "custom_ranges=", "it belongs to INT8"),
        ({"use_calibration": True}, "use_calibration=True", "no effect with precision FP32"),
        (
            {"precision": "INT8", "use_calibration": False, "calibration_batches": 3},
            "calibration_batches=3",
            "there is no calibration with use_calibration=False",
        ),
        (
            {"save_gpu_specific_engines": False},
            "save_gpu_specific_engines=False",
            "would always run in TensorFlow",
        ),
        (
            {"mode": "static", "save_gpu_specific_engines": False},
            "save_gpu_specific_engines=False",
            "always saved",
        ),
        (
            {"native_segments": False, "allow_build_at_runtime": True},
            "native_segments=False",
            "built at runtime from its native segment",
        ),
    ],
)
def test_each_fault_names_the_field_the_value_and_the_reason(fields, field, reason):
    (fault,) = faults_of(**fields)
    assert fault.startswith(field)
    assert reason in fault


def test_custom_ranges_go_with_calibration_and_without():
    for use in (None, True, False):
        fields = {"use_calibration": use, "custom_ranges": {"x:0": (-1, 6)}}
        spec = ConversionSpec("INT8", **fields).resolved()
        assert spec.custom_ranges == {"x:0": (-1.0, 6.0)}
        assert spec.use_calibration is (use is not False)


def test_all_faults_come_at_once():
    found = faults_of(
        precision="fp16",
        mode="dynamic",
        input_shapes=SETS,
        max_batch_size=8,
        maximum_cached_engines=1,
        minimum_segment_size="three",
        calibration_table="t",
        save_gpu_specific_engines=False,
        op_denylist=[""],
    )
    assert [fault.split("=")[0] for fault in found] == [
        "minimum_segment_size",
        "op_denylist",
        "max_batch_size",
        "calibration_table",
        "maximum_cached_engines",
        "save_gpu_specific_engines",
    ]


def test_a_faulty_value_causes_no_second_fault():
    """If the mode is not a mode, max_batch_size cannot be checked against it. The error names the
    mode alone."""
    assert [fault.split("=")[0] for fault in faults_of(mode="statik", max_batch_size=8)] == ["mode"]
    found = faults_of(precision="int16", calibration_batches=3)
    assert [fault.split("=")[0] for fault in found] == ["precision"]


def test_long_values_are_cut():
    (fault,) = faults_of(op_denylist=["No Op"] * 1000)
    assert len(fault) < 400


def test_a_spec_error_is_a_converter_error():
    with pytest.raises(ConverterError):
        ConversionSpec(precision="?").resolved()


def test_the_largest_is_built_first():
    sets = [{"x": (1, 9)}, {"x": (8, 2)}, {"x": (8, 3)}, {"x": (2, 9)}]
    spec = ConversionSpec(input_shapes=sets)
    assert [shapes["x"] for shapes in spec.build_order()] == [(8, 3), (8, 2), (2, 9), (1, 9)]
    assert ConversionSpec().build_order() == []


def test_the_sets_of_one_signature():
    sets = [{"x": (1, 2)}, {"x": (4, 2), "y": (4,)}, {"x": (2, 2)}, {"s": ()}]
    spec = ConversionSpec(input_shapes=sets)
    assert spec.build_order(["x"]) == [{"x": (2, 2)}, {"x": (1, 2)}]
    assert spec.build_order(["y", "x"]) == [{"x": (4, 2), "y": (4,)}]
    assert spec.build_order(["z"]) == []
    assert len(spec.build_order()) == 4


def test_the_sets_of_ranges():
    ranges = {"x": ShapeRange((1, 2), (8, 2), (4, 2)), "y": ShapeRange((1,), (8,))}
    spec = ConversionSpec(shape_ranges=ranges)
    assert spec.build_order() == [
        {"x": (8, 2), "y": (8,)},
        {"x": (4, 2), "y": (8,)},
        {"x": (1, 2), "y": (1,)},
    ]
    assert spec.build_order(["y"]) == [{"y": (8,)}, {"y": (1,)}]
    assert spec.build_order(["y", "z"]) == []
    one = ConversionSpec(shape_ranges={"x": ShapeRange((8, 2), (8, 2))})
    assert one.build_order() == [{"x": (8, 2)}]


def test_json_of_every_field():
    spec = ConversionSpec(
        precision="INT8",
        mode="dynamic",
        shape_ranges={"x": ShapeRange((1, 4), (8, 4), (2, 4)), "y": ShapeRange((1,), (8,))},
        profile_strategy="Range+Optimal",
        explicit_batch=True,
        max_workspace_size_bytes=1 << 30,
        minimum_segment_size=5,
        maximum_cached_engines=2,
        op_denylist=("Relu",),
        node_denylist=("a/b",),
        use_calibration=True,
        calibration_batches=3,
        calibration_table="t.calib_table",
        custom_ranges={"conv:0": (-1.0, 6.0)},
        require_int8=False,
        allow_build_at_runtime=True,
        save_gpu_specific_engines=False,
        native_segments=True,
        signatures=("a", "b"),
        tags=("serve", "gpu"),
        outputs=("y",),
        thresholds=Thresholds(max_abs=0.5, top1=None),
    )
    text = json.dumps(spec.to_json())
    assert ConversionSpec.from_json(json.loads(text)) == spec
    unset = {"input_shapes", "max_batch_size"}
    assert {name for name, value in json.loads(text).items() if value is None} == unset
    dataclasses.replace(spec, custom_ranges=None).resolved()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"precison": "FP16"}, "precison='FP16': there is no such field"),
        ({"shape_ranges": {"x": {"min": [1]}}}, "shape_ranges=.*cannot be read back: 'max'"),
        ({"shape_ranges": [1]}, "shape_ranges=.*cannot be read back"),
        ({"thresholds": {"speed": 1}}, "no figure 'speed'"),
        ([1, 2], "an object of fields, not a list"),
        (None, "an object of fields, not a NoneType"),
    ],
)
def test_json_that_is_no_spec(values, says):
    with pytest.raises(SpecError, match=says):
        ConversionSpec.from_json(values)


# --- shapes as text


@pytest.mark.parametrize("shape", [(32, 224, 224, 3), (1,), ()])
def test_shapes_survive_text(shape):
    assert parse_shape(format_shape(shape)) == shape


def test_sets_survive_text():
    shapes = {"a": (1, 2), "b": (), "scope/c": (3,)}
    assert parse_shape_set(format_shape_set(shapes)) == shapes
    assert parse_shape_set("x:0:1x2") == {"x": (1, 2)}


@pytest.mark.parametrize("text", ["x", ":1x2", "x:", "x:1x", "x:1X2", "x:1x2,x:1x2", "x:٣", "x:-1"])
def test_texts_that_are_no_sets(text):
    with pytest.raises(ValueError, match=r"x|input"):
        parse_shape_set(text)


def test_ranges_from_text():
    assert parse_range("x:1x8..32x8") == ("x", ShapeRange((1, 8), (32, 8)))
    assert parse_range("x:0:1..4..2") == ("x", ShapeRange((1,), (4,), (2,)))
    for text in ("x:1x8", "1..2", "x:1..2..3..4", "x:1..b"):
        with pytest.raises(ValueError, match=r"no range|no input|no shape"):
            parse_range(text)


def test_input_names():
    assert [input_name(n) for n in ("x", "x:0", "x:12", "a:b", ":0")] == ["x", "x", "x", "a:b", ""]
