"""deinterlace="bob" gives the same on the GPU and on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_checks import check_equal, codecs, on_cpu, on_gpu
from gpu_clips import data

pytestmark = pytest.mark.gpu

CLIPS = {
    "h264_mbaff.mp4": "h264",
    "h264_mbaff_bff.ts": "h264",
    "h264.mp4": "h264",
    "hevc.mp4": "hevc",
    "vp8.webm": "vp8",
    "vp9_altref.webm": "vp9",
}


@pytest.mark.parametrize("name", CLIPS)
@pytest.mark.parametrize("backend", ["auto", "nvdec"])
def test_planes_are_the_cpus(name: str, backend: str) -> None:
    if backend == "nvdec" and CLIPS[name] not in codecs():
        pytest.skip(f"this GPU decodes no {CLIPS[name]}")
    got = on_gpu(data(name), backend=backend, deinterlace="bob", pixel_format="native")
    want = on_cpu(data(name), deinterlace="bob", pixel_format="native")
    np.testing.assert_array_equal(got.pts, want.pts)
    check_equal(got.frames.numpy(), want.frames.numpy(), name)


def test_resized_rgb_is_close_to_the_cpus() -> None:
    options = {"deinterlace": "bob", "size": (64, 96)}
    got = on_gpu(data("h264_mbaff.mp4"), **options).frames.numpy().astype(int)
    want = on_cpu(data("h264_mbaff.mp4"), **options).frames.numpy().astype(int)
    assert np.abs(got - want).max() <= 1
