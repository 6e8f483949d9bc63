"""A spec from a file, and options over it."""

from __future__ import annotations

import json

import pytest

from converters.spec.conversion_spec import ConversionSpec
from converters.util.shapes import ShapeRange

pytest_plugins = ["recorded_cli"]  # fixture calls


@pytest.mark.parametrize("record", [False, True], ids=["a spec", "a record"])
def test_a_spec_from_a_file_and_options_over_it(spec_of, tmp_path, record):
    written = ConversionSpec(precision="FP16", input_shapes=[{"x": (8, 2)}], op_denylist=["Relu"])
    values = written.resolved().to_json()
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({"spec": values, "files": {}} if record else values))
    assert spec_of("--spec", str(path)).resolved() == written.resolved()
    changed = spec_of("--spec", str(path), "--range", "x:1x2..8x2", "--explicit-batch")
    assert changed.input_shapes is None
    assert changed.shape_ranges == {"x": ShapeRange((1, 2), (8, 2))}
    assert changed.precision == "FP16" and changed.op_denylist == ("Relu",)


def test_what_was_asked_for_is_read_from_a_record(spec_of, tmp_path):
    """What followed from it (one engine, no INT8 required) would not fit the options."""
    asked = ConversionSpec(input_shapes=[{"x": (8, 2)}])
    path = tmp_path / "conversion.json"
    values = {"spec": asked.resolved().to_json(), "asked": asked.to_json(), "files": {}}
    path.write_text(json.dumps(values))
    same = spec_of("--spec", str(path))
    assert same.resolved() == asked.resolved()
    int8 = spec_of("--spec", str(path), "--precision", "int8", "--calibrate", "d").resolved()
    assert int8.require_int8 and int8.use_calibration
    two = spec_of("--spec", str(path), "--shape", "x:8x2", "--shape", "x:1x2").resolved()
    assert two.maximum_cached_engines == same.resolved().maximum_cached_engines + 1
    assert spec_of("--spec", str(path), "--range", "x:1x2..8x2").resolved().explicit_batch


INT8_SPECS = {
    "calibrated": {"calibration_table": "a.calib_table", "calibration_batches": 3},
    "by hand": {"use_calibration": False, "custom_ranges": {"x": (0.0, 1.0)}},
}


@pytest.mark.parametrize("fields", INT8_SPECS.values(), ids=INT8_SPECS)
@pytest.mark.parametrize(
    "options",
    [["--precision", "fp16"], ["--calibrate", "d"], ["--no-calibration"]],
    ids=["not INT8", "calibrated", "not calibrated"],
)
def test_options_over_an_int8_spec(spec_of, tmp_path, fields, options):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(ConversionSpec("INT8", **fields).to_json()))
    found = spec_of("--spec", str(path), *options).resolved()
    assert found.precision == ("FP16" if "fp16" in options else "INT8")
    assert found.use_calibration is ("--calibrate" in options)
