"""Compares a spec with its model: the declared shapes of each signature, and the names in
denylists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from copied_models import SHAPES, here, save
from trt_graphs import chain

from converters import ConversionSpec, ShapeRange
from converters.denylist_search import Denylist
from converters.model.trt_graph import Signature, TensorInfo
from converters.tftrt.spec_for_model import (
    cannot_convert,
    check_all_used,
    check_denied_ops,
    declared_shapes,
)
from converters.util.errors import SpecError

pytest_plugins = ["copied_tftrt"]  # fixture tftrt


def signature(name: str, *shape: int | None) -> Signature:
    return Signature(name, {"x": TensorInfo("x:0", "float32", shape)}, {})


SHORT, LONG = signature("short", None, 8), signature("long", None, 16)
BOTH = {"short": SHORT, "long": LONG}


def test_each_signature_has_the_shapes_that_fit_it() -> None:
    spec = ConversionSpec(input_shapes=[{"x": (4, 8)}, {"x": (2, 16)}, {"x": (6, 8)}])
    check_all_used(spec, BOTH)
    assert declared_shapes(spec, SHORT) == [{"x": (6, 8)}, {"x": (4, 8)}]
    assert declared_shapes(spec, LONG) == [{"x": (2, 16)}]


def test_a_signature_that_no_shape_fits_cannot_be_converted() -> None:
    spec = ConversionSpec(input_shapes={"x": (4, 8)})
    check_all_used(spec, BOTH)
    assert cannot_convert(spec, SHORT, calibrated=False) is None
    why = cannot_convert(spec, LONG, calibrated=False)
    assert why is not None and why.endswith("Those given do not fit it")
    with pytest.raises(SpecError, match="Those given do not fit it"):
        declared_shapes(spec, LONG)
    assert declared_shapes(spec, LONG, {"x": (3, 16)}) == [{"x": (3, 16)}]
    assert declared_shapes(spec, signature("fixed", 2, 4)) == [{"x": (2, 4)}]


def test_shapes_that_fit_no_signature_are_an_error() -> None:
    spec = ConversionSpec(input_shapes=[{"x": (4, 8)}, {"x": (4, 9)}])
    with pytest.raises(SpecError, match="4x9 does not fit signature 'short'.*; .*'long', whose"):
        check_all_used(spec, BOTH)


def test_ranges_fit_as_a_whole() -> None:
    spec = ConversionSpec(shape_ranges={"x": ShapeRange((1, 8), (4, 8))})
    check_all_used(spec, BOTH)
    assert {"x": (4, 8)} in declared_shapes(spec, SHORT)
    assert cannot_convert(spec, LONG, calibrated=False) is not None
    other = Signature("other", {"y": TensorInfo("y:0", "float32", (None, 4))}, {})
    bad = ConversionSpec(
        shape_ranges={"x": ShapeRange((1, 8), (4, 8)), "y": ShapeRange((1, 5), (4, 5))}
    )
    with pytest.raises(SpecError, match="y:4x5 does not fit signature 'other'"):
        check_all_used(bad, {"short": SHORT, "other": other})
    between = ConversionSpec(shape_ranges={"x": ShapeRange((1, 8), (4, 16))})
    with pytest.raises(SpecError, match="4x16 does not fit signature 'short'"):
        check_all_used(between, {**BOTH, "none": Signature("none", {}, {})})
    wide = ConversionSpec(shape_ranges={"x": ShapeRange((1, 8), (4, 16))})
    with pytest.raises(SpecError, match="4x16 does not fit signature 'short'"):
        check_all_used(wide, {"short": SHORT})


@pytest.mark.parametrize(
    ("name", "hint"),
    [("MatMull", r": did you mean 'MatMul'\?"), ("Zzzzzzzz", r"\. `trt-convert inspect`")],
)
def test_an_op_type_that_nobody_knows(
    tmp_path: Path, tftrt: dict[str, Any], name: str, hint: str
) -> None:
    spec = ConversionSpec(input_shapes=SHAPES, op_denylist=("MatMul", name))
    with pytest.raises(SpecError, match=f"has an op type '{name}'{hint}"):
        here(save(tmp_path / "model"), tmp_path / "out", spec)
    assert not tftrt["calls"] and not (tmp_path / "out").exists()


def test_op_types_of_tensorflow_and_of_the_graph() -> None:
    graph = chain("Relu", "OpOfNobody").graph
    check_denied_ops(ConversionSpec(op_denylist=("Softmax", "OpOfNobody", "Relu")), graph)
    with pytest.raises(SpecError, match="did you mean 'OpOfNobody'"):
        check_denied_ops(ConversionSpec(op_denylist=("OpOfNobod",)), graph)


def test_a_file_with_neither_list(tmp_path: Path) -> None:
    path = tmp_path / "deny.json"
    path.write_text(json.dumps({"spec": {"op_denylist": ["Relu"]}}))
    with pytest.raises(SpecError, match="neither op_denylist nor node_denylist; give the denylist"):
        Denylist.read(path)
    path.write_text(json.dumps({"node_denylist": ["a"]}))
    assert Denylist.read(path).node_denylist == ("a",)
