"""What is VC-1's own, whose frames test_nvdec_exact.py compares: its standard defines every bit."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_checks import check_auto_is_ffmpegs, codecs, native, on_cpu, on_gpu, taken
from gpu_clips import VC1, data

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", ["vc1_ipb.mkv", "vc1_odd.wmv"])
def test_rgb(name: str) -> None:
    native(name, stop=1)
    got = on_gpu(data(name)).frames.numpy().astype(int)
    want = on_cpu(data(name)).frames.numpy().astype(int)
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 2  # each within 1 of the reference


@pytest.mark.parametrize("name", VC1)
def test_auto_leaves_it_to_ffmpeg(name: str) -> None:
    """NVDEC's pictures of it have not been compared yet."""
    check_auto_is_ffmpegs(name)


def test_it_was_decoded_where_the_gpu_has_it() -> None:
    if "vc1" not in codecs():
        pytest.skip("this GPU's NVDEC has no VC-1")
    assert taken(VC1)
