"""PacketData: an encoded packet."""

from __future__ import annotations

import ctypes
from typing import Any

from tf_nvcodec.compat.errors import InvalidValueError
from tf_nvcodec.compat.integers import whole
from tf_nvcodec.compat.library import declare
from tf_nvcodec.compat.ownership import Handle, Single

# The timestamp of packets without one: FFmpeg's AV_NOPTS_VALUE.
NO_TIMESTAMP = -(2**63)


class PacketInfo(ctypes.Structure):
    """nvc_packet_info of capi/demuxer.h."""

    _fields_ = (
        ("pts", ctypes.c_int64),
        ("dts", ctypes.c_int64),
        ("duration", ctypes.c_int64),
        ("pos", ctypes.c_int64),
        ("data", ctypes.c_uint64),
        ("size", ctypes.c_int64),
        ("is_key", ctypes.c_int32),
        ("is_discarded", ctypes.c_int32),
        ("stream_index", ctypes.c_int32),
    )


free_packet = declare("packet_free", [ctypes.c_void_p], None)


class PacketData(Single):
    """An encoded packet; without data it is the end of a stream.

    Attributes:
      bsl: The number of bytes of data.
      bsl_data: The address of the data, which belong to the packet and live as long as it.
        Assigning bytes (or another buffer) makes a packet of these bytes and sets `bsl`. After
        assigning an address, the caller sets `bsl` and keeps the memory alive.
      pts, dts, duration: In units of the stream's time base; NO_TIMESTAMP if the stream has none.
      pos: The offset in the container in bytes; -1 if unknown.
      key: Whether decoding may begin here.
      discardable: Whether an edit list hides the frame: it is decoded for others, never shown.
      stream_index, is_video: The stream in the container; is_video is 0 for sound, which only
        PyNvDemuxer.DemuxNoSkipAudio returns.
      seek_pts, bDiscontinuity: Set by PyNvDemuxer.Seek.
      decode_flag: Without meaning here; kept for scripts that set it.
    """

    def __init__(self) -> None:
        self.key = False
        self.pts = 0
        self.dts = 0
        self.pos = -1
        self.duration = 0
        self.bsl = 0
        self.seek_pts = 0
        self.bDiscontinuity = False
        self.decode_flag = 0
        self.stream_index = 0
        self.is_video = 1
        self.discardable = False
        self._data = 0
        self._size: int | None = None  # bytes in memory; None: only the caller knows
        self._kept: Any = None
        self._handle: Handle | None = None

    @classmethod
    def _of(cls, handle: Handle, info: PacketInfo, is_video: bool) -> PacketData:
        packet = cls()
        packet._handle = handle
        packet.key = bool(info.is_key)
        packet.pts, packet.dts = info.pts, info.dts
        packet.pos, packet.duration = info.pos, info.duration
        packet.bsl = packet._size = info.size
        packet._data = info.data
        packet.discardable = bool(info.is_discarded)
        packet.stream_index = info.stream_index
        packet.is_video = int(is_video)
        return packet

    @property
    def bsl_data(self) -> int:
        return self._data

    @bsl_data.setter
    def bsl_data(self, data: Any) -> None:
        if isinstance(data, int):
            self._kept = self._size = None
            self._data = data
            return
        self._kept = bytes(memoryview(data))
        self._data = ctypes.cast(ctypes.c_char_p(self._kept), ctypes.c_void_p).value or 0
        self.bsl = self._size = len(self._kept)

    def __bytes__(self) -> bytes:
        """Returns a copy of the data."""
        self._check()
        return ctypes.string_at(self._data, self.bsl) if self.bsl > 0 else b""

    def _check(self) -> None:
        """Raises ValueError unless there are `bsl` bytes to read."""
        whole("bsl", self.bsl)
        whole("bsl_data", self._data, 0, 2**64 - 1)
        if self.bsl != 0 and (self.bsl < 0 or self._data == 0):
            raise InvalidValueError(
                f"a packet of {self.bsl} bytes at address {self._data}: set bsl_data to the bytes"
            )
        if self._size is not None and self.bsl > self._size:
            raise InvalidValueError(f"bsl is {self.bsl}, and the packet has {self._size} bytes")

    def __len__(self) -> int:
        return self.bsl

    def __bool__(self) -> bool:
        return True  # also without data

    def __repr__(self) -> str:
        names = ("key", "pts", "dts", "pos", "bsl", "bsl_data", "duration")
        return f"<PacketData [{', '.join(f'{name}={getattr(self, name)}' for name in names)}]>"
