"""PyNvVideoCodec's encoder gives the same stream for frames on the GPU as for host memory."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tensorflow as tf
from cuda_arrays import CudaArray, Stream
from gpu_checks import GPU, check_keeps_no_memory
from gpu_clips import data

import tf_nvcodec
import tf_nvcodec.compat as nvc
from tf_nvcodec.compat import encode_backend

pytestmark = pytest.mark.gpu

WIDTH, HEIGHT = 320, 192
ROWS = {"NV12": 1.5, "YUV420": 1.5, "YUV444": 3.0, "P010": 1.5, "YUV444_16bit": 3.0, "ARGB": 4.0}


def frame_of(fmt: str, seed: int) -> npt.NDArray[Any]:
    draw = np.random.default_rng(seed)
    shape = (int(HEIGHT * ROWS[fmt]), WIDTH)
    if fmt in ("P010", "YUV444_16bit"):
        return draw.integers(0, 1 << 16, shape).astype(np.uint16)
    return draw.integers(0, 256, shape, dtype=np.uint8)


def encode(frames: list[Any], fmt: str = "NV12", **options: Any) -> bytes:
    size = options.pop("size", (WIDTH, HEIGHT))
    encoder = nvc.CreateEncoder(*size, fmt, options.pop("host", False), **options)
    packets = [encoder.Encode(frame) for frame in frames]
    return b"".join([*packets, encoder.EndEncode()])


def on_gpu(frame: npt.NDArray[Any]) -> tf.Tensor:
    """Copies a frame to the GPU and waits, so that any stream may read the tensor."""
    with tf.device(GPU):
        tensor = tf.constant(frame)
    np.testing.assert_array_equal(tensor.numpy(), frame)
    return tensor


def address(tensor: tf.Tensor) -> int:
    interface = tf_nvcodec.DeviceFrames(tensor).__cuda_array_interface__
    return int(interface["data"][0])


class Planes:
    """Has only cuda(), like the objects in the programming guide's examples."""

    def __init__(self, planes: list[Any]) -> None:
        self.planes = planes

    def cuda(self) -> list[Any]:
        return self.planes


@pytest.mark.parametrize("fmt", list(ROWS))
def test_tensors_of_every_format(fmt: str) -> None:
    frames = [frame_of(fmt, seed) for seed in range(4)]
    tensors = [on_gpu(frame) for frame in frames]
    assert "GPU" in tensors[0].backing_device
    assert encode(tensors, fmt) == encode(frames, fmt, host=True)


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_what_nvdec_decodes_is_encoded(codec: str) -> None:
    def decode(**options: Any) -> list[nvc.DecodedFrame]:
        demuxer = nvc.CreateDemuxer(data("h264.mp4"))
        decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), **options)
        return [frame for packet in demuxer for frame in decoder.Decode(packet)][:12]

    frames, want = decode(backend="nvdec", usedevicememory=True), decode(backend="cpu")
    assert frames[0].__dlpack_device__() == (2, 0)
    size = want[0].shape[1], want[0].shape[0] * 2 // 3
    expected = encode([np.asarray(frame) for frame in want], size=size, codec=codec, gop=6)
    assert encode(frames, size=size, codec=codec, gop=6) == expected
    planes = [Planes(frame.cuda()) for frame in frames]
    assert encode(planes, size=size, codec=codec, gop=6) == expected


def test_rows_with_a_pitch() -> None:
    frames = [frame_of("NV12", seed) for seed in range(3)]
    pitch = 512
    arrays = []
    for frame in frames:
        wide = np.full((frame.shape[0], pitch), 0xEE, np.uint8)
        wide[:, :WIDTH] = frame
        tensor = on_gpu(wide)
        array = CudaArray(wide.shape, "uint8", None)
        stream = Stream()
        stream.copy(array.address, address(tensor), array.size)
        stream.synchronize()
        array.__cuda_array_interface__["shape"] = frame.shape
        array.__cuda_array_interface__["strides"] = (pitch, 1)
        arrays.append(array)
    assert encode(arrays) == encode(frames)


