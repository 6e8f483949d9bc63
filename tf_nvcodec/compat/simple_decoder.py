"""SimpleDecoder: decodes frames of a file by index, by slice or by time."""

from __future__ import annotations

import ctypes
import operator
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from tf_nvcodec.compat.decoder_options import DecoderOptions, shared_options, stays_on_gpu
from tf_nvcodec.compat.enums import OutputColorType
from tf_nvcodec.compat.errors import IndexRangeError, InvalidValueError, PyNvVCExceptionDecode
from tf_nvcodec.compat.frame import DecodedFrame, frame_of
from tf_nvcodec.compat.integers import INT64_MAX, INT64_MIN, whole
from tf_nvcodec.compat.library import check, declare
from tf_nvcodec.compat.ownership import Guard, Handle, Single
from tf_nvcodec.compat.source import Source


class _ReaderInfo(ctypes.Structure):
    """nvc_reader_info of capi/reader.h."""

    _fields_ = (
        ("codec", ctypes.c_char * 32),
        ("num_frames", ctypes.c_int64),
        ("num_packets", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("frame_rate", ctypes.c_double),
        ("duration", ctypes.c_double),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
    )


class _ReaderPacket(ctypes.Structure):
    """nvc_reader_packet of capi/reader.h."""

    _fields_ = (
        ("pts", ctypes.c_int64),
        ("dts", ctypes.c_int64),
        ("frame", ctypes.c_int64),
        ("size", ctypes.c_int32),
        ("is_key", ctypes.c_int32),
    )


_HANDLE = ctypes.POINTER(ctypes.c_void_p)
_INDICES = ctypes.POINTER(ctypes.c_int64)
_open = declare("reader_open", [ctypes.c_void_p, ctypes.POINTER(DecoderOptions), _HANDLE])
_free = declare("reader_free", [ctypes.c_void_p], None)
_get_info = declare("reader_get_info", [ctypes.c_void_p, ctypes.POINTER(_ReaderInfo)], None)
_get_packets = declare("reader_get_packets", [ctypes.c_void_p, ctypes.POINTER(_ReaderPacket)], None)
_frame_at = declare(
    "reader_frame_at", [ctypes.c_void_p, ctypes.c_double, ctypes.c_double, _INDICES]
)
_read = declare("reader_read", [ctypes.c_void_p, _INDICES, ctypes.c_int64, _HANDLE])

# The number of frames that an iteration decodes at a time.
_AHEAD = 16


@dataclass
class StreamMetadata:
    """A description of a stream. Its numbers are counted, not taken from the header.

    Attributes:
      width, height: The size of a frame in pixels.
      num_frames: The frames that decoding the whole stream shows.
      average_fps: Frames per second.
      duration: In seconds.
      bitrate: Bits per second of the video's packets.
      codec_name: FFmpeg's name, such as "h264".
    """

    width: int
    height: int
    num_frames: int
    average_fps: float
    duration: float
    bitrate: int
    codec_name: str


@dataclass
class ScannedStreamMetadata(StreamMetadata):
    """A StreamMetadata with lists of the packets, in decoding order.

    Attributes:
      pts, dts: The packets' times in units of the stream's time base.
      packet_size: The packets' sizes in bytes.
      key_frame_indices: The indices of the frames at which decoding may begin.
    """

    pts: list[int] = field(default_factory=list, repr=False)
    dts: list[int] = field(default_factory=list, repr=False)
    packet_size: list[int] = field(default_factory=list, repr=False)
    key_frame_indices: list[int] = field(default_factory=list, repr=False)


def without_packets(scanned: ScannedStreamMetadata) -> StreamMetadata:
    return StreamMetadata(
        **{part.name: getattr(scanned, part.name) for part in fields(StreamMetadata)}
    )


class SimpleDecoder(Single):
    """The frames of a file, in any order.

    It is for one thread at a time, in the process that made it: a call during another one, or in a
    fork, is a PyNvVCException.

    Opening it reads the file once, to know exactly which frames there are. The frames equal those
    of decoding the whole stream in order, bit for bit.

    Args:
      enc_file_path: A path (also of TensorFlow's file systems), bytes, or a file object with read()
        and seek().
      gpu_id: See CreateDecoder.
      cuda_context: See CreateDecoder.
      cuda_stream: See CreateDecoder.
      use_device_memory: See CreateDecoder.
      max_width: See CreateDecoder.
      max_height: See CreateDecoder.
      need_scanned_stream_metadata: Without effect: the metadata are always there.
      decoder_cache_size: Without effect: the process shares its decoders.
      output_color_type: See CreateDecoder.
      bWaitForSessionWarmUp: Without effect.
      enableDecodeStats: Refused.
      backend: See CreateDecoder.

    Raises:
      PyNvVCException: See PyNvDemuxer and CreateDecoder.
    """

    def __init__(
        self,
        enc_file_path: Any,
        gpu_id: int = 0,
        cuda_context: Any = 0,
        cuda_stream: Any = 0,
        use_device_memory: bool = True,
        max_width: int = 0,
        max_height: int = 0,
        need_scanned_stream_metadata: bool = False,
        decoder_cache_size: int = 4,
        output_color_type: OutputColorType = OutputColorType.NATIVE,
        bWaitForSessionWarmUp: bool = False,
        enableDecodeStats: bool = False,
        *,
        backend: str = "auto",
    ) -> None:
        self._guard = Guard("this decoder")
        self._options = shared_options(
            {
                "gpu_id": gpu_id,
                "cuda_context": cuda_context,
                "cuda_stream": cuda_stream,
                "max_width": max_width,
                "max_height": max_height,
            },
            output_color_type,
            backend,
            enableDecodeStats=enableDecodeStats,
        )
        self._options.device_memory = stays_on_gpu("use_device_memory", use_device_memory, backend)
        begin = time.perf_counter()
        self._use(enc_file_path)
        self._init_ms = round((time.perf_counter() - begin) * 1000)

    def _use(self, data: Any) -> None:
        source, handle = Source(data), Handle(_free)
        source.check(_open(source.handle, ctypes.byref(self._options), ctypes.byref(handle)))
        self._handle, self._source, self._next = handle, source, 0
        self._info = _ReaderInfo()
        _get_info(self._handle, ctypes.byref(self._info))

    def __len__(self) -> int:
        """Returns the number of frames that decoding the whole stream shows."""
        return self._info.num_frames

    def __getitem__(self, key: Any) -> Any:
        """Returns a frame, or a list of frames for a slice, as any Python sequence.

        Raises:
          IndexError: There is no such frame.
        """
        if isinstance(key, slice):
            return self._read(range(*key.indices(len(self))))
        try:
            index = operator.index(key)
        except TypeError:
            raise TypeError(
                f"a frame's index, or a slice of them, not {type(key).__name__}"
            ) from None
        if not -len(self) <= index < len(self):
            raise IndexRangeError(f"frame {index} of {len(self)}")
        return self._read([index % len(self)])[0]

    def __iter__(self) -> Iterator[DecodedFrame]:
        index = 0
        while index < len(self):
            for frame in self._read_on(range(index, min(index + _AHEAD, len(self)))):
                index += 1
                yield frame

    def get_batch_frames(self, batch_size: int) -> list[DecodedFrame]:
        """Returns the next frames; fewer before a damaged frame and at the end of the stream, then
        none.

        They continue from the first frame, from seek_to_index, or from the last such call.

        Raises:
          PyNvVCExceptionDecode: The next frame is damaged. The call after it continues behind it.
          ValueError: The size is not positive.
        """
        batch_size = whole("batch_size", batch_size, 1)
        try:
            frames = self._read_on(range(self._next, min(self._next + batch_size, len(self))))
        except PyNvVCExceptionDecode:
            self._next += 1
            raise
        self._next += len(frames)
        return frames

    def get_batch_frames_by_index(self, indices: Sequence[int]) -> list[DecodedFrame]:
        """Returns the frames at `indices`, in their order: always as many frames as indices.

        Raises:
          IndexError: An index is negative or beyond the last frame; nothing is decoded.
        """
        return self._read([operator.index(index) for index in indices])

    def get_index_from_time_in_seconds(self, time_in_seconds: float) -> int:
        """Returns the index of the frame on screen at a time.

        Args:
          time_in_seconds: In the stream's own time, which need not begin at 0. A np.float32 also
            stands for a frame that begins within half an ulp after it.

        Raises:
          ValueError: The time is before the first frame, after the end of the last, or no number.
        """
        index = ctypes.c_int64()
        try:
            seconds = float(time_in_seconds)
            rounded = isinstance(time_in_seconds, np.float32)
            tolerance = float(np.spacing(abs(time_in_seconds))) / 2 if rounded else 0.0
        except (TypeError, ValueError, OverflowError):
            raise InvalidValueError(
                f"time_in_seconds must be a number; got {time_in_seconds!r}"
            ) from None
        with self._guard.alone():
            check(_frame_at(self._handle, seconds, tolerance, ctypes.byref(index)))
        return index.value

    def seek_to_index(self, index: int) -> None:
        """Makes get_batch_frames continue at `index`.

        Raises:
          IndexError: There is no such frame.
        """
        if not 0 <= operator.index(index) < len(self):
            raise IndexRangeError(f"frame {index} of {len(self)}")
        self._next = operator.index(index)

    def get_stream_metadata(self) -> StreamMetadata:
        return without_packets(self.get_scanned_stream_metadata())

    def get_scanned_stream_metadata(self) -> ScannedStreamMetadata:
        with self._guard.alone():
            info = self._info
            packets = (_ReaderPacket * info.num_packets)()
            _get_packets(self._handle, packets)
        sizes = [packet.size for packet in packets]
        duration = info.duration
        return ScannedStreamMetadata(
            width=info.width,
            height=info.height,
            num_frames=info.num_frames,
            average_fps=info.frame_rate,
            duration=duration,
            bitrate=round(8 * sum(sizes) / duration) if duration > 0 else 0,
            codec_name=info.codec.decode(),
            pts=[packet.pts for packet in packets],
            dts=[packet.dts for packet in packets],
            packet_size=sizes,
            key_frame_indices=sorted(
                packet.frame for packet in packets if packet.is_key and packet.frame >= 0
            ),
        )

    def reconfigure_decoder(self, new_source: Any) -> None:
        """Changes to another file, at its first frame. If that fails, the old file stays."""
        with self._guard.alone():
            self._use(new_source)

    def stop(self) -> None:
        """Returns at once: this decoder has no thread of its own."""

    def get_session_init_time(self) -> int:
        """Returns how many milliseconds opening the first file took."""
        return self._init_ms

    def _read_on(self, indices: range) -> list[DecodedFrame]:
        """Returns the frames, or those before a damaged one; raises if that is the first."""
        try:
            return self._read(indices)
        except PyNvVCExceptionDecode:
            frames: list[DecodedFrame] = []
            for index in indices:
                try:
                    frames += self._read([index])
                except PyNvVCExceptionDecode:
                    if not frames:
                        raise
                    break
            return frames

    def _read(self, indices: Sequence[int]) -> list[DecodedFrame]:
        count = len(indices)
        if count == 0:
            return []
        for index in indices:
            if not INT64_MIN <= index <= INT64_MAX:  # ctypes would cut off bits
                raise IndexRangeError(f"frame {index} of {len(self)}")
        handles = (ctypes.c_void_p * count)()
        wanted = (ctypes.c_int64 * count)(*indices)
        with self._guard.alone():
            code = _read(self._handle, wanted, count, handles)
            self._source.check(code)
        return [frame_of(handle) for handle in handles]


def CreateSimpleDecoder(
    encSource: Any,
    gpuid: int = 0,
    cudaContext: Any = 0,
    cudaStream: Any = 0,
    useDeviceMemory: bool = False,
    maxWidth: int = 0,
    maxHeight: int = 0,
    needScannedStreamMetadata: bool = False,
    decoderCacheSize: int = 0,
    outputColorType: OutputColorType = OutputColorType.NATIVE,
    bWaitForSessionWarmUp: bool = False,
    enableDecodeStats: bool = False,
) -> SimpleDecoder:
    """Creates a SimpleDecoder; its arguments have other names."""
    return SimpleDecoder(
        encSource,
        gpuid,
        cudaContext,
        cudaStream,
        useDeviceMemory,
        maxWidth,
        maxHeight,
        needScannedStreamMetadata,
        decoderCacheSize,
        outputColorType,
        bWaitForSessionWarmUp,
        enableDecodeStats,
    )
