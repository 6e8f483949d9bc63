"""Runs the guide's scripts with pycuda and PyTorch on a GPU: contexts, streams, frames as tensors
and tensors as frames. FFmpeg decodes the same clips for comparison."""

from __future__ import annotations

from pathlib import Path

import guide_framework_scripts as guide
import numpy as np
import pytest
from compat_streams import HEIGHT, WIDTH, nv12_frames, write_nv12
from gpu_clips import folder
from guide_scripts import run_here

import tf_nvcodec.compat as nvc

pytestmark = pytest.mark.gpu

NO_PYCUDA = "pycuda is not installed: pip install pycuda, which needs CUDA's headers and a compiler"
NO_TORCH = "PyTorch is not installed: pip install torch"


def decoded(source: Path) -> np.ndarray:
    """Returns FFmpeg's frames of a file, [T, H * 3 / 2, W]."""
    decoder = nvc.SimpleDecoder(source, use_device_memory=False, backend="cpu")
    return np.stack([np.asarray(frame) for frame in decoder])


@pytest.mark.parametrize("script", ["PRIMARY_CONTEXT", "OWN_CONTEXT"])
def test_contexts_and_streams_of_pycuda(script: str, tmp_path: Path) -> None:
    pytest.importorskip("pycuda.driver", reason=NO_PYCUDA)
    path, out = folder() / "h264.mp4", tmp_path / "out.yuv"
    frames = decoded(path)
    said = run_here(getattr(guide, script), path, out)
    assert said == [f"{len(frames)} {frames[0].shape}"]
    assert out.read_bytes() == frames.tobytes()


def test_frames_in_the_memory_of_pycuda(tmp_path: Path) -> None:
    pytest.importorskip("pycuda.driver", reason=NO_PYCUDA)
    raw, path = write_nv12(tmp_path / "input.yuv", 12), tmp_path / "output.h264"
    assert run_here(guide.PYCUDA_FRAMES, WIDTH, HEIGHT, raw, path) == ["12"]
    np.testing.assert_array_equal(decoded(path), np.stack(nv12_frames(12)))


def test_frames_as_tensors_and_back(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    path, out = folder() / "h264.mp4", tmp_path / "output.h264"
    frames = decoded(path)
    said = run_here(guide.TORCH, path, out)
    assert said == [f"True cuda {frames.shape} {frames.sum(dtype=np.int64)}"]
    np.testing.assert_array_equal(decoded(out), frames)


def test_a_stream_of_pytorch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    path, out = folder() / "h264.mp4", tmp_path / "output.h264"
    assert run_here(guide.TORCH_STREAM, path, out) == ["True"]
    np.testing.assert_array_equal(decoded(out), 255 - decoded(path))
