"""random_batches makes up inputs for a signature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from converters.inputs.calibration_data import InputSpec
from converters.inputs.random_inputs import random_batches
from converters.util.errors import VerificationError


def spec(*shape: int | None, dtype: Any = np.float32) -> InputSpec:
    return InputSpec(shape, np.dtype(dtype))


def test_random_inputs_follow_seed_and_spec() -> None:
    specs = {
        "f": spec(None, 50),
        "h": spec(4, 5, dtype=np.float16),
        "u": spec(None, 500, dtype=np.uint8),
        "i": spec(None, 500, dtype=np.int64),
        "b": spec(None, 500, dtype=bool),
        "s": spec(),
    }
    first = list(random_batches(specs, 3, {"f": (7, 50)}, seed=5))
    again = list(random_batches(specs, 3, {"f": (7, 50)}, seed=5))
    other = list(random_batches(specs, 3, {"f": (7, 50)}, seed=6))
    for name, given in specs.items():
        assert all(batch[name].dtype == given.dtype for batch in first)
        np.testing.assert_array_equal(first[1][name], again[1][name])
    assert not np.array_equal(first[0]["f"], first[1]["f"])
    assert not np.array_equal(first[0]["f"], other[0]["f"])
    batch = first[0]
    assert batch["f"].shape == (7, 50) and batch["u"].shape == (1, 500) and batch["s"].shape == ()
    assert -1 <= batch["f"].min() < -0.9 and 0.9 < batch["f"].max() < 1
    assert batch["u"].max() > 250
    assert set(batch["i"].ravel().tolist()) == set(range(8))
    assert set(batch["b"].ravel().tolist()) == {False, True}
    # The values of an input do not depend on which other inputs there are.
    alone = next(random_batches({"f": specs["f"]}, 1, {"f": (7, 50)}, seed=5))
    np.testing.assert_array_equal(alone["f"], batch["f"])


def test_integers_keep_their_range() -> None:
    (batch,) = random_batches({"i": spec(900, dtype=np.int8)}, 1, int_range=(-1000, 1000))
    assert batch["i"].min() < -120 and batch["i"].max() > 120
    (batch,) = random_batches({"i": spec(900, dtype=np.int32)}, 1, int_range=(5, 7))
    assert set(batch["i"].tolist()) == {5, 6}


@pytest.mark.parametrize(
    ("given", "shapes", "says"),
    [
        (spec(None, dtype=object), None, "takes strings.*pass data"),
        (spec(None, None), None, r"\?x\?.*--shape"),
        (InputSpec(None, np.dtype(np.float32)), None, "unknown"),
        (spec(None, 3), {"x": (2, 4)}, "2x4 does not fit"),
        (spec(None, 3), {"x": (3,)}, "3 does not fit"),
        (spec(None, 3), {"y": (2, 3)}, "given for 'y'; the inputs are x"),
    ],
)
def test_inputs_that_cannot_be_made_up(given: InputSpec, shapes: Any, says: str) -> None:
    with pytest.raises(VerificationError, match=says):
        random_batches({"x": given}, 1, shapes)
