"""Calibration tables keep every byte when they are read and written. The engines of a later
conversion find their tables again."""

from __future__ import annotations

import dataclasses
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from converters.int8.calibration_table import (
    CalibrationTable,
    TablesBySignature,
    match_tables,
    parse_tables,
    read_tables,
    serialize_tables,
    unknown_tensors,
    usable_table,
    write_tables,
)
from converters.model.trt_graph import EngineNode
from converters.util.errors import CalibrationError, OutputError

pytest_plugins = ["small_disk"]

# A table as TensorRT 8.6 writes it. It has all that is hard to read: a name with ": " in it, a
# scale of 0, and tensors that TensorRT numbers itself.
TEXT = (
    b"TRT-8600-EntropyCalibration2\n"
    b"TensorRTInputPH_0: 3c010a14\n"
    b"(Unnamed Layer* 0) [Convolution]_output: 3caa54fc\n"
    b"block: 1/Relu: 3f800000\n"
    b"(Unnamed Layer* 64) [Shuffle]_output: 0\n"
    b"block/Tiny: 7fffff\n"
    b"TensorRTOutputPH_0: 3b1d2336\n"
)


def table(*names: str, version: int = 8600) -> CalibrationTable:
    return CalibrationTable(f"TRT-{version}-EntropyCalibration2", dict.fromkeys(names, 0.5))


def test_a_table_is_read_and_written_to_the_byte() -> None:
    read = CalibrationTable.parse(TEXT)
    assert read.serialize().encode() == TEXT
    assert read.version == (8, 6, 0) and read.algorithm == "EntropyCalibration2"
    assert list(read.scales)[2] == "block: 1/Relu" and read.scales["block: 1/Relu"] == 1.0
    assert read.scales["(Unnamed Layer* 64) [Shuffle]_output"] == 0.0
    assert read.scales["TensorRTInputPH_0"] == struct.unpack(">f", bytes.fromhex("3c010a14"))[0]
    # 3c010204 is 1/127, the scale of the range from -1 to 1.
    assert CalibrationTable.parse(TEXT.replace(b"3c010a14", b"3c010204")).ranges()[
        "TensorRTInputPH_0"
    ] == pytest.approx(1.0, rel=1e-6)
    assert CalibrationTable.parse(TEXT[:-1]).serialize().encode() == TEXT[:-1]
    assert CalibrationTable.parse(TEXT.replace(b"\n", b"\r\n")) == read


def test_tensors_that_could_not_be_calibrated() -> None:
    text = TEXT + b"indices: 7f800000\n"
    read = CalibrationTable.parse(text)
    assert read.serialize().encode() == text
    assert read.without_scale() == ["(Unnamed Layer* 64) [Shuffle]_output", "indices"]


@pytest.mark.parametrize("bits", [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3FFFFFFF, 0x7F7FFFFF])
def test_every_float_keeps_its_bits(bits: int) -> None:
    text = f"TRT-101401-EntropyCalibration2\nx: {bits:x}\n"
    read = CalibrationTable.parse(text)
    assert read.serialize() == text
    assert read.version == (10, 14, 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "line 1: a table's first line is missing"),
        (b"x: 3f800000\n", "begins with a line such as TRT-8600"),
        (b"TRT-8XXX-EntropyCalibration2\n", "line 1 is 'TRT-8XXX"),
        (TEXT + b"x 3f800000\n", "line 8 is 'x 3f800000'"),
        (TEXT + b": 3f800000\n", "line 8"),
        (TEXT + b"x: 3f8000001\n", "line 8"),
        (TEXT + b"x: 0.5\n", "line 8"),
        (TEXT + b"x: \n", "line 8"),
        (TEXT + b"x: 7fc00000\n", "line 8: tensor 'x' has the scale nan"),
        (TEXT + b"x: bf800000\n", "scale -1.0"),
        (TEXT + b"block/Tiny: 1\n", "line 8 has the tensor 'block/Tiny' a second time"),
        (TEXT + b"\xff: 1\n", "is no calibration table"),
    ],
)
def test_bad_text_is_named_by_its_line(text: bytes, says: str) -> None:
    with pytest.raises(CalibrationError, match=says):
        CalibrationTable.parse(text)


