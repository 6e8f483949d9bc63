"""An output that would be made in the place of what it is made from."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copied_models import SHAPES, X, here, left_in, save

from converters import ConversionSpec
from converters.apart import check_apart
from converters.errors import OutputError
from converters.extract_plan import extract_plans

pytest_plugins = ["copied_tftrt"]  # fixture tftrt

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "converted"


@pytest.mark.parametrize("output", ["a/model", "a", "a/model/variables", "a/model/new", "link"])
@pytest.mark.parametrize("named", ["a/model", "a/model/saved_model.pb"])
def test_the_model(tmp_path: Path, output: str, named: str) -> None:
    (tmp_path / "a" / "model" / "variables").mkdir(parents=True)
    (tmp_path / "a" / "model" / "saved_model.pb").touch()
    (tmp_path / "link").symlink_to("a/model")
    with pytest.raises(OutputError, match="name another output"):
        check_apart(tmp_path / output, tmp_path / named)
    for apart in ("b", "a/model2", "a/other"):
        check_apart(tmp_path / apart, tmp_path / named)


def test_extracted_plans_do_not_replace_the_model(tmp_path: Path) -> None:
    model = shutil.copytree(GOLDEN / "fp16_explicit", tmp_path / "models" / "one")
    files = sorted(model.rglob("*"))
    for out in (model, tmp_path / "models", model / "assets"):
        with pytest.raises(OutputError, match="are in one"):
            extract_plans(model, out, partial=True, compare=False, overwrite=True)
    assert sorted(model.rglob("*")) == files


@pytest.mark.parametrize("what", ["calibration_table", "calibration_data", "verify_data"])
def test_files_in_the_old_output(tmp_path: Path, tftrt: dict[str, Any], what: str) -> None:
    source, out = save(tmp_path / "model"), tmp_path / "out"
    out.mkdir()
    file = out / ("a.calib_table" if what == "calibration_table" else "a.npy")
    np.save(out / "a.npy", X[:4])
    spec = ConversionSpec("INT8", input_shapes=SHAPES)
    options: dict[str, Any] = {"calibration_data": {"x": X[:4]}}
    if what == "calibration_table":
        spec = ConversionSpec("INT8", input_shapes=SHAPES, calibration_table=str(file))
    else:
        options[what] = str(file)
    with pytest.raises(OutputError, match=r"out/a\.(npy|calib_table), .*is inside the output"):
        here(source, out, spec, overwrite=True, **options)
    assert left_in(out) == ["a.npy"] and not tftrt["calls"]
