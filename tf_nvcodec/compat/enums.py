"""PyNvVideoCodec's enumerations, with its names and values."""

from __future__ import annotations

import enum
from typing import Any


def _by_name(self: int, format_spec: str) -> str:
    return format(int(self), format_spec) if format_spec else str(self)


class NamedInteger(enum.IntEnum):
    """An integer that str() and format() show by name, cudaVideoCodec.H264, in every Python."""

    __str__ = enum.Enum.__str__
    __format__ = _by_name


class NamedFlag(enum.IntFlag):
    """Flags that str() and format() show by name."""

    __str__ = enum.Flag.__str__
    __format__ = _by_name


class cudaVideoCodec(NamedInteger):
    """The codecs of NVIDIA's decoder. The last five are raw video, which nothing here decodes."""

    MPEG1 = 0
    MPEG2 = 1
    MPEG4 = 2
    VC1 = 3
    H264 = 4
    JPEG = 5
    H264_SVC = 6
    H264_MVC = 7
    HEVC = 8
    VP8 = 9
    VP9 = 10
    AV1 = 11
    YUV420 = 0x49595556
    YV12 = 0x59563132
    NV12 = 0x4E563132
    YUYV = 0x59555956
    UYVY = 0x55595659


# This uses the functional form because the names are no identifiers: cudaVideoChromaFormat["420"].
_functional: Any = NamedInteger  # mypy knows the form of the standard library's classes only
cudaVideoChromaFormat: type[NamedInteger] = _functional(
    "cudaVideoChromaFormat",
    {"Monochrome": 0, "420": 1, "422": 2, "444": 3},
    module=__name__,
)


class cudaVideoSurfaceFormat(NamedInteger):
    NV12 = 0
    P016 = 1
    YUV444 = 2
    YUV444_16Bit = 3
    NV16 = 4
    P216 = 5


class Pixel_Format(NamedInteger):
    """The formats of decoded frames. P016, P216 and YUV444_16Bit have samples in the high bits."""

    NV12 = 3
    YUV444 = 4
    P016 = 5
    YUV444_16Bit = 6
    NV16 = 7
    P216 = 8
    RGB = 9
    RGBP = 10


class OutputColorType(NamedInteger):
    """The stream's own samples, or uint8 RGB as [H, W, 3] or [3, H, W]."""

    NATIVE = 0
    RGB = 1
    RGBP = 2


class VideoPacketFlag(NamedFlag):
    """The flags of a packet's `decode_flag`, which are those of NVIDIA's parser."""

    ENDOFSTREAM = 1
    TIMESTAMP = 2
    DISCONTINUITY = 4
    ENDOFPICTURE = 8
    NOTIFY_EOS = 16


class DisplayDecodeLatencyType(NamedInteger):
    NATIVE = 0
    LOW = 1
    ZERO = 2


class ColorSpace(NamedInteger):
    BT_601 = 0
    BT_709 = 1
    UNSPEC = 2


class ColorRange(NamedInteger):
    """MPEG is the limited range, JPEG the full one."""

    MPEG = 0
    JPEG = 1
    UDEF = 2