def test_tables_made_here_are_checked() -> None:
    for scales in ({"x": -1.0}, {"x\ny": 1.0}, {"": 1.0}, {"x": float("nan")}):
        with pytest.raises(CalibrationError):
            CalibrationTable("TRT-8600-EntropyCalibration2", scales)
    with pytest.raises(CalibrationError, match="begins with"):
        CalibrationTable("TRT", {})


def test_files_of_one_engine_are_tensorrts_own(tmp_path: Path) -> None:
    path = tmp_path / "model.calib_table"
    write_tables(path, {"TRTEngineOp_000_000": CalibrationTable.parse(TEXT)})
    assert path.read_bytes() == TEXT
    assert read_tables(path) == {"": CalibrationTable.parse(TEXT)}


def test_files_of_several_engines(tmp_path: Path) -> None:
    path = tmp_path / "model.calib_table"
    tables = {
        "TRTEngineOp_000_000": CalibrationTable.parse(TEXT),
        "TRTEngineOp_000_001": CalibrationTable.parse(TEXT[:-1]),
        "TRTEngineOp_000_002": table("x"),
    }
    write_tables(path, tables)
    data = path.read_bytes()
    assert data.startswith(b"# engine TRTEngineOp_000_000\n" + TEXT + b"# engine TRTEngineOp_000")
    read = read_tables(path)
    assert read == tables and list(read) == list(tables)
    assert serialize_tables(read).encode() == data


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "is empty"),
        (TEXT + b"# engine a\n" + TEXT, "line 1 comes before the first"),
        (b"# engine a\n" + TEXT + b"# engine a\n" + TEXT, "line 9 names no engine, or one twice"),
        (b"# engine \n" + TEXT, "line 1 names no engine"),
        (b"# engine a\n", "line 2: a table's first line is missing"),
        (b"# engine a\n" + TEXT + b"# engine b\nTRT-8600-X\ny: 0\nz\n", "line 12 is 'z'"),
    ],
)
def test_bad_files(tmp_path: Path, text: bytes, says: str) -> None:
    path = tmp_path / "bad.calib_table"
    path.write_bytes(text)
    with pytest.raises(CalibrationError, match=says) as caught:
        read_tables(path)
    assert str(path) in str(caught.value)


def test_a_table_on_a_full_disk(full_disk: Path) -> None:
    path = full_disk / "model.calib_table"
    path.write_text("")
    large = CalibrationTable("TRT-8600-EntropyCalibration2", {f"t{i}": 1.0 for i in range(9999)})
    says = f"{path} cannot be written: No space left on device; 0 MB are free there now"
    with pytest.raises(OutputError, match=says):
        write_tables(path, {"": large}, overwrite=True)
    assert sorted(file.name for file in full_disk.iterdir()) == ["filler", "model.calib_table"]
    assert path.read_text() == ""


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_ctrl_c_while_a_table_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "model.calib_table"

    def interrupted(self: Path, *_: Any) -> None:
        self.touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_tables(path, {"": table("x")})
    assert list(tmp_path.iterdir()) == []


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model.calib_table"
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        write_tables(path, {"": table("x")})
    assert path.read_text() == "mine"
    write_tables(path, {"": table("x")}, overwrite=True)
    # A pipe stands in for /dev/null, which a faulty test could damage.
    os.mkfifo(tmp_path / "device")
    with pytest.raises(OutputError, match="device: exists and is no file"):
        write_tables(tmp_path / "device", {"": table("x")}, overwrite=True)
    (tmp_path / "device").unlink()
    with pytest.raises(OutputError, match="cannot be written"):
        write_tables(tmp_path / "none" / "x", {"": table("x")})
    with pytest.raises(CalibrationError, match="no calibration table to write"):
        write_tables(tmp_path / "y", {})
    with pytest.raises(CalibrationError, match="engine's name"):
        write_tables(tmp_path / "y", {"": table("x"), "b": table("x")})
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.calib_table"]
    with pytest.raises(CalibrationError, match="cannot be read"):
        read_tables(tmp_path / "none")


