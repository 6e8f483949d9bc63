"""Calls encode_video with tensors on the GPU. Without an NVENC, the error names the GPU, or the
bytes equal those that the CPU makes. With one, the tests decode the result."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tensorflow as tf
from encoded import moving, psnr
from gpu_checks import GPU, check_keeps_no_memory

import tf_nvcodec as nvc

pytestmark = pytest.mark.gpu

SWITCH = "TF_NVCODEC_EXPERIMENTAL_NVENC"
HEIGHT, WIDTH = 192, 320
PACKED = {"nv12": 1.5, "yuv420p": 1.5, "yuv444p": 3.0, "p010": 3.0}
PIXELS = [("rgb", dtype) for dtype in ("uint8", "uint16", "float16", "float32")]
PIXELS += [("bgr", "uint8"), ("bgr", "float32"), ("gray", "uint8"), ("gray", "float32")]
KINDS = [*PIXELS, *((name, "uint8") for name in PACKED)]


@pytest.fixture
def switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes backend="auto" try NVENC."""
    monkeypatch.setenv(SWITCH, "1")


@pytest.fixture
def no_soft_placement() -> Iterator[None]:
    """Turns soft placement off: an op for the GPU runs there or fails."""
    before = tf.config.get_soft_device_placement()
    tf.config.set_soft_device_placement(False)
    yield
    tf.config.set_soft_device_placement(before)


def nvenc_codecs() -> list[str]:
    """Returns the codecs of the first GPU's NVENC, or none. is_available tells them in a text such
    as "NVIDIA L4: h264, hevc, av1"."""
    available, reason = nvc.is_available("nvenc", reason=True)
    return reason.rpartition(": ")[2].split(", ") if available else []


def name_of_gpu() -> str:
    gpu = tf.config.list_physical_devices("GPU")[0]
    return str(tf.config.experimental.get_device_details(gpu)["device_name"])


def frames_of(input_format: str, dtype: str, count: int = 5) -> npt.NDArray[Any]:
    if input_format in PACKED:
        draw = np.random.default_rng(3)
        shape = (count, int(HEIGHT * WIDTH * PACKED[input_format]))
        return draw.integers(0, 256, shape, dtype=np.uint8)
    rgb = moving(count, HEIGHT, WIDTH)
    rgb = rgb[..., :1] if input_format == "gray" else rgb
    return np.ascontiguousarray(tf.image.convert_image_dtype(rgb, dtype).numpy())


def options_of(input_format: str) -> dict[str, Any]:
    size = (HEIGHT, WIDTH) if input_format in PACKED else None
    return {"input_format": input_format, "size": size}


def on_gpu(frames: npt.NDArray[Any]) -> tf.Tensor:
    with tf.device(GPU):
        tensor = tf.identity(tf.constant(frames))
    assert "GPU" in tensor.backing_device
    return tensor


def encode(frames: Any, **options: Any) -> bytes:
    return bytes(nvc.encode_video(frames, **{"num_threads": 1, **options}).numpy())


def in_function(frames: tf.Tensor, **options: Any) -> bytes:
    @tf.function
    def run(tensor: tf.Tensor) -> tf.Tensor:
        with tf.device(GPU):
            return nvc.encode_video(tensor, **{"num_threads": 1, **options})

    return bytes(run(frames).numpy())


def without_nvenc() -> None:
    if nvenc_codecs():
        pytest.skip("this GPU has an NVENC; the tests below are for it")


@pytest.mark.usefixtures("no_soft_placement")
@pytest.mark.parametrize(("input_format", "dtype"), KINDS)
def test_nvenc_that_is_missing_is_named(input_format: str, dtype: str) -> None:
    without_nvenc()
    frames, options = on_gpu(frames_of(input_format, dtype)), options_of(input_format)
    message = f'backend="nvenc": no NVENC on {name_of_gpu()}'
    for call in (encode, in_function):
        with pytest.raises(tf.errors.FailedPreconditionError, match=message):
            call(frames, backend="nvenc", **options)
    with tf.device(GPU), pytest.raises(tf.errors.FailedPreconditionError, match=message):
        encode(frames, backend="nvenc", **options)


@pytest.mark.usefixtures("switched_on", "no_soft_placement")
@pytest.mark.parametrize(("input_format", "dtype"), KINDS)
def test_auto_without_nvenc_is_the_cpus_bytes(input_format: str, dtype: str) -> None:
    without_nvenc()
    frames, options = frames_of(input_format, dtype), options_of(input_format)
    with tf.device("/CPU:0"):
        want = encode(frames, backend="cpu", **options)
    tensor = on_gpu(frames)
    assert encode(tensor, **options) == want
    assert in_function(tensor, **options) == want
    assert encode(frames, **options) == want  # These frames are in host memory.


@pytest.mark.usefixtures("switched_on")
def test_tensorflows_work_comes_first() -> None:
    without_nvenc()
    with tf.device(GPU):
        noise = tf.random.stateless_uniform((4096, 4096), (1, 1))
        for _ in range(8):
            noise = tf.matmul(noise, noise)
            noise /= tf.reduce_max(noise)
        frames = tf.reshape(noise[:192, : 2 * 64 * 3], (192, 2, 64, 3))
        frames = tf.transpose(tf.reshape(frames, (3, 64, 2, 64, 3)), (0, 2, 1, 3, 4))[:, 0]
    got = encode(frames)
    assert got == encode(frames.numpy(), backend="cpu")


