"""Reads packets from a container: CreateDemuxer and PyNvDemuxer."""

from __future__ import annotations

import ctypes
import weakref
from fractions import Fraction
from typing import Any

from tf_nvcodec.compat import enums
from tf_nvcodec.compat.errors import InvalidValueError, PyNvVCExceptionUnsupported
from tf_nvcodec.compat.integers import whole
from tf_nvcodec.compat.library import check, declare
from tf_nvcodec.compat.ownership import Guard, Handle, Single
from tf_nvcodec.compat.packet import PacketData, PacketInfo, free_packet
from tf_nvcodec.compat.source import Source


class _StreamInfo(ctypes.Structure):
    """nvc_stream_info of capi/demuxer.h."""

    _fields_ = (
        ("codec", ctypes.c_char * 32),
        ("container", ctypes.c_char * 64),
        ("pixel_format", ctypes.c_char * 32),
        ("frame_bytes", ctypes.c_int64),
        ("nv_codec", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("chroma_format", ctypes.c_int32),
        ("bit_depth", ctypes.c_int32),
        ("color_space", ctypes.c_int32),
        ("color_range", ctypes.c_int32),
        ("time_base_num", ctypes.c_int32),
        ("time_base_den", ctypes.c_int32),
        ("frame_rate_num", ctypes.c_int32),
        ("frame_rate_den", ctypes.c_int32),
        ("lowest_rate_num", ctypes.c_int32),
        ("lowest_rate_den", ctypes.c_int32),
        ("stream_index", ctypes.c_int32),
    )


class _SoundInfo(ctypes.Structure):
    """nvc_sound_info of capi/demuxer.h."""

    _fields_ = tuple(
        (name, ctypes.c_int32) for name in ("stream_index", "time_base_num", "time_base_den")
    )


_HANDLE = ctypes.POINTER(ctypes.c_void_p)
_open = declare("demuxer_open", [ctypes.c_void_p, _HANDLE])
_free = declare("demuxer_free", [ctypes.c_void_p], None)
_get_info = declare("demuxer_get_info", [ctypes.c_void_p, ctypes.POINTER(_StreamInfo)])
_next = declare("demuxer_next", [ctypes.c_void_p, _HANDLE, ctypes.POINTER(PacketInfo)])
_sound = declare("demuxer_sound", [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(_SoundInfo)])
_keep_sound = declare("demuxer_keep_sound", [ctypes.c_void_p])
_seek = declare("demuxer_seek", [ctypes.c_void_p, ctypes.c_int64])

# These are FFmpeg's numbers (AVColorSpace, AVColorRange).
_BT_709 = 1
_BT_601 = (5, 6)
_RANGES = {1: enums.ColorRange.MPEG, 2: enums.ColorRange.JPEG}


def _ratio(num: int, den: int) -> float:
    return num / den if den > 0 else 0.0


# PyNvVideoCodec's context is a number.
_by_number: weakref.WeakValueDictionary[int, PyNvDemuxer] = weakref.WeakValueDictionary()


def demuxer_of(name: str, context: PyNvDemuxer | int) -> PyNvDemuxer:
    """Returns the demuxer of the argument `name`, which is GetAVFormatInputContext() or its int().

    Raises:
      InvalidValueError: It is something else, or the demuxer is gone.
    """
    demuxer = _by_number.get(context) if isinstance(context, int) else context
    if not isinstance(demuxer, PyNvDemuxer):
        raise InvalidValueError(
            f"{name} must be what a demuxer's GetAVFormatInputContext() gives; got {context!r}"
        )
    return demuxer


class PyNvDemuxer(Single):
    """Reads the packets of a container's video stream.

    H.264 and HEVC packets have start codes (Annex B) and, at key frames, the parameter sets, even
    if the container stores these apart. So a decoder needs nothing but the packets. Other streams
    of the container are skipped, sound unless DemuxNoSkipAudio reads it. The demuxer opens nothing
    but the given bytes.

    An iteration returns each packet, then one without data (`bsl` is 0), which makes a decoder
    return the frames that it still holds.

    It is for one thread at a time, in the process that made it: a call during another one, or in a
    fork, is a PyNvVCException.

    Raises:
      PyNvVCException: The bytes are no video, or broken; the message names the file and the cause.
        A container that ends early raises it once in place of the next packet; then the stream
        ends. It is also a ValueError if the input cannot be used at all, and a FileNotFoundError if
        there is no such file.
    """

    def __init__(self, source: Any) -> None:
        self._handle = Handle(_free)
        self._source = Source(source)
        self._guard = Guard("this demuxer")
        self._source.check(_open(self._source.handle, ctypes.byref(self._handle)))
        self._info = _StreamInfo()
        check(_get_info(self._handle, ctypes.byref(self._info)))
        self._ended = False
        self._keeps_sound = False

    def __iter__(self) -> PyNvDemuxer:
        return self

    def __next__(self) -> PacketData:
        if self._ended:
            raise StopIteration
        return self.Demux()

    def Demux(self) -> PacketData:
        """Returns the next packet of the video, or one without data at the end."""
        packet = self._read()
        while not packet.is_video:
            packet = self._read()
        return packet

    def DemuxNoSkipAudio(self) -> PacketData:
        """Returns the next packet of the video or of a track of sound (`is_video` is 0).

        At the end it returns a packet without data. Sound is read from the first call on.
        """
        self._keep_sound()
        return self._read()

    def _keep_sound(self) -> None:
        if not self._keeps_sound:
            with self._guard.alone():
                check(_keep_sound(self._handle))
            self._keeps_sound = True

    def _read(self) -> PacketData:
        handle, info = Handle(free_packet), PacketInfo()
        with self._guard.alone():
            code = _next(self._handle, ctypes.byref(handle), ctypes.byref(info))
            self._source.check(code)
            self._ended = not handle
        if self._ended:
            return PacketData()
        return PacketData._of(handle, info, info.stream_index == self._info.stream_index)

    def Seek(self, timestamp: int) -> PacketData:
        """Seeks to a key frame and returns its packet. The packets after it come next.

        The key frame is the last one at or before `timestamp` that the container's index has, or
        the first one if there is none before.

        Args:
          timestamp: In units of the stream's time base, as `PacketData.pts`.

        Raises:
          PyNvVCExceptionUnsupported: The input cannot go back (a function), or its container has no
            timestamps (an elementary stream).
          ValueError: `timestamp` is no whole number of 64 bits.
        """
        timestamp = whole("timestamp", timestamp)
        self._go_to(timestamp)
        packet = self.Demux()
        packet.seek_pts = timestamp
        packet.bDiscontinuity = True
        return packet

    def _go_to(self, timestamp: int) -> None:
        with self._guard.alone():
            self._source.check(_seek(self._handle, timestamp))
            self._ended = False

    def isSeekDone(self, timestamp: int, pts: int) -> int:
        """Returns 1 if a frame with `pts` is at or after the `timestamp` of a Seek, else 0."""
        return int(pts >= timestamp)

    def GetNvCodecId(self) -> enums.cudaVideoCodec:
        """Returns the `codec` for CreateDecoder.

        Raises:
          PyNvVCExceptionUnsupported: NVIDIA has no number for this codec.
        """
        if self._info.nv_codec < 0:
            raise PyNvVCExceptionUnsupported(
                f"{self._source.name}: codec '{self._info.codec.decode()}' has no cudaVideoCodec; "
                "SimpleDecoder and tf_nvcodec.decode_video decode it"
            )
        return enums.cudaVideoCodec(self._info.nv_codec)

    def GetContainerName(self) -> str:
        """Returns FFmpeg's name of the container, such as "mov,mp4,m4a,3gp,3g2,mj2"."""
        return self._info.container.decode()

    def Width(self) -> int:
        """Returns the width of a frame in pixels."""
        return self._info.width

    def Height(self) -> int:
        """Returns the height of a frame in pixels."""
        return self._info.height

    def BitDepth(self) -> int:
        """Returns the bits of a sample."""
        return self._info.bit_depth

    def ChromaFormat(self) -> Any:
        """Returns a cudaVideoChromaFormat.

        Raises:
          PyNvVCExceptionUnsupported: The samples have another format (RGB, 4:1:1, 4:4:0).
        """
        if self._info.chroma_format < 0:
            raise PyNvVCExceptionUnsupported(
                f"{self._source.name}: frames are {self._info.pixel_format.decode()}, which has no "
                "cudaVideoChromaFormat"
            )
        return enums.cudaVideoChromaFormat(self._info.chroma_format)

    def ColorSpace(self) -> enums.ColorSpace:
        """Returns the matrix; UNSPEC also for one that has no name here, such as BT.2020."""
        if self._info.color_space == _BT_709:
            return enums.ColorSpace.BT_709
        if self._info.color_space in _BT_601:
            return enums.ColorSpace.BT_601
        return enums.ColorSpace.UNSPEC

    def ColorRange(self) -> enums.ColorRange:
        return _RANGES.get(self._info.color_range, enums.ColorRange.UDEF)

    def FrameRate(self) -> float:
        """Returns the average frames per second; 0 if unknown."""
        return _ratio(self._info.frame_rate_num, self._info.frame_rate_den)

    def AvgFrameRateNum(self) -> int:
        return self._info.frame_rate_num

    def AvgFrameRateDen(self) -> int:
        return self._info.frame_rate_den

    def RFrameRate(self) -> float:
        """Returns FFmpeg's guess of the lowest rate that has every timestamp; 0 if unknown."""
        return _ratio(self._info.lowest_rate_num, self._info.lowest_rate_den)

    def RFrameRateNum(self) -> int:
        return self._info.lowest_rate_num

    def RFrameRateDen(self) -> int:
        return self._info.lowest_rate_den

    def FrameSize(self) -> int:
        """Returns the bytes of a decoded frame; 0 if its samples have no Pixel_Format."""
        return self._info.frame_bytes

    def GetTimebaseNum(self) -> int:
        return self._info.time_base_num

    def GetTimebaseDen(self) -> int:
        """A timestamp counts units of GetTimebaseNum() / GetTimebaseDen() seconds."""
        return self._info.time_base_den

    def GetVideoStreamId(self) -> int:
        return self._info.stream_index

    def GetAudioStreamId(self) -> int:
        """Returns the index of the first track of sound; -1 if there is none."""
        return next(iter(self._sound_clocks()), -1)

    def GetAVFormatInputContext(self) -> PyNvDemuxer:
        """Returns the demuxer itself, for `in_format_context` of FFmpegMuxer and
        `source_av_format_context` of CreateEncoder. Both take its int() too."""
        return self

    def __int__(self) -> int:
        _by_number[id(self)] = self
        return id(self)

    def _frame_rate(self) -> Fraction:
        """Returns the average number of frames a second as an encoder or a container takes it."""
        rate = Fraction(self.AvgFrameRateNum(), self.AvgFrameRateDen() or 1)
        return rate.limit_denominator(1001) if 0 < rate <= 1000 else Fraction(30)

    def _sound_clocks(self) -> dict[int, Fraction]:
        """Returns the seconds of a tick of each track of sound, by its index in the container."""
        self._guard.check_process()
        clocks: dict[int, Fraction] = {}
        info = _SoundInfo()
        while True:
            check(_sound(self._handle, len(clocks), ctypes.byref(info)))
            if info.stream_index < 0:
                return clocks
            clocks[info.stream_index] = Fraction(info.time_base_num, info.time_base_den)


def CreateDemuxer(filename: Any = None, callback: Any = None) -> PyNvDemuxer:
    """Creates a demuxer of a file, of bytes, or of the bytes that a function returns.

    Args:
      filename: A path or a URL ("https://...", "s3://...", "gs://..."); bytes; or an object that
        has read() and seek(). A function is taken as `callback`.
      callback: A function that is called with a bytearray whenever more bytes are needed. It puts
        the next bytes at the beginning and returns how many, 0 at the end. Containers whose header
        is at the end (MP4 without faststart) cannot be read so.

    Raises:
      TypeError: Both or neither of the arguments are given.
      PyNvVCException: See PyNvDemuxer.
    """
    if (filename is None) == (callback is None):
        raise TypeError("CreateDemuxer takes either a filename or a callback")
    return PyNvDemuxer(callback if filename is None else filename)