@pytest.mark.parametrize("told", ["by the array", "by the encoder"])
def test_the_producers_stream_comes_first(told: str) -> None:
    """The copy that writes the frame waits on its stream behind many long copies. The encoder must
    wait for it before it reads the frame."""
    stream = Stream()
    large = [CudaArray((1 << 29,), "uint8", None) for _ in range(2)]
    frames = [frame_of("NV12", seed) for seed in range(3)]
    tensors = [on_gpu(frame) for frame in frames]
    sources = [address(tensor) for tensor in tensors]
    by_array = told == "by the array"
    arrays = [CudaArray(frame.shape, "uint8", stream if by_array else None) for frame in frames]
    options = {} if by_array else {"cudastream": stream.handle}
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", False, **options)
    got = b""
    for array, source in zip(arrays, sources):
        for _ in range(100):
            stream.copy(large[0].address, large[1].address, large[0].size)
        stream.copy(array.address, source, array.size)
        got += encoder.Encode(array)
        # Encode has returned, so the encoder has read the frame. Changing it does no harm.
        stream.copy(array.address, large[0].address, array.size)
    got += encoder.EndEncode()
    stream.synchronize()
    assert got == encode(frames)


def test_tensorflows_work_comes_first() -> None:
    with tf.device(GPU):
        tensors = []
        for seed in range(3):
            noise = tf.random.stateless_uniform((4096, 4096), (seed, 1))
            for _ in range(8):
                noise = tf.matmul(noise, noise)
                noise /= tf.reduce_max(noise)
            tensors.append(tf.cast(noise[: HEIGHT * 3 // 2, :WIDTH] * 255, tf.uint8))
        got = encode(tensors)
    assert got == encode([tensor.numpy() for tensor in tensors])


def test_memory_of_the_host_is_no_gpus() -> None:
    frame = frame_of("NV12", 0)

    class Lying:
        def __init__(self) -> None:
            self.__cuda_array_interface__ = {
                "shape": frame.shape,
                "typestr": "|u1",
                "data": (frame.ctypes.data, False),
                "version": 3,
            }

    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", False)
    with pytest.raises(ValueError, match="is of no GPU's memory"):
        encoder.Encode(Lying())
    with pytest.raises(ValueError, match="a frame has 92160 bytes"):
        encoder.Encode(on_gpu(frame[1:]))
    assert encoder.Encode(on_gpu(frame)) + encoder.EndEncode() == encode([frame])


def test_no_nvenc_is_told(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    if tf_nvcodec.is_available("nvenc"):
        pytest.skip("this GPU has an NVENC")
    name = tf.config.experimental.get_device_details(tf.config.list_physical_devices("GPU")[0])
    message = f"no NVENC on {name['device_name']}"
    for gpu in ({}, {"gpu_id": 0}):
        with pytest.raises(nvc.PyNvVCExceptionUnsupported, match=message):
            nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", False, backend="nvenc", **gpu)
    with tf.device(GPU), pytest.raises(tf.errors.FailedPreconditionError, match=message):
        tf_nvcodec.encode_video(tf.zeros((2, 64, 64, 3), tf.uint8), backend="nvenc")
    monkeypatch.setattr(encode_backend, "_said", set())
    monkeypatch.setenv("TF_NVCODEC_EXPERIMENTAL_NVENC", "1")
    frames = [frame_of("NV12", seed) for seed in range(2)]
    with caplog.at_level(logging.WARNING, "tf_nvcodec"):
        got = encode([on_gpu(frame) for frame in frames])
        assert got == encode(frames) == encode(frames, backend="cpu")
    said = [record.getMessage() for record in caplog.records if message in record.getMessage()]
    assert len(said) == 1


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32"])
@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_encode_video_of_tensors_on_the_gpu(codec: str, dtype: str) -> None:
    draw = np.random.default_rng(0)
    frames = draw.random((6, 64, 96, 3)).astype(np.float32)
    if not dtype.startswith("float"):
        frames = frames * np.iinfo(dtype).max
    frames = frames.astype(dtype)
    options = {"num_threads": 1, "codec": codec}
    want = tf_nvcodec.encode_video(frames, backend="cpu", **options)
    with tf.device(GPU):
        on = tf.constant(frames)
        assert "GPU" in on.backing_device
        got = tf_nvcodec.encode_video(on, **options)
        in_graph = tf.function(lambda tensor: tf_nvcodec.encode_video(tensor, **options))(on)
    assert got.numpy() == want.numpy() == in_graph.numpy()


@pytest.mark.alone
def test_encoding_leaves_no_memory_behind() -> None:
    frames = [on_gpu(frame_of("NV12", seed)) for seed in range(8)]
    check_keeps_no_memory(lambda: encode(frames))
