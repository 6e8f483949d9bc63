"""Names on a denylist that would keep nothing out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from copied_models import SHAPES, here, save
from trt_graphs import chain

from converters import ConversionSpec
from converters.denylist_search import Denylist
from converters.tftrt.spec_for_model import check_denied_ops
from converters.util.errors import SpecError

pytest_plugins = ["copied_tftrt"]  # fixture tftrt


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
