"""Decodes packets to frames: CreateDecoder and PyNvDecoder."""

from __future__ import annotations

import ctypes
import time
from collections import deque
from typing import Any

from tf_nvcodec.compat.decoder_options import (
    DecoderOptions,
    base_codec_number,
    handle_number,
    shared_options,
    stays_on_gpu,
)
from tf_nvcodec.compat.enums import (
    DisplayDecodeLatencyType,
    OutputColorType,
    Pixel_Format,
    cudaVideoCodec,
)
from tf_nvcodec.compat.errors import InvalidValueError, PyNvVCException
from tf_nvcodec.compat.frame import DecodedFrame, frame_of
from tf_nvcodec.compat.integers import INT32_MAX, whole
from tf_nvcodec.compat.library import check, declare
from tf_nvcodec.compat.ownership import Guard, Handle, Single
from tf_nvcodec.compat.packet import PacketData


class _PacketInput(ctypes.Structure):
    """nvc_packet_input of capi/decoder.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("pts", ctypes.c_int64),
        ("dts", ctypes.c_int64),
        ("pos", ctypes.c_int64),
        ("is_key", ctypes.c_int32),
        ("is_discarded", ctypes.c_int32),
        ("packet", ctypes.c_void_p),
    )


_HANDLE = ctypes.POINTER(ctypes.c_void_p)
_create = declare("decoder_create", [ctypes.POINTER(DecoderOptions), _HANDLE])
_free = declare("decoder_free", [ctypes.c_void_p], None)
_decode = declare(
    "decoder_decode",
    [ctypes.c_void_p, ctypes.POINTER(_PacketInput), ctypes.POINTER(ctypes.c_int64)],
)
_take_frame = declare("decoder_take_frame", [ctypes.c_void_p], ctypes.c_void_p)


def _input_of(packet: PacketData) -> _PacketInput:
    packet._check()
    return _PacketInput(
        packet.bsl_data,
        packet.bsl,
        *(whole(name, getattr(packet, name)) for name in ("pts", "dts", "pos")),
        bool(packet.key),
        bool(packet.discardable),
        packet._handle,
    )


class PyNvDecoder(Single):
    """A decoder of packets; see CreateDecoder.

    It is for one thread at a time, in the process that made it: a call during another one, or in a
    fork, is a PyNvVCException.

    The packets of another demuxer may follow without an announcement, and the size may change then.
    Frames that the decoder still holds of the first stream are returned first.
    """

    def __init__(self, options: DecoderOptions) -> None:
        begin = time.perf_counter()
        self._handle = Handle(_free)
        self._guard = Guard("this decoder")
        self._options = options
        check(_create(ctypes.byref(options), ctypes.byref(self._handle)))
        self._ready: deque[DecodedFrame] = deque()
        self._shown: DecodedFrame | None = None
        self._locked: dict[int, list[DecodedFrame]] = {}
        self._seek_pts: int | None = None
        self._init_ms = round((time.perf_counter() - begin) * 1000)

    def Decode(self, packet: PacketData) -> list[DecodedFrame]:
        """Decodes a packet.

        Args:
          packet: A packet of a demuxer, or one of your own with data of the codec's elementary
            stream, cut anywhere. A packet without data (`bsl` is 0) ends the stream: all frames
            that the decoder still holds are returned, and a new stream may follow. A packet with
            `bDiscontinuity`, as after a Seek, drops these frames and starts a new stream.

        Returns:
          The frames that are now complete, in display order: none, one or several. They come some
          packets late, unless `latency` is LOW.

        Raises:
          PyNvVCException: A packet or a frame is damaged. The message names the timestamp of the
            packet at which the damage showed, some packets later unless `latency` is LOW. Later
            packets can be decoded, and the next call returns the frames that were complete.
        """
        with self._guard.alone():
            self._send(packet)
            frames = list(self._ready)
            self._ready.clear()
            self._shown = frames[-1] if frames else self._shown
            return frames

    def GetNumDecodedFrame(self, packet: PacketData) -> int:
        """Decodes a packet as Decode does.

        Returns:
          How many frames GetFrame or GetLockedFrame can now return.
        """
        with self._guard.alone():
            return self._send(packet)

    def GetFrame(self) -> DecodedFrame:
        """Returns the next frame of those that GetNumDecodedFrame counted.

        Raises:
          PyNvVCException: There is none.
        """
        with self._guard.alone():
            if not self._ready:
                raise PyNvVCException(
                    "there is no frame: call GetNumDecodedFrame(packet) first, and GetFrame as "
                    "often as it says"
                )
            self._shown = self._ready.popleft()
            return self._shown

    def GetLockedFrame(self) -> int:
        """Returns the address of the next frame of those that GetNumDecodedFrame counted.

        The memory stays valid until UnlockFrame.

        Raises:
          PyNvVCException: There is none.
        """
        frame = self.GetFrame()
        address = frame.GetPtrToPlane(0)
        self._locked.setdefault(address, []).append(frame)
        return address

    def UnlockFrame(self, frame: int) -> None:
        """Frees the memory that GetLockedFrame returned.

        Raises:
          ValueError: `frame` is not locked.
        """
        if frame not in self._locked:
            raise InvalidValueError(f"{frame} is no address that GetLockedFrame gave")
        self._locked.pop(frame)

    def GetWidth(self) -> int:
        """Returns the width of the last frame in pixels; 0 before the first frame."""
        return self._shown._info.width if self._shown is not None else 0

    def GetHeight(self) -> int:
        """Returns the height of the last frame in pixels; 0 before the first frame."""
        return self._shown._info.height if self._shown is not None else 0

    def GetFrameSize(self) -> int:
        """Returns the size of the last frame in bytes; 0 before the first frame."""
        return self._shown.framesize() if self._shown is not None else 0

    def GetPixelFormat(self) -> Pixel_Format:
        """Returns the format of the last frame.

        Raises:
          PyNvVCException: There has been no frame yet.
        """
        if self._shown is None:
            raise PyNvVCException("no frame has come out yet: decode packets first")
        return self._shown.format

    def SetSeekPTS(self, pts: int) -> None:
        """Drops the frames before this timestamp, after a Seek to the key frame before it.

        Raises:
          ValueError: `pts` is no whole number of 64 bits.
        """
        self._seek_pts = whole("pts", pts)

    def WaitOnCUStream(self, stream: Any) -> None:
        """Returns at once, because frames are complete for every stream when they are returned.

        Work that is queued on a stream of the decoder's context may go on reading frames that you
        let go of: their memory is written again only after that work.

        Raises:
          ValueError: `stream` is no number, nor an object with one.
        """
        handle_number("stream", stream)

    def SyncOnCUStream(self) -> None:
        """Returns at once, because frames are complete when they are returned."""

    def setReconfigParams(self, width: int = 0, height: int = 0) -> int:
        """Announces the size of the next stream in pixels, and returns 1.

        The decoder needs no announcement, so this only checks the size.

        Raises:
          ValueError: The size is negative, or above maxwidth and maxheight.
        """
        whole("width", width, 0, self._options.max_width or INT32_MAX)
        whole("height", height, 0, self._options.max_height or INT32_MAX)
        return 1

    def GetSessionInitTime(self) -> int:
        """Returns how many milliseconds creating this object took."""
        return self._init_ms

    # The callers of these methods hold the guard, so that no call takes frames of another's packet.

    def _send(self, packet: PacketData) -> int:
        if not isinstance(packet, PacketData):
            raise TypeError(f"a PacketData is decoded, not {type(packet).__name__}")
        given = ctypes.byref(_input_of(packet)) if packet.bsl != 0 else None
        count = ctypes.c_int64()
        if packet.bDiscontinuity:
            self._forget(count)
        check(_decode(self._handle, given, ctypes.byref(count)))
        for _ in range(count.value):
            frame = frame_of(_take_frame(self._handle))
            if self._seek_pts is None or frame.timestamp >= self._seek_pts:
                self._seek_pts = None
                self._ready.append(frame)
        return len(self._ready)

    def _forget(self, count: Any) -> None:
        """Drops the pictures held from before a seek, which later ones must not refer to."""
        _decode(self._handle, None, ctypes.byref(count))
        for _ in range(count.value):
            frame_of(_take_frame(self._handle))
        self._ready.clear()


def CreateDecoder(
    gpuid: int = 0,
    codec: cudaVideoCodec = cudaVideoCodec.H264,
    cudacontext: Any = 0,
    cudastream: Any = 0,
    usedevicememory: bool = False,
    maxwidth: int = 0,
    maxheight: int = 0,
    outputColorType: OutputColorType = OutputColorType.NATIVE,
    enableSEIMessage: bool = False,
    bWaitForSessionWarmUp: bool = False,
    latency: DisplayDecodeLatencyType = DisplayDecodeLatencyType.NATIVE,
    enableDecodeStats: bool = False,
    *,
    enableasyncallocations: bool = False,
    backend: str = "auto",
) -> PyNvDecoder:
    """Creates a decoder on the NVDEC of GPU `gpuid`, or on the CPU with FFmpeg without a GPU.

    Args:
      gpuid: The number of the GPU in CUDA.
      codec: The codec of the packets, as a demuxer's GetNvCodecId() returns it. Of H264_SVC and
        H264_MVC the base layer or view is decoded.
      cudacontext: The CUDA context to decode in, as a number or an object with one. 0 is the GPU's
        primary context, the only one whose memory TensorFlow and PyTorch can use. In another
        context, destroy the decoder and its frames before the context.
      cudastream: The CUDA stream of that context on which frames are copied; 0 is one of the
        decoder's own.
      usedevicememory: Whether frames are in the GPU's memory or the host's. On a machine without a
        GPU they are in host memory either way, and a warning says so.
      maxwidth: Wider frames are refused, in pixels; 0 is no limit.
      maxheight: Higher frames are refused, in pixels; 0 is no limit.
      outputColorType: The stream's own samples (NV12, P016, ...), or uint8 RGB by the stream's
        matrix and range.
      latency: With LOW (or ZERO, which is the same here) each frame comes with the packet that
        allows it to be shown; without B-frames that is its own packet. This is slower: the CPU
        decodes with one thread, and NVDEC waits for the host. Frames come in display order always.
      enableSEIMessage: Refused, because SEI messages are not available here.
      enableDecodeStats: Refused, because these statistics are not available here.
      bWaitForSessionWarmUp: Without effect.
      enableasyncallocations: Without effect.
      backend: "cpu" decodes with FFmpeg, "nvdec" on the GPU or raises. "auto" decodes on the GPU,
        and with FFmpeg for streams, or from the point in a stream, that the GPU's NVDEC does not
        take.

    Raises:
      PyNvVCExceptionUnsupported: The machine has no such decoder; the message says what to do.
      ValueError: An argument is out of its range.
    """
    if isinstance(maxwidth, bool):  # PyNvVideoCodec 1.0 has enableasyncallocations in this place
        maxwidth = 0
    options = shared_options(
        {
            "gpuid": gpuid,
            "cudacontext": cudacontext,
            "cudastream": cudastream,
            "maxwidth": maxwidth,
            "maxheight": maxheight,
        },
        outputColorType,
        backend,
        enableSEIMessage=enableSEIMessage,
        enableDecodeStats=enableDecodeStats,
    )
    options.codec = base_codec_number(codec)
    try:
        chosen = DisplayDecodeLatencyType(latency)
    except ValueError:
        raise InvalidValueError(
            f"latency must be of DisplayDecodeLatencyType; got {latency!r}"
        ) from None
    options.low_latency = chosen != DisplayDecodeLatencyType.NATIVE
    options.device_memory = stays_on_gpu("usedevicememory", usedevicememory, backend)
    return PyNvDecoder(options)
