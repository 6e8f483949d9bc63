"""Declares the C API's encoder (tf_nvcodec/capi/encoder.h) for ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from tf_nvcodec.compat.integers import INT32_MAX, whole
from tf_nvcodec.compat.library import check, declare
from tf_nvcodec.compat.ownership import Handle

_TYPES = {0: "", 1: "I", 2: "P", 3: "B"}


class _Config(ctypes.Structure):
    _fields_ = (
        ("codec", ctypes.c_char_p),
        ("format", ctypes.c_char_p),
        ("color_space", ctypes.c_char_p),
        ("names", ctypes.POINTER(ctypes.c_char_p)),
        ("values", ctypes.POINTER(ctypes.c_char_p)),
        *((name, ctypes.c_int32) for name in ("options", "params", "width", "height")),
        *((name, ctypes.c_int32) for name in ("fps_num", "fps_den", "gop")),
        *((name, ctypes.c_int32) for name in ("repeat_headers", "full_range")),
        *((name, ctypes.c_int32) for name in ("tick_units", "tick_scale")),
        *((name, ctypes.c_int32) for name in ("nvenc", "gpu", "frames_on_gpu")),
        ("cuda_context", ctypes.c_uint64),
    )


class _GpuRows(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("data", "row_bytes", "rows", "pitch"))


class _Packet(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
        *((name, ctypes.c_int64) for name in ("timestamp", "pts", "dts")),
        *((name, ctypes.c_int32) for name in ("picture_type", "key")),
    )


_handle = ctypes.c_void_p
_new = declare("encoder_new", [ctypes.POINTER(_Config), ctypes.POINTER(_handle)])
_free = declare("encoder_free", [_handle], None)
_info = declare(
    "encoder_info",
    [_handle, ctypes.POINTER(ctypes.c_uint64), *[ctypes.POINTER(ctypes.c_int32)] * 2],
)
_encode = declare(
    "encoder_encode", [_handle, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int]
)
_encode_gpu = declare(
    "encoder_encode_gpu",
    [_handle, ctypes.c_int, ctypes.POINTER(_GpuRows), ctypes.c_int, ctypes.c_int64, ctypes.c_int],
)
_gpu_stream = declare("encoder_gpu_stream", [_handle, ctypes.c_int, ctypes.POINTER(ctypes.c_int64)])
_wait_for = declare("encoder_wait_for", [_handle, ctypes.c_int, ctypes.c_int64])
_gpu_of_memory = declare("gpu_of_memory", [ctypes.c_uint64, ctypes.POINTER(ctypes.c_int32)])
_nvenc_is_on = declare("nvenc_is_on", [])
_finish = declare("encoder_finish", [_handle])
_packet = declare("encoder_packet", [_handle, ctypes.POINTER(_Packet)])
_parameter_sets = declare(
    "encoder_parameter_sets",
    [_handle, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint64)],
)
_set_rate = declare("encoder_set_rate", [_handle, *[ctypes.c_int64] * 3, *[ctypes.c_int32] * 2])


class EncodedPacket(NamedTuple):
    """A packet: `pts` and `dts` count the encoder's time base; `type` is "I", "P", "B" or ""."""

    data: bytes
    timestamp: int
    pts: int
    dts: int
    type: str
    key: bool


class GpuRows(NamedTuple):
    """Memory on a GPU: `rows` rows of `row_bytes` bytes, `pitch` bytes apart."""

    data: int
    row_bytes: int
    rows: int
    pitch: int


class Nvenc(NamedTuple):
    """The NVENC of GPU `gpu`; None is the first GPU that has one."""

    gpu: int | None
    frames_on_gpu: bool
    cuda_context: int


def nvenc_is_on() -> bool:
    """Whether backend="auto" may take NVENC."""
    return bool(_nvenc_is_on())


def gpu_of_memory(address: int) -> int:
    """Returns the number of the GPU that has an address.

    Raises:
      InvalidValueError: No GPU has this address.
      PyNvVCExceptionUnsupported: This machine has no driver.
    """
    gpu = ctypes.c_int32()
    address = whole("the address of a frame on a GPU", address, 0, 2**64 - 1)
    check(_gpu_of_memory(address, ctypes.byref(gpu)))
    return gpu.value


