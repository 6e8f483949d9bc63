"""The op VideoEncodeOnDevice takes frames in the memory of a GPU. These tests say when it is used
and where it may run. If the CPU encodes, it does the same as VideoEncode."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from encoded import moving
from fork_server import printed_by
from tensorflow.core.framework import kernel_def_pb2
from tensorflow.python.framework import kernels

import tf_nvcodec as nvc
from tf_nvcodec.python import gpu_call

SWITCH = "TF_NVCODEC_EXPERIMENTAL_NVENC"
FRAMES = moving(4, 64, 96)
OPTIONS: dict[str, Any] = {"num_threads": 1}


@pytest.fixture
def no_nvenc() -> str:
    available, reason = nvc.is_available("nvenc", reason=True)
    if available:
        pytest.skip("this machine has an NVENC")
    return reason


@pytest.fixture
def switched_on(no_nvenc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes backend="auto" try NVENC, which is not there."""
    monkeypatch.setenv(SWITCH, "1")


@pytest.fixture
def through_functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes eager calls go through functions, as they do on a machine with a GPU."""
    functions = gpu_call._function
    functions.cache_clear()
    monkeypatch.setattr(gpu_call, "_may_run_on_gpu", tf.executing_eagerly)
    yield
    functions.cache_clear()


def encode(frames: Any, **options: Any) -> tf.Tensor:
    return nvc.encode_video(frames, **{**OPTIONS, **options})


def plain() -> bytes:
    return bytes(encode(FRAMES, backend="cpu").numpy())


def encoding_ops(**options: Any) -> list[str]:
    traced = tf.function(lambda frames: encode(frames, **options)).get_concrete_function(FRAMES)
    return [op.type for op in traced.graph.get_operations() if op.type.startswith("VideoEncode")]


def test_only_frames_may_be_on_the_gpu() -> None:
    found = {
        op: {
            kernel.device_type: list(kernel.host_memory_arg)
            for kernel in kernels.get_registered_kernels_for_op(op).kernel
            if isinstance(kernel, kernel_def_pb2.KernelDef)
        }
        for op in ("VideoEncode", "VideoEncodeOnDevice")
    }
    assert found == {
        "VideoEncode": {"CPU": []},
        "VideoEncodeOnDevice": {"CPU": [], "GPU": ["fps", "pts", "size", "contents"]},
    }


def test_calls_that_never_go_to_nvenc_stay_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, auto in ((None, "VideoEncode"), ("0", "VideoEncode"), ("1", "VideoEncodeOnDevice")):
        monkeypatch.delenv(SWITCH, raising=False)
        if value is not None:
            monkeypatch.setenv(SWITCH, value)
        assert encoding_ops() == [auto]
        assert encoding_ops(backend="cpu") == ["VideoEncode"]
        assert encoding_ops(backend="nvenc") == ["VideoEncodeOnDevice"]


@pytest.mark.usefixtures("switched_on")
def test_every_mode_gives_the_cpus_bytes() -> None:
    assert encode(FRAMES).numpy() == plain()
    assert encode(tf.constant(FRAMES)).numpy() == plain()
    assert tf.function(encode)(FRAMES).numpy() == plain()
    dataset = tf.data.Dataset.from_tensors(FRAMES).repeat(6).map(encode, num_parallel_calls=3)
    assert list(dataset.as_numpy_iterator()) == [plain()] * 6


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32"])
@pytest.mark.usefixtures("switched_on")
def test_inputs_of_every_kind(dtype: str) -> None:
    frames = tf.image.convert_image_dtype(FRAMES, dtype)
    pts = [0, 0.5, 0.75, 3]
    for options in ({}, {"pts": pts}, {"fps": 29.97, "container": "mkv", "codec": "hevc"}):
        want = encode(frames, backend="cpu", **options)
        assert encode(frames, **options).numpy() == want.numpy()
    if dtype == "uint8":
        packed = {"input_format": "nv12", "size": (64, 64)}
        bytes_ = FRAMES.reshape(-1, 6144)
        assert encode(bytes_, **packed).numpy() == encode(bytes_, backend="cpu", **packed).numpy()


_SERVE = """
import sys, numpy as np, tensorflow as tf
import tf_nvcodec
serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
video = serve(frames=tf.constant(np.load(sys.argv[2])))["video"]
open(sys.argv[3], "wb").write(video.numpy())
"""


@pytest.mark.parametrize("switch", ["0", "1"])
@pytest.mark.usefixtures("switched_on")
def test_saved_models_for_the_gpu_load_where_there_is_none(switch: str, tmp_path: Path) -> None:
    class Encoder(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec((None, None, None, 3), tf.uint8, "frames")])
        def serve(self, frames: tf.Tensor) -> dict[str, tf.Tensor]:
            with tf.device("/GPU:0"):
                return {"video": encode(frames)}

    model, folder = Encoder(), str(tmp_path / "model")
    tf.saved_model.save(model, folder, signatures={"serving_default": model.serve})
    files = [str(tmp_path / "frames.npy"), str(tmp_path / "video.mp4")]
    np.save(files[0], FRAMES)
    printed_by("-c", _SERVE, folder, *files, **{SWITCH: switch, "CUDA_VISIBLE_DEVICES": ""})
    assert Path(files[1]).read_bytes() == plain()


@pytest.mark.usefixtures("switched_on")
def test_a_graph_for_the_gpu_runs_where_there_is_none() -> None:
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("this machine has a GPU")

    @tf.function
    def on_gpu(frames: tf.Tensor, backend: str) -> tf.Tensor:
        with tf.device("/GPU:0"):
            return encode(frames, backend=backend)

    placed = tf.config.get_soft_device_placement()
    tf.config.set_soft_device_placement(True)
    try:
        assert on_gpu(FRAMES, "auto").numpy() == plain()
        assert on_gpu(FRAMES, "cpu").numpy() == plain()
        with pytest.raises(tf.errors.FailedPreconditionError, match='backend="nvenc": '):
            on_gpu(FRAMES, "nvenc")
    finally:
        tf.config.set_soft_device_placement(placed)


@pytest.mark.usefixtures("through_functions", "switched_on")
def test_eager_calls_through_functions_are_the_same(no_nvenc: str) -> None:
    assert encode(FRAMES).numpy() == plain()
    assert encode(FRAMES[:2], pts=[0, 2]).numpy() == (
        encode(FRAMES[:2], pts=[0, 2], backend="cpu").numpy()
    )
    # One function serves all values and shapes. Calls with backend="cpu" need no function.
    assert gpu_call._function.cache_info().misses == 1
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        encode(FRAMES, backend="nvenc")
    assert caught.value.message.startswith(f'backend="nvenc": {no_nvenc}')
    with pytest.raises(tf.errors.InvalidArgumentError, match="^frames of input_format rgb must"):
        encode(FRAMES[0])


@pytest.mark.usefixtures("through_functions", "switched_on")
def test_eager_calls_follow_the_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    made = gpu_call._function

    def note(op: Any, device: str, *others: Any) -> Any:
        asked.append(device)
        return made(op, device, *others)

    monkeypatch.setattr(gpu_call, "_function", note)
    encode(FRAMES)
    encode(tf.constant(FRAMES))
    with tf.device("/GPU:0"):
        encode(FRAMES)
    nvc.decode_video(plain())
    assert [device.rpartition("device:")[2] for device in asked] == ["CPU:0", "CPU:0", "GPU:0", ""]


@pytest.mark.usefixtures("through_functions", "switched_on")
def test_threads_get_their_own() -> None:
    clips = [moving(3, 64, 64, seed) for seed in range(3)]
    want = [encode(clip, backend="cpu").numpy() for clip in clips]
    with ThreadPoolExecutor(3) as threads:
        got = list(threads.map(lambda i: encode(clips[i % 3]).numpy(), range(12)))
    assert got == want * 4
