"""Which batches a benchmark sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.inputs.calibration_data import InputSpec
from converters.measure.cells import MOST_BATCHES, cell_batches, items_of
from converters.util.errors import MeasureError

FLOAT = np.dtype(np.float32)
X = {"x": InputSpec((None, 3), FLOAT)}
OPEN = {"x": InputSpec((None, None, 3), FLOAT), "flag": InputSpec((), np.dtype(bool))}
FIXED = {"x": InputSpec((4, 3), FLOAT)}


def shapes(specs: Any, given: Any = (), sizes: Any = (), data: Any = None) -> list[dict]:
    cells = list(cell_batches(specs, given, sizes, data, 0))
    for batches in cells:
        found = [{name: value.shape for name, value in batch.items()} for batch in batches]
        assert all(one == found[0] for one in found)
    return [{name: value.shape for name, value in batches[0].items()} for batches in cells]


def test_random_batches() -> None:
    assert shapes(X) == [{"x": (1, 3)}]
    assert shapes(X, [{"x": (4, 3)}, {"x": (2, 3)}]) == [{"x": (4, 3)}, {"x": (2, 3)}]
    assert shapes(X, sizes=(1, 8)) == [{"x": (1, 3)}, {"x": (8, 3)}]
    assert shapes(FIXED, sizes=(4,)) == [{"x": (4, 3)}]


def test_a_batch_replaces_the_first_dimension_of_a_shape() -> None:
    found = shapes(OPEN, [{"x": (1, 7, 3)}], (2, 8))
    assert found == [{"x": (2, 7, 3), "flag": ()}, {"x": (8, 7, 3), "flag": ()}]


def test_shapes_that_differ_in_their_batch_alone_are_one_with_a_batch_size() -> None:
    assert shapes(X, [{"x": (1, 3)}, {"x": (2, 3)}], (4, 8)) == [{"x": (4, 3)}, {"x": (8, 3)}]


def test_items_are_those_of_the_open_dimension() -> None:
    """A table that goes with each request is no batch of its own."""
    specs = {**X, "table": InputSpec((16, 5), np.dtype(np.float32))}
    (found,) = shapes(specs, sizes=(8,))
    assert found == {"x": (8, 3), "table": (16, 5)} and items_of(specs, found) == 8
    rows = {"x": np.zeros((8, 3), np.float32), "table": np.zeros((16, 5), np.float32)}
    (given,) = shapes(specs, [{name: array.shape for name, array in rows.items()}], (4,))
    assert given == {"x": (4, 3), "table": (16, 5)}
    assert items_of(FIXED, {"x": (4, 3)}) == 4


@pytest.mark.parametrize(
    ("specs", "given", "sizes", "message"),
    [
        (X, [{"x": (4, 5)}], (), "'x': the shape 4x5 does not fit the model's \\?x3"),
        (X, [{"y": (4, 3)}], (), "a shape was given for 'y'; the inputs are x"),
        (OPEN, (), (8,), "'x' has the shape \\?x\\?x3: say the unknown dimensions"),
        (FIXED, (), (8,), "a batch of 8 was asked for, and input 'x' is always 4x3"),
        (FIXED, [{"x": (4, 3)}], (8,), "the shape 8x3 does not fit the model's 4x3"),
        ({"s": InputSpec((None,), np.dtype(object))}, (), (1,), "'s' takes strings"),
    ],
)
def test_what_does_not_fit_is_refused(specs: Any, given: Any, sizes: Any, message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        shapes(specs, given, sizes)


def test_data_is_cut_into_batches_of_each_size(tmp_path: Path) -> None:
    rows = np.arange(60, dtype=np.float32).reshape(20, 3)
    assert shapes(X, data=rows) == [{"x": (20, 3)}]
    cells = list(cell_batches(X, (), (1, 8), rows, 0))
    # Of 20 examples there are two batches of 8, and a request takes no incomplete one.
    assert [len(batches) for batches in cells] == [MOST_BATCHES, 2]
    np.testing.assert_array_equal(cells[1][1]["x"], rows[8:16])
    np.save(tmp_path / "rows.npy", rows)
    assert shapes(X, sizes=(5,), data=[str(tmp_path / "rows.npy")]) == [{"x": (5, 3)}]


def test_data_that_does_not_fit() -> None:
    rows = np.zeros((4, 3), np.float32)
    with pytest.raises(MeasureError, match="a batch of 8 was asked for, and the data gives x:4x3"):
        shapes(X, sizes=(8,), data=rows)
    with pytest.raises(MeasureError, match="a batch of 2 was asked for, and the data gives x:4x3"):
        shapes(X, sizes=(2,), data=[rows, rows])
    with pytest.raises(MeasureError, match="benchmark: .*no such file"):
        shapes(X, data="nowhere.npy")
    with pytest.raises(MeasureError, match="can be read only once"):
        shapes(X, sizes=(1, 2), data=iter([rows]))
    with pytest.raises(MeasureError, match="has shape 4x4, the model takes \\?x3"):
        shapes(X, data=np.zeros((4, 4), np.float32))
