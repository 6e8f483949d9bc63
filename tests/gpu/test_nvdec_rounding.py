"""Some standards leave the last bits of the inverse transform to the decoder. For their codecs,
NVDEC's frames equal FFmpeg's except for rounding."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf
from gpu_checks import (
    check_as_many,
    check_auto_is_ffmpegs,
    check_random_access,
    codecs,
    native,
    nvdec_alone,
    on_cpu,
    on_gpu,
    taken,
)
from gpu_clips import REFUSED, ROUNDED, ROUNDING, data

pytestmark = pytest.mark.gpu

TAKEN_BY_NAME = ["mpeg1.mpg", "mpeg2.ts", "mpeg4.avi", "mjpeg.avi"]

# Frames of this clip refer to pictures that were cut off. NVDEC and FFmpeg each replace those in
# their own way.
MADE_UP = {"mpeg2_cut_start.ts"}
CLOSE = [name for name in ROUNDED if name not in MADE_UP]
# IEEE 1180 allows a mean square error of 0.02 in the output of a transform. The errors of the
# frames in a GOP add up, and these clips have GOPs of twelve.
MEAN_SQUARE_ERROR = 12 * 0.02


def worst_mean_square_error(got: np.ndarray, want: np.ndarray) -> float:
    """Returns the mean square error of the frame where it is largest."""
    off = got.astype(np.float64) - want.astype(np.float64)
    return float(np.square(off).reshape(len(off), -1).mean(axis=1).max())


@pytest.mark.parametrize("name", CLOSE)
def test_whole_clip(name: str) -> None:
    with nvdec_alone():
        frames, pts = native(name)
    want = on_cpu(data(name), pixel_format="native")
    assert frames.dtype == want.frames.dtype
    assert frames.shape == want.frames.shape
    np.testing.assert_array_equal(pts, want.pts)
    assert worst_mean_square_error(frames.numpy(), want.frames.numpy()) <= MEAN_SQUARE_ERROR


@pytest.mark.parametrize("name", CLOSE)
def test_random_access_equals_sequential(name: str) -> None:
    check_random_access(name, native(name).frames.numpy())


@pytest.mark.parametrize("name", ["mpeg1.mpg", "mpeg2.ts", "mpeg4.avi", "mjpeg.avi"])
def test_rgb(name: str) -> None:
    """If a sample is off by 1, a colour changes by up to 3. So the bound of the squares is 9 times
    as large."""
    native(name, stop=1)
    with nvdec_alone():
        got = on_gpu(data(name)).frames.numpy()
    want = on_cpu(data(name)).frames.numpy()
    assert worst_mean_square_error(got, want) <= 9 * MEAN_SQUARE_ERROR


@pytest.mark.parametrize(
    "name",
    ["mpeg2_interlaced.ts", "mpeg2_interlaced_300.ts", "mpeg2.ts", "mpeg1.mpg", "mjpeg.avi"],
)
def test_fields(name: str) -> None:
    native(name, stop=1)
    options = {"deinterlace": "bob", "pixel_format": "native"}
    with nvdec_alone():
        got = on_gpu(data(name), **options)
    want = on_cpu(data(name), **options)
    assert got.frames.shape == want.frames.shape
    np.testing.assert_array_equal(got.pts, want.pts)
    off = worst_mean_square_error(got.frames.numpy(), want.frames.numpy())
    assert off <= MEAN_SQUARE_ERROR


@pytest.mark.parametrize("name", sorted(MADE_UP))
def test_made_up_frames_are_as_many(name: str) -> None:
    check_as_many(name)


def test_jpegs_are_decoded_when_they_are_read() -> None:
    """Kernels on the GPU decode JPEGs, and they take longer while other kernels run. The test
    decodes two clips of one size in turns, in the same sessions. If a picture is read before it is
    decoded, it shows the other clip."""
    names = ("mjpeg.avi", "mjpeg_other.avi")
    want = {name: on_cpu(data(name), pixel_format="native").frames.numpy() for name in names}
    native(names[0], stop=1)

    def worst(i: int) -> float:
        name = names[i % 2]
        return worst_mean_square_error(native(name).frames.numpy(), want[name])

    with nvdec_alone(), ThreadPoolExecutor(8) as pool:
        assert max(pool.map(worst, range(100))) <= MEAN_SQUARE_ERROR


@pytest.mark.parametrize(("name", "why"), REFUSED.items())
def test_some_are_refused(name: str, why: str) -> None:
    """NVDEC's pictures of these streams differ from FFmpeg's, so they are refused
    (docs/nvdec.md)."""
    if name.startswith("mjpeg"):
        native("mjpeg.avi", stop=1)  # This skips the test if the GPU has no JPEG decoder.
    with pytest.raises(tf.errors.UnimplementedError, match=why):
        on_gpu(data(name), pixel_format="native")


@pytest.mark.parametrize("name", [*TAKEN_BY_NAME, *REFUSED])
def test_auto_is_ffmpegs_to_the_bit(name: str) -> None:
    check_auto_is_ffmpegs(name)


def test_the_codecs_that_the_gpu_has_were_decoded() -> None:
    for kind in ROUNDING:
        if any(codec.startswith(kind) for codec in codecs()):
            assert taken(name for name in CLOSE if name.startswith(kind)), kind