@pytest.mark.usefixtures("switched_on")
def test_datasets_encode_from_host_memory() -> None:
    without_nvenc()
    clips = np.stack([moving(3, 64, 96, seed) for seed in range(4)])
    dataset = tf.data.Dataset.from_tensor_slices(clips)
    got = dataset.map(lambda clip: nvc.encode_video(clip, num_threads=1), num_parallel_calls=4)
    assert list(got.as_numpy_iterator()) == [encode(clip, backend="cpu") for clip in clips]


@pytest.mark.usefixtures("switched_on")
def test_threads_get_their_own() -> None:
    without_nvenc()
    clips = [moving(3, 64, 96, seed) for seed in range(4)]
    want = [encode(clip, backend="cpu") for clip in clips]
    tensors = [on_gpu(clip) for clip in clips]
    with ThreadPoolExecutor(4) as threads:
        got = list(threads.map(lambda i: encode(tensors[i % 4]), range(32)))
    assert got == want * 8


@pytest.mark.usefixtures("switched_on")
@pytest.mark.alone
def test_no_memory_is_left_behind() -> None:
    """Calls keep no GPU memory, with or without an NVENC, nor after errors."""
    frames = on_gpu(frames_of("rgb", "float32", 8))
    bad = frames * 300

    def both() -> None:
        encode(frames)
        with pytest.raises(tf.errors.InvalidArgumentError, match="frame 0 has a sample"):
            encode(bad)

    check_keeps_no_memory(both)


_LOAD = """
import sys, numpy as np, tensorflow as tf
import tf_nvcodec
assert not tf.config.list_physical_devices("GPU")
serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
open(sys.argv[3], "wb").write(serve(frames=tf.constant(np.load(sys.argv[2])))["video"].numpy())
"""


@pytest.mark.usefixtures("switched_on")
def test_saved_models_made_here_load_without_a_gpu(tmp_path: Path) -> None:
    class Encoder(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec((None, None, None, 3), tf.uint8, "frames")])
        def serve(self, frames: tf.Tensor) -> dict[str, tf.Tensor]:
            with tf.device(GPU):
                return {"video": nvc.encode_video(frames, num_threads=1)}

    model, folder = Encoder(), str(tmp_path / "model")
    tf.saved_model.save(model, folder, signatures={"serving_default": model.serve})
    frames = moving(4, 64, 96)
    files = [str(tmp_path / "frames.npy"), str(tmp_path / "video.mp4")]
    np.save(files[0], frames)
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run([sys.executable, "-c", _LOAD, folder, *files], env=environment, check=True)
    assert Path(files[1]).read_bytes() == encode(frames, backend="cpu")


def check_refused(codec: str, frames: tf.Tensor, **call: Any) -> None:
    with pytest.raises((tf.errors.FailedPreconditionError, tf.errors.UnimplementedError)) as caught:
        encode(frames, codec=codec, **call)
    # For AV1 there are two more causes: this libavcodec or the GPU's NVENC may be too old for it.
    known = f"no NVENC on {name_of_gpu()}" in caught.value.message
    assert known or (codec == "av1" and re.search("av1_nvenc|not av1", caught.value.message))


def check_decoded(video: bytes, want: npt.NDArray[np.uint8], times: npt.NDArray[Any]) -> None:
    got = nvc.decode_video(video, backend="cpu")
    assert got.frames.shape == want.shape
    np.testing.assert_allclose(got.pts, times, atol=1e-4)
    for i, frame in enumerate(got.frames.numpy()):
        assert psnr(frame, want[i]) > 30, f"frame {i}"


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
@pytest.mark.parametrize(("input_format", "dtype"), PIXELS)
def test_what_nvenc_makes_of_tensors_here(codec: str, input_format: str, dtype: str) -> None:
    """With an NVENC, the test compares the frames, their number and their times. Without one, it
    expects the error that says so."""
    frames = frames_of(input_format, dtype, 30)
    rgb = moving(30, HEIGHT, WIDTH)
    if input_format == "bgr":
        rgb = rgb[..., ::-1]
    if input_format == "gray":
        rgb = np.repeat(rgb[..., :1], 3, -1)
    uneven = np.cumsum(np.arange(30) % 3 + 1) / 30.0
    for options, times in (
        ({"crf": 18}, np.arange(30) / 30),
        ({"crf": 18, "bf": 0, "gop": 10}, np.arange(30) / 30),
        ({"bitrate": 4_000_000, "pts": uneven - uneven[0]}, uneven - uneven[0]),
    ):
        call = {"codec": codec, "backend": "nvenc", "input_format": input_format, **options}
        if codec not in nvenc_codecs():
            check_refused(frames=on_gpu(frames), **call)
            continue
        check_decoded(encode(on_gpu(frames), **call), rgb, times)
        check_decoded(in_function(on_gpu(frames), **call), rgb, times)
        check_decoded(encode(frames, **call), rgb, times)  # These frames are in host memory.


@pytest.mark.parametrize("input_format", list(PACKED))
def test_what_nvenc_makes_of_packed_frames_here(input_format: str) -> None:
    rgb = moving(30, HEIGHT, WIDTH)
    source = nvc.encode_video(rgb, codec="ffv1", container="mkv", pixel_format="yuv444p")
    # The CPU's decoder makes every packed format from this lossless video.
    packed = nvc.decode_video(source, pixel_format=input_format, backend="cpu").frames.numpy()
    call = {"codec": "hevc", "backend": "nvenc", "crf": 15, **options_of(input_format)}
    if "hevc" not in nvenc_codecs():
        check_refused(frames=on_gpu(packed), **call)
        return
    check_decoded(encode(on_gpu(packed), **call), rgb, np.arange(30) / 30)
