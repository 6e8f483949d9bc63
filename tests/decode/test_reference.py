"""Tests the reference itself: it must agree with tf.image.resize and with known answers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import reference
import tensorflow as tf
from reference import Frame, View

ORIENTATIONS = [(turn, mirrored) for turn in (0, 90, 180, 270) for mirrored in (False, True)]
SIZES = [((33, 49), (12, 20)), ((12, 20), (33, 49)), ((36, 64), (18, 32)), ((20, 20), (20, 7))]


@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic", "area"])
@pytest.mark.parametrize(("before", "after"), SIZES)
def test_resize_is_that_of_tensorflow(
    method: str, before: tuple[int, int], after: tuple[int, int]
) -> None:
    plane = np.random.default_rng(1).uniform(0, 255, before)
    theirs = tf.image.resize(plane[None, ..., None].astype(np.float32), after, method=method)
    # TensorFlow works in float32, and takes bicubic weights from a table of 1024 steps.
    tolerance = 0.5 if method == "bicubic" else 2e-3
    ours = reference.resize(plane, *after, method)
    np.testing.assert_allclose(ours, theirs.numpy()[0, ..., 0], atol=tolerance)


@pytest.mark.parametrize("space", ["bt601", "bt709", "bt2020"])
@pytest.mark.parametrize("colour_range", ["limited", "full"])
@pytest.mark.parametrize("depth", [8, 10, 12])
def test_known_colours(space: str, colour_range: str, depth: int) -> None:
    """The forward equations of H.273 turn white, black and the primaries to Y'CbCr. The reference
    must turn them back."""
    colours = np.array([[1, 1, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float64)
    kr, kb = reference.KR_KB[space]
    y = colours @ [kr, 1 - kr - kb, kb]
    pb, pr = (colours[:, 2] - y) / (2 * (1 - kb)), (colours[:, 0] - y) / (2 * (1 - kr))
    if colour_range == "full":
        top = (1 << depth) - 1
        luma, cb, cr = y * top, pb * top + (top + 1) / 2, pr * top + (top + 1) / 2
    else:
        step = 1 << (depth - 8)
        luma, cb, cr = (219 * y + 16) * step, (224 * pb + 128) * step, (224 * pr + 128) * step
    planes = [plane[None] for plane in (luma, cb, cr)]
    back = reference.yuv_to_rgb(planes, space, colour_range, depth)
    np.testing.assert_allclose(back[0], colours, atol=1e-12)


def test_planes_of_an_odd_picture() -> None:
    data = bytes(range(5 * 3)) + bytes(range(100, 106)) + bytes(range(200, 206))
    luma, cb, cr = reference.split_planes(data, "yuv420p", 5, 3)
    assert luma.shape == (3, 5)
    assert cb.shape == cr.shape == (2, 3)
    assert cr[1, 2] == 205


def test_bilinear_chroma_of_a_ramp_is_the_ramp() -> None:
    """Linear interpolation reproduces a linear picture wherever the samples are sited."""
    for siting in ((-1, 0), (0, 0), (-1, -1)):
        x = 2 * np.arange(8) + (siting[0] + 1) / 2
        y = 2 * np.arange(6) + (siting[1] + 1) / 2
        plane = 3 * x[None, :] + 7 * y[:, None]
        ours = reference.upsample_bilinear(plane, (1, 1), 12, 16, siting)
        exact = 3 * np.arange(16)[None, :] + 7 * np.arange(12)[:, None]
        np.testing.assert_allclose(ours[1:-1, 1:-1], exact[1:-1, 1:-1], atol=1e-9)


def _picture(pixel_format: str, height: int, width: int) -> Frame:
    fmt = reference.parse_format(pixel_format)
    across, down = fmt.shifts
    samples = height * width + 2 * (-(-height >> down)) * (-(-width >> across))
    data = np.random.default_rng(3).integers(0, 1 << fmt.depth, samples)
    packed = data.astype("<u2" if fmt.depth > 8 else "u1").tobytes()
    return Frame(packed, pixel_format, width, height)


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p", "yuv444p10le"])
@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic", "area"])
def test_a_resized_frame_is_its_planes_resized(pixel_format: str, method: str) -> None:
    frame = _picture(pixel_format, 32, 48)
    planes = [reference.resize(plane, 20, 28, method) for plane in frame.planes]
    depth = reference.parse_format(pixel_format).depth
    want = reference.yuv_to_rgb(planes, "bt601", "limited", depth)
    np.testing.assert_allclose(frame.rgb(View((20, 28), method)), want, atol=1e-12)


@pytest.mark.parametrize("size", [(32, 48), (33, 47)])
def test_packed_output_of_the_same_format_is_the_frame(size: tuple[int, int]) -> None:
    frame = _picture("yuv420p", *size)
    for ours, theirs in zip(frame.yuv(8, 1), frame.planes):
        np.testing.assert_array_equal(ours, theirs)
    for rotation, mirrored in ORIENTATIONS:
        shown = dataclasses.replace(frame, rotation=rotation, mirrored=mirrored)
        for ours, theirs in zip(shown.yuv(8, 1)[:1], frame.planes):
            np.testing.assert_array_equal(ours, reference.displayed(theirs, rotation, mirrored))


@pytest.mark.parametrize(("rotation", "mirrored"), ORIENTATIONS)
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p", "yuv440p", "yuv411p"])
def test_full_size_planes_are_those_of_the_colour_rule(
    pixel_format: str, rotation: int, mirrored: bool
) -> None:
    """The reference has two ways to a picture of full size: it resamples the planes, or it repeats
    the stored chroma. Both must give the same, also for odd sizes."""
    frame = dataclasses.replace(
        _picture(pixel_format, 33, 47), rotation=rotation, mirrored=mirrored
    )
    planes = frame.yuv(8, 0)
    want = reference.yuv_to_rgb(planes, "bt601", "limited", 8)
    np.testing.assert_allclose(frame.rgb(), want, atol=1e-12)
