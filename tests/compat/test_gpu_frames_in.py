"""An encoder reads frames in a GPU's memory. In these tests, host memory stands in for it."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from compat_streams import HEIGHT, WIDTH

import tf_nvcodec.compat as nvc
from tf_nvcodec.compat import gpu_frames_in
from tf_nvcodec.compat.encoder_library import EncodedPacket, GpuRows, NativeEncoder

FRAME_BYTES = WIDTH * HEIGHT * 3 // 2


def nv12(seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return draw.integers(0, 256, (HEIGHT * 3 // 2, WIDTH), dtype=np.uint8)


def padded(array: np.ndarray, pitch: int) -> np.ndarray:
    wide = np.full((*array.shape[:-1], pitch), 0xEE, array.dtype)
    wide[..., : array.shape[-1]] = array
    return wide[..., : array.shape[-1]]


class Dlpack:
    """Shows its memory by DLPack, as the arrays of PyTorch and CuPy do."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (2, 0)) -> None:
        self.array, self.device = array, device
        self.stream: int | None = None

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, stream: int | None = None) -> object:
        self.stream = stream
        return self.array.__dlpack__()


class CudaArray:
    """Has a __cuda_array_interface__, like Numba's arrays and the planes of PyNvVideoCodec's
    frames."""

    def __init__(self, array: np.ndarray, **entries: object) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            **entries,
        }


class Planes:
    """Gives its planes by cuda(), like the objects in the programming guide's examples."""

    def __init__(self, *planes: object) -> None:
        self.planes = planes

    def cuda(self) -> list[object]:
        return list(self.planes)


class Reader:
    def __init__(self) -> None:
        self.waits: list[tuple[int, int]] = []

    def gpu_stream(self, gpu: int) -> int:
        return 700 + gpu

    def wait_for(self, gpu: int, stream: int) -> None:
        self.waits.append((gpu, stream))


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.setattr(gpu_frames_in, "gpu_of_memory", lambda address: 0)
    return Reader()


def bytes_of(rows: list[GpuRows]) -> bytes:
    return b"".join(
        ctypes.string_at(part.data + i * part.pitch, part.row_bytes)
        for part in rows
        for i in range(part.rows)
    )


