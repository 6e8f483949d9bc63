"""Tests the batches that engines are built with: which signature gets the data, in which shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from converters.inputs.batch_files import read_batch
from converters.inputs.build_data import write_build_batches
from converters.inputs.by_signature import build_data_of
from converters.inputs.calibration_data import InputSpec
from converters.util.errors import SpecError

STRINGS = {"contents": InputSpec((None,), np.dtype(object))}
IMAGES = {"x": InputSpec((None, None, 3), np.dtype(np.float32))}


def test_data_goes_to_strings_or_to_all() -> None:
    inputs = {"bytes": STRINGS, "images": IMAGES}
    assert build_data_of([1], inputs) == {"bytes": [1]}
    assert build_data_of([1], {"a": IMAGES, "b": IMAGES}) == {"a": [1], "b": [1]}
    assert build_data_of({"images": [1]}, inputs) == {"images": [1]}
    with pytest.raises(SpecError, match="'a' and 'b' have different inputs"):
        build_data_of([1], {"a": IMAGES, "b": {"y": IMAGES["x"]}})
    with pytest.raises(SpecError, match="the signature 'other', which is not converted"):
        build_data_of({"bytes": [1], "other": [1]}, inputs)


def test_rows_repeat_in_a_declared_shape(tmp_path: Path) -> None:
    data = [np.array([b"a", b"b"]), np.array([b"c"])]
    declared = [{"contents": (5,)}, {"contents": (1,)}]
    found = write_build_batches(data, STRINGS, declared, tmp_path / "a")
    assert list(found.shapes) == declared
    five, one = found.batches()
    assert five["contents"].tolist() == [b"a", b"b", b"c", b"a", b"b"]
    assert one["contents"].tolist() == [b"a"]
    file = found.file_of({"contents": (1,)})
    assert file is not None and read_batch(Path(file))["contents"].tolist() == [b"a"]
    assert found.file_of({"contents": (2,)}) is None


def test_no_more_is_read_than_is_needed(tmp_path: Path) -> None:
    def endless():
        while True:
            yield np.ones((2, 4, 3), np.float32)

    found = write_build_batches(endless, IMAGES, [{"x": (3, 4, 3)}], tmp_path / "a")
    (batch,) = found.batches()
    assert batch["x"].shape == (3, 4, 3)


def test_rows_of_another_shape(tmp_path: Path) -> None:
    small, large = np.zeros((1, 4, 3), np.float32), np.ones((1, 8, 3), np.float32)
    declared = [{"x": (2, 8, 3)}]
    (batch,) = write_build_batches(
        [small, large, large], IMAGES, declared, tmp_path / "a"
    ).batches()
    assert batch["x"].min() == 1
    with pytest.raises(SpecError, match="rows of shape 4x3, and the shape 2x8x3 is to be built"):
        write_build_batches([small], IMAGES, declared, tmp_path / "b")


def test_rows_that_do_not_fit_are_not_counted(tmp_path: Path) -> None:
    """Three rows are needed of each shape; the data begins with more rows of other shapes."""
    sizes = [4, 4, 8, 4, 8, 2, 8, 8]
    data = [np.full((1, size, 3), index, np.float32) for index, size in enumerate(sizes)]
    read: list[int] = []

    def counted():
        for index, batch in enumerate(data):
            read.append(index)
            yield batch

    declared = [{"x": (3, 8, 3)}, {"x": (2, 4, 3)}]
    eight, four = write_build_batches(counted, IMAGES, declared, tmp_path / "a").batches()
    assert eight["x"][:, 0, 0].tolist() == [2, 4, 6]
    assert four["x"][:, 0, 0].tolist() == [0, 1]
    assert read == list(range(7))


def test_endless_data_without_a_declared_shape(tmp_path: Path) -> None:
    def endless():
        while True:
            yield np.ones((2, 4, 3), np.float32)

    declared = [{"x": (3, 4, 3)}, {"x": (3, 8, 3)}]
    with pytest.raises(SpecError, match="rows of shape 4x3, and the shape 3x8x3 is to be built"):
        write_build_batches(endless, IMAGES, declared, tmp_path / "a")


def test_one_batch_of_each_shape_without_declared_ones(tmp_path: Path) -> None:
    data = [np.full((n, 4, 3), index, np.float32) for index, n in enumerate([1, 2, 1, 2])]
    found = write_build_batches(data, IMAGES, [], tmp_path / "a")
    assert [batch["x"][0, 0, 0] for batch in found.batches()] == [1, 0]
