"""Pictures are cut, resized and scaled by the documented rule."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from converters.inputs.calibration_data import InputSpec
from converters.inputs.labelled_images import ImageOptions, ImageReader
from converters.util.errors import VerificationDataError

pytest.importorskip("tensorflow")
RAMP = np.arange(60 * 100 * 3).reshape(60, 100, 3).astype(np.uint8)


def png(pixels: np.ndarray) -> bytes:
    made = io.BytesIO()
    Image.fromarray(pixels).save(made, "PNG")
    return made.getvalue()


def read(
    pixels: np.ndarray, shape: tuple[int | None, ...], dtype: Any = np.uint8, **options: Any
) -> Any:
    reader = ImageReader("x", InputSpec(shape, np.dtype(dtype)), ImageOptions(**options))
    return reader.read(png(pixels), "a.png")


@pytest.mark.parametrize(
    ("size", "center_crop", "part"),
    [
        ((60, 60), 1.0, np.s_[:, 20:80]),  # the short side, and the middle of the long one
        ((30, 30), 0.5, np.s_[15:45, 35:65]),
        ((60, 100), 1.0, np.s_[:, :]),
        ((20, 100), 1.0, np.s_[20:40, :]),  # a wider aspect cuts the height
        ((15, 25), 0.25, np.s_[22:37, 37:62]),
    ],
)
def test_the_middle_is_cut_out(size: tuple[int, int], center_crop: float, part: Any) -> None:
    found = read(RAMP, (None, *size, 3), center_crop=center_crop)
    np.testing.assert_array_equal(found, RAMP[part])


def test_resizing_is_bilinear() -> None:
    pixels = np.zeros((4, 4, 3), np.uint8)
    pixels[:, 2:] = 100
    # The centres of 8 pixels lie at 0.25, 0.75, ... of the 4; values between are interpolated.
    centres = (np.arange(8) + 0.5) / 2 - 0.5
    row = np.interp(centres, np.arange(4), pixels[0, :, 0])
    found = read(pixels, (None, 8, 8, 3), np.float32, value_range=(0, 255))
    np.testing.assert_allclose(found[..., 1], np.tile(row, (8, 1)), atol=1e-4)
    # Integers are rounded.
    np.testing.assert_array_equal(read(pixels, (1, 8, 8, 3))[0, :, 0], np.rint(row))


def test_values_of_float_inputs() -> None:
    shape, x = (None, 60, 100, 3), RAMP / 255
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.1, 0.5)
    for options, wanted in (
        ({}, x),
        ({"value_range": (-1.0, 1.0)}, 2 * x - 1),
        ({"mean": mean, "std": std}, (x - mean) / std),
        ({"mean": (0.5,)}, x - 0.5),
    ):
        found = read(RAMP, shape, np.float32, **options)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert read(RAMP, shape, np.float16).dtype == np.float16
    grey = read(RAMP, (None, 60, 100, 1))
    assert grey.shape == (60, 100, 1)
    first = read(RAMP, (None, 3, 60, 100))
    np.testing.assert_array_equal(first, RAMP.transpose(2, 0, 1))


@pytest.mark.parametrize(
    ("shape", "dtype", "options", "said"),
    [
        ((None, 8), np.float32, {}, "takes no picture"),
        ((None, 8, 8, 7), np.float32, {}, "takes no picture"),
        ((None, None, None, 3), np.float32, {}, "does not say the size.*--shape x:"),
        ((None, 8, 8, 3), np.float32, {"mean": (1.0, 2.0)}, "mean has 2 numbers"),
        ((None, 8, 8, 3), np.float32, {"std": (0.0,)}, "std is .*can be 0"),
        ((None, 8, 8, 3), np.float32, {"center_crop": 0}, "center_crop is 0"),
        ((None, 8, 8, 3), np.float32, {"mean": (1.0,), "value_range": (0, 1)}, "not both"),
        ((None, 8, 8, 3), np.float32, {"value_range": (255,)}, "lowest and the highest"),
        (
            (None, 8, 8, 3),
            np.uint8,
            {"center_crop": 0.5, "value_range": (-1, 1)},
            r"^value_range \(--value-range\) has no effect: the input 'x' is uint8.* Leave it out",
        ),
        (
            (None, 8, 8, 3),
            np.int32,
            {"mean": (1.0,), "std": (2.0,)},
            r"^mean \(--mean\) and std \(--std\) have no effect.* Leave them out",
        ),
    ],
)
def test_inputs_and_options_that_do_not_fit(
    shape: Any, dtype: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(VerificationDataError, match=said):
        read(RAMP, shape, dtype, **options)