def test_the_version_must_be_the_loaded_one() -> None:
    read = CalibrationTable.parse(TEXT)
    assert usable_table(read, "8.6.0") is read
    assert usable_table(read, (8, 6, 0)) is read
    for other in ("8.6.1", "8.5.3", "10.14.1", "7.1.3"):
        with pytest.raises(CalibrationError, match=f"by TensorRT 8.6.0, and {other} is loaded"):
            usable_table(read, other)
        changed = usable_table(read, other, any_version=True)
        assert changed.scales == read.scales
        assert changed.version == tuple(map(int, other.split(".")))
    assert usable_table(read, "10.14.1", any_version=True).header.startswith("TRT-101401-")
    with pytest.raises(CalibrationError, match="MinMaxCalibration; TF-TRT takes only"):
        usable_table(CalibrationTable("TRT-8600-MinMaxCalibration", {"x": 1.0}), "8.6.0")
    with pytest.raises(CalibrationError, match="is empty"):
        usable_table(CalibrationTable("TRT-8600-EntropyCalibration2", {}), "8.6.0")


BLANK = {field.name: None for field in dataclasses.fields(EngineNode)}


def engine(name: str, *nodes: str, precision: str = "INT8", segment: bool = True) -> EngineNode:
    values: dict[str, Any] = {
        **BLANK,
        "name": f"scope/{name}",
        "canonical_name": name,
        "precision": precision,
        "has_segment": segment,
        "node_ops": dict.fromkeys(nodes, "Relu"),
    }
    return EngineNode(**values)


def test_tensors_of_an_engine() -> None:
    one = engine("TRTEngineOp_001_000", "net/conv", "net/a-b", "split", "net")
    fine = table(
        "net/conv",
        "TensorRTInputPH_12",
        "TensorRTOutputPH_0",
        "(Unnamed Layer* 3) [Scale]_output",
        "TRTEngineOp_000_000/net/conv",
        "TRTEngineOp_000_000/(Unnamed Layer* 3) [Scale]_output",
        "TRTEngineOp_000_000/net/conv-weights-const_output",
        "net/a-b-shuffle:1",
        "split:2",
    )
    assert unknown_tensors(fine, one) == []
    strange = ("net/con", "conv", "net/conv/x", "TensorRTInputPH_x", "other/net/conv", "netx-y")
    assert unknown_tensors(table(*strange), one) == list(strange)
    assert unknown_tensors(table(*strange), engine("e", segment=False)) == []


def test_a_later_conversion_finds_its_tables() -> None:
    """In a later conversion, the engines have other numbers in their names and come in another
    order. Each one still gets the table with its tensors."""
    tables = {
        "TRTEngineOp_000_000": table("a/conv", "TensorRTInputPH_0"),
        "TRTEngineOp_000_001": table("b/conv", "TensorRTInputPH_0"),
        "TRTEngineOp_000_002": table("TensorRTInputPH_0"),
    }
    engines = [
        engine("TRTEngineOp_004_001", "b/conv", "b/relu"),
        engine("TRTEngineOp_004_000", "a/conv"),
        engine("TRTEngineOp_004_003", "d/conv", precision="FP16"),
        engine("TRTEngineOp_004_002", "c/conv"),
    ]
    found = match_tables(tables, engines)
    assert found == {
        "TRTEngineOp_004_001": tables["TRTEngineOp_000_001"],
        "TRTEngineOp_004_000": tables["TRTEngineOp_000_000"],
        "TRTEngineOp_004_002": tables["TRTEngineOp_000_002"],
    }