class NativeEncoder:
    """An encoder of the C API. It is for one thread at a time; its owner holds a lock."""

    def __init__(
        self,
        codec: str,
        pixel_format: str,
        width: int,
        height: int,
        fps: Fraction,
        gop: int,
        color_space: str | None,
        full_range: bool,
        tick: tuple[int, int] | None,
        repeat_sets: bool,
        options: Mapping[str, str],
        params: Mapping[str, str],
        nvenc: Nvenc | None = None,
    ) -> None:
        self._as_c = Handle(_free)
        settings = [*options.items(), *params.items()]
        texts = ctypes.c_char_p * max(len(settings), 1)
        config = _Config(
            codec=codec.encode(),
            format=pixel_format.encode(),
            color_space=(color_space or "").encode(),
            names=texts(*(name.encode() for name, _ in settings)),
            values=texts(*(value.encode() for _, value in settings)),
            options=len(options),
            params=len(params),
            width=width,
            height=height,
            fps_num=fps.numerator,
            fps_den=fps.denominator,
            gop=gop,
            repeat_headers=repeat_sets,
            full_range=full_range,
            tick_units=tick[0] if tick else 0,
            tick_scale=tick[1] if tick else 0,
        )
        if nvenc is not None:
            config.nvenc = True
            config.gpu = -1 if nvenc.gpu is None else nvenc.gpu
            config.frames_on_gpu = nvenc.frames_on_gpu
            config.cuda_context = nvenc.cuda_context
        self.uses_nvenc = nvenc is not None
        self.settings = dict(settings)
        check(_new(ctypes.byref(config), ctypes.byref(self._as_c)))
        size, num, den = ctypes.c_uint64(), ctypes.c_int32(), ctypes.c_int32()
        check(_info(self._as_c, ctypes.byref(size), ctypes.byref(num), ctypes.byref(den)))
        self.frame_bytes = size.value
        self.time_base = Fraction(num.value, den.value)

    def free(self) -> None:
        self._as_c.free()

    def encode(
        self, data: ctypes.c_void_p, size: int, timestamp: int, force_key: bool
    ) -> list[EncodedPacket]:
        check(_encode(self._as_c, data, size, timestamp, force_key))
        return self._packets()

    def encode_gpu(
        self, gpu: int, rows: Sequence[GpuRows], timestamp: int, force_key: bool
    ) -> list[EncodedPacket]:
        """Encodes a frame in the memory of `gpu`, which may change as soon as this returns."""
        parts = (_GpuRows * len(rows))(*(_GpuRows(*part) for part in rows))
        check(_encode_gpu(self._as_c, gpu, parts, len(rows), timestamp, force_key))
        return self._packets()

    def gpu_stream(self, gpu: int) -> int:
        """Returns the CUDA stream, numbered as in DLPack, on which frames of `gpu` are read."""
        stream = ctypes.c_int64()
        gpu = whole("the number of a frame's GPU", gpu, 0, INT32_MAX)
        check(_gpu_stream(self._as_c, gpu, ctypes.byref(stream)))
        return stream.value

    def wait_for(self, gpu: int, stream: int) -> None:
        """Makes the next frames of `gpu` be read after the work now queued on `stream`."""
        check(_wait_for(self._as_c, gpu, whole("the stream of a frame on a GPU", stream)))

    def finish(self) -> list[EncodedPacket]:
        check(_finish(self._as_c))
        return self._packets()

    def parameter_sets(self) -> bytes:
        data, size = ctypes.c_void_p(), ctypes.c_uint64()
        check(_parameter_sets(self._as_c, ctypes.byref(data), ctypes.byref(size)))
        return ctypes.string_at(data, size.value) if data.value else b""

    def set_rate(self, bitrate: int, max_bitrate: int, vbv_size: int, fps: Fraction) -> None:
        rate = (bitrate, max_bitrate, vbv_size)
        check(_set_rate(self._as_c, *rate, fps.numerator, fps.denominator))

    def _packets(self) -> list[EncodedPacket]:
        packets: list[EncodedPacket] = []
        packet = _Packet()
        while True:
            check(_packet(self._as_c, ctypes.byref(packet)))
            if not packet.data:
                return packets
            packets.append(
                EncodedPacket(
                    ctypes.string_at(packet.data, packet.size),
                    packet.timestamp,
                    packet.pts,
                    packet.dts,
                    _TYPES.get(packet.picture_type, ""),
                    bool(packet.key),
                )
            )
