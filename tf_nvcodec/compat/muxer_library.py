"""Declares the C API's muxer (tf_nvcodec/capi/muxer.h) for ctypes."""

from __future__ import annotations

import ctypes
from fractions import Fraction

from tf_nvcodec.compat.integers import whole
from tf_nvcodec.compat.library import check, declare
from tf_nvcodec.compat.ownership import Handle


class _Config(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("path", "container", "codec")),
        ("parameter_sets", ctypes.c_char_p),
        ("parameter_sets_size", ctypes.c_uint64),
        *((name, ctypes.c_int32) for name in ("width", "height", "time_num", "time_den")),
        *((name, ctypes.c_int32) for name in ("fps_num", "fps_den")),
    )


_handle = ctypes.c_void_p
_new = declare("muxer_new", [ctypes.POINTER(_Config), ctypes.POINTER(_handle)])
_free = declare("muxer_free", [_handle], None)
_write = declare(
    "muxer_write",
    [_handle, ctypes.c_char_p, ctypes.c_uint64, *[ctypes.c_int64] * 3, ctypes.c_int],
)
_set_tags = declare("muxer_set_tags", [_handle, _handle, ctypes.c_int])
_add_sound = declare("muxer_add_sound", [_handle, _handle, ctypes.c_int32])
_write_sound = declare("muxer_write_sound", [_handle, _handle, ctypes.c_int64])
_finish = declare("muxer_finish", [_handle])


class NativeMuxer:
    """A muxer of the C API. It opens the file at once.

    `free` without `finish` leaves a file without its end.
    """

    def __init__(
        self,
        path: bytes,
        container: str,
        codec: str,
        width: int,
        height: int,
        time_base: Fraction,
        fps: Fraction | None,
        parameter_sets: bytes,
    ) -> None:
        self._as_c = Handle(_free)
        config = _Config(
            path=path,
            container=container.encode(),
            codec=codec.encode(),
            parameter_sets=parameter_sets,
            parameter_sets_size=len(parameter_sets),
            width=width,
            height=height,
            time_num=time_base.numerator,
            time_den=time_base.denominator,
            fps_num=fps.numerator if fps else 0,
            fps_den=fps.denominator if fps else 1,
        )
        check(_new(ctypes.byref(config), ctypes.byref(self._as_c)))

    def write(self, data: bytes, pts: int, dts: int, duration: int, key: bool) -> None:
        times = map(whole, ("pts", "dts", "duration"), (pts, dts, duration))
        check(_write(self._as_c, data, len(data), *times, key))

    def set_tags(self, demuxer: ctypes.c_void_p, keep_colors: bool) -> None:
        check(_set_tags(self._as_c, demuxer, keep_colors))

    def add_sound(self, demuxer: ctypes.c_void_p, track: int) -> None:
        check(_add_sound(self._as_c, demuxer, track))

    def write_sound(self, packet: ctypes.c_void_p, start: int) -> None:
        check(_write_sound(self._as_c, packet, start))

    def finish(self) -> None:
        check(_finish(self._as_c))

    def free(self) -> None:
        self._as_c.free()