def test_tensor_names_decide_over_engine_names() -> None:
    tables = {"TRTEngineOp_000_000": table("b"), "TRTEngineOp_000_001": table("a")}
    engines = [engine("TRTEngineOp_000_000", "a"), engine("TRTEngineOp_000_001", "b")]
    found = match_tables(tables, engines)
    assert list(found["TRTEngineOp_000_000"].scales) == ["a"]
    assert list(found["TRTEngineOp_000_001"].scales) == ["b"]


def test_each_signature_gets_its_own_table() -> None:
    """Nodes of different signatures may have the same names, and the names of engines change with
    each conversion. Each signature still gets the table of its own engine."""
    small, large, equal = table("conv1"), table("conv1", "conv2"), table("conv1", "conv2")
    tables = {
        "TRTEngineOp_000_000_1a2b3c4d": small,
        "TRTEngineOp_001_000_99999999": large,
        "TRTEngineOp_002_000_00000000": equal,
    }
    engines = {
        "one": engine("TRTEngineOp_000_000_ffffffff", "conv1"),
        "two": engine("TRTEngineOp_001_000_eeeeeeee", "conv1", "conv2"),
        "three": engine("TRTEngineOp_002_000_dddddddd", "conv1", "conv2"),
    }
    of_signatures = TablesBySignature(tables, alone=False)
    for _ in range(2):  # Asking again gives the same tables.
        for name, want in {"one": small, "two": large, "three": equal}.items():
            (found,) = of_signatures.of(name, [engines[name]]).values()
            assert found is want
    # Two of the three signatures are converted, in another order.
    of_signatures = TablesBySignature(tables, alone=False)
    for name, want in {"two": large, "one": small}.items():
        (found,) = of_signatures.of(name, [engines[name]]).values()
        assert found is want


def test_a_table_left_over_is_an_error_of_the_only_signature() -> None:
    tables = {"TRTEngineOp_000_000": table("a"), "TRTEngineOp_000_001": table("b")}
    one = [engine("TRTEngineOp_001_000_12345678", "a")]
    assert len(TablesBySignature(tables, alone=False).of("serve", one)) == 1
    with pytest.raises(CalibrationError, match="TRTEngineOp_000_001 is left over"):
        TablesBySignature(tables, alone=True).of("serve", one)


def test_a_bare_table_of_tensorrt_fits_the_only_engine() -> None:
    found = match_tables(parse_tables(TEXT), [engine("E_0", "block: 1/Relu", "block/Tiny")])
    assert found["E_0"] == CalibrationTable.parse(TEXT)


def test_the_order_counts_numbers_not_letters() -> None:
    tables = {f"TRTEngineOp_000_{i:03}": table(f"TensorRTInputPH_{i}") for i in range(12)}
    engines = [engine(f"TRTEngineOp_7_{i}", f"n{i}") for i in range(12)]
    found = match_tables(tables, engines)
    for index in range(12):
        assert list(found[f"TRTEngineOp_7_{index}"].scales) == [f"TensorRTInputPH_{index}"]


def test_a_changed_model_is_an_error() -> None:
    old = {"TRTEngineOp_000_000": table("a", "x", "y")}
    with pytest.raises(CalibrationError, match=r"f\.calib has no table .*2 tensors .*'x', 'y'"):
        match_tables(old, [engine("TRTEngineOp_001_000", "a")], "f.calib")
    two = [engine("TRTEngineOp_001_000", "a", "x", "y"), engine("TRTEngineOp_001_001", "b")]
    with pytest.raises(CalibrationError, match="no table for engine TRTEngineOp_001_001: it has 1"):
        match_tables(old, two)
    more = {**old, "TRTEngineOp_000_001": table("b")}
    with pytest.raises(CalibrationError, match="TRTEngineOp_000_001 is left over"):
        match_tables(more, two[:1])
    assert list(match_tables(more, two[:1], all_tables=False)) == ["TRTEngineOp_001_000"]