FRAME = nv12()
LUMA, CHROMA = FRAME[:HEIGHT], FRAME[HEIGHT:]
KINDS = {
    "dlpack": lambda: Dlpack(FRAME),
    "dlpack, padded": lambda: Dlpack(padded(FRAME, 512)),
    "dlpack, flat": lambda: Dlpack(FRAME.reshape(-1)),
    "dlpack, words": lambda: Dlpack(FRAME.view(np.uint16)),
    "dlpack, managed memory": lambda: Dlpack(FRAME, (13, 0)),
    "cuda array": lambda: CudaArray(FRAME),
    "cuda array without strides": lambda: CudaArray(FRAME, strides=None),
    "cuda array, padded": lambda: CudaArray(padded(FRAME, 336)),
    "planes": lambda: Planes(
        CudaArray(LUMA[..., None]), CudaArray(CHROMA.reshape(HEIGHT // 2, WIDTH // 2, 2))
    ),
    "planes apart, padded": lambda: Planes(
        CudaArray(padded(LUMA, 384)), Dlpack(padded(CHROMA.copy(), 400))
    ),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_is_the_same_rows(kind: str, reader: Reader) -> None:
    given = KINDS[kind]()
    assert gpu_frames_in.is_on_gpu(given)
    frame = gpu_frames_in.gpu_frame(given, FRAME_BYTES, reader)
    assert bytes_of(frame.rows) == FRAME.tobytes()
    assert frame.gpu == 0


@pytest.mark.parametrize("frame", [FRAME, FRAME.tobytes(), Dlpack(FRAME, (1, 0)), object(), None])
def test_host_memory_is_not_on_a_gpu(frame: object) -> None:
    assert not gpu_frames_in.is_on_gpu(frame)


def test_producers_are_waited_for(reader: Reader) -> None:
    tensor = Dlpack(FRAME)
    gpu_frames_in.gpu_frame(tensor, FRAME_BYTES, reader)
    assert tensor.stream == 700 and reader.waits == []
    gpu_frames_in.gpu_frame(CudaArray(FRAME, stream=2), FRAME_BYTES, reader)
    assert reader.waits == [(0, 2)]
    planes = Planes(CudaArray(LUMA, stream=5), CudaArray(CHROMA, stream=6))
    gpu_frames_in.gpu_frame(planes, FRAME_BYTES, reader, stream=9)
    assert reader.waits == [(0, 2), (0, 5), (0, 6), (0, 9)]


@pytest.mark.parametrize(
    ("shape", "strides", "rows"),
    [
        ((6, 8), None, (48, 1, 48)),
        ((6, 8), (8, 1), (48, 1, 48)),
        ((6, 8), (32, 1), (8, 6, 32)),
        ((6, 4, 2), (32, 2, 1), (8, 6, 32)),
        ((3, 6, 8), (192, 32, 1), (8, 18, 32)),
        ((6, 8, 1), (32, 1, 99), (8, 6, 32)),
        ((1, 6, 8), (7, 32, 1), (8, 6, 32)),
    ],
)
def test_rows_of_an_array(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, rows: tuple[int, ...]
) -> None:
    assert gpu_frames_in.as_rows(64, shape, strides, 1) == GpuRows(64, *rows)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((6, 8), (1, 6)), ((6, 8), (20, 2)), ((6, 8), (-8, 1)), ((3, 6, 8), (500, 32, 1))],
)
def test_an_array_that_is_no_rows(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="whole rows, evenly spaced"):
        gpu_frames_in.as_rows(64, shape, strides, 1)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (Dlpack(LUMA), "a frame has 92160 bytes .* got 61440 in the GPU's memory"),
        (Planes(CudaArray(FRAME), CudaArray(CHROMA)), "got 122880"),
        (CudaArray(FRAME.astype(np.float32)), "must hold bytes .* got float32"),
        (CudaArray(FRAME, mask=1), "without a mask"),
        (CudaArray(FRAME, typestr="what"), "must say typestr, data and shape"),
        (Dlpack(FRAME.astype(np.float32)), "got DLPack's type 2 of 32 bits"),
        (Dlpack(FRAME, (10, 0)), r"DLPack's device \(10, 0\): CUDA's can"),
        (Planes(Dlpack(LUMA), Dlpack(CHROMA, (2, 1))), r"on one GPU; got GPUs \[0, 1\]"),
        (Planes(), "gives a list of planes; got Planes"),
        (Planes(LUMA.tobytes()), "a plane on a GPU must have .* got bytes"),
    ],
)
def test_a_frame_that_can_not_be(frame: object, message: str, reader: Reader) -> None:
    with pytest.raises(ValueError, match=message):
        gpu_frames_in.gpu_frame(frame, FRAME_BYTES, reader)


def test_an_address_of_no_gpu() -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", False)
    with pytest.raises(nvc.PyNvVCException, match=r"libcuda\.so\.1|is of no GPU's memory"):
        encoder.Encode(CudaArray(FRAME))
    assert encoder.Encode(FRAME) + encoder.EndEncode()  # The encoder still works.


def test_the_stream_is_that_of_host_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []

    def encode_gpu(
        self: NativeEncoder, gpu: int, rows: list[GpuRows], timestamp: int, force_key: bool
    ) -> list[EncodedPacket]:
        data = ctypes.create_string_buffer(bytes_of(rows), FRAME_BYTES)
        return self.encode(ctypes.cast(data, ctypes.c_void_p), FRAME_BYTES, timestamp, force_key)

    monkeypatch.setattr(gpu_frames_in, "gpu_of_memory", lambda address: 3)
    monkeypatch.setattr(NativeEncoder, "encode_gpu", encode_gpu)
    monkeypatch.setattr(
        NativeEncoder, "wait_for", lambda self, gpu, stream: seen.append((gpu, stream))
    )
    frames = [nv12(seed) for seed in range(4)]
    host = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True)
    gpu = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", False, cudastream=77)
    want = b"".join(map(host.Encode, frames)) + host.EndEncode()
    got = b"".join(gpu.Encode(CudaArray(padded(frame, 512))) for frame in frames) + gpu.EndEncode()
    assert got == want
    assert seen == [(3, 77)] * 4
