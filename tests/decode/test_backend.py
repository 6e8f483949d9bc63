"""Tests `backend` on a machine without a GPU, and what the library says there about GPUs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from fork_server import printed_by
from golden_clips import Clips
from tensorflow.core.framework import kernel_def_pb2
from tensorflow.python.framework import kernels

import tf_nvcodec as nvc
from tf_nvcodec.nvrtc_folders import nvrtc_folders


@pytest.fixture
def no_nvdec() -> None:
    if nvc.is_available("nvdec"):
        pytest.skip("this machine has an NVDEC")


def test_auto_in_host_memory_is_the_cpu(clips: Clips) -> None:
    data, before = clips.data("h264.mp4"), nvc.decoder_pool()
    with tf.device("/CPU:0"):
        frames = [nvc.decode_video(data, backend=backend).frames for backend in ("auto", "cpu")]
    np.testing.assert_array_equal(*frames)
    assert nvc.decoder_pool() == before


@pytest.mark.usefixtures("no_nvdec")
def test_nvdec_without_one_says_what_is_missing_and_what_to_do(clips: Clips) -> None:
    for call in (
        lambda: nvc.decode_video(clips.data("h264.mp4"), backend="nvdec"),
        lambda: nvc.decode_frames_at(clips.data("h264.mp4"), [0], backend="nvdec"),
        # A dataset raises when it is made, not only when it is read.
        lambda: nvc.VideoDataset([str(clips.path("h264.mp4"))], backend="nvdec"),
    ):
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            call()
        assert 'backend="nvdec": ' in caught.value.message
        assert "libcuda.so.1" in caught.value.message
        assert 'backend="auto" or "cpu" decodes with FFmpeg' in caught.value.message


@pytest.mark.usefixtures("no_nvdec")
def test_the_pool_of_no_gpu_is_empty() -> None:
    assert nvc.decoder_pool() == (0,) * 8
    assert nvc.decoder_pool()._fields[:3] == ("created", "reused", "reconfigured")


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("VideoDecode", ["contents", "start", "stop", "stride", "size", "crop"]),
        ("VideoDecodeFramesAt", ["contents", "positions", "size", "crop"]),
    ],
)
def test_gpu_kernels_are_registered_with_all_but_the_frames_on_the_host(
    op: str, inputs: list[str]
) -> None:
    found = {
        kernel.device_type: list(kernel.host_memory_arg)
        for kernel in kernels.get_registered_kernels_for_op(op).kernel
        if isinstance(kernel, kernel_def_pb2.KernelDef)
    }
    assert found == {"CPU": [], "GPU": [*inputs, "pts", "valid"]}


def test_a_graph_for_the_gpu_runs_where_there_is_none(clips: Clips) -> None:
    """A graph that names a GPU may be loaded on a machine without one. TensorFlow's soft placement
    then runs the op on the CPU."""
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("this machine has a GPU")

    @tf.function
    def decode(contents: tf.Tensor) -> tf.Tensor:
        with tf.device("/GPU:0"):
            return nvc.decode_video(contents, stop=2, backend="auto").frames

    contents = tf.constant(clips.data("h264.mp4"))
    placed = tf.config.get_soft_device_placement()
    tf.config.set_soft_device_placement(True)
    try:
        np.testing.assert_array_equal(decode(contents), nvc.decode_video(contents, stop=2).frames)
    finally:
        tf.config.set_soft_device_placement(placed)


def test_pips_nvrtc_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "nvidia" / "cuda_nvrtc" / "lib"
    folder.mkdir(parents=True)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tf_nvcodec, os; "
        "print(os.environ['TF_NVCODEC_NVRTC_FOLDERS'])"
    )
    monkeypatch.delenv("TF_NVCODEC_NVRTC_FOLDERS", raising=False)

    def found() -> list[str]:
        return printed_by("-c", code).splitlines()[-1].split(":")

    assert str(folder) in found()
    monkeypatch.setenv("TF_NVCODEC_NVRTC_FOLDERS", "/somewhere")
    assert found() == ["/somewhere"]
    assert all(Path(name).is_dir() for name in nvrtc_folders())
