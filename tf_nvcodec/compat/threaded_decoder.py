"""ThreadedDecoder: a thread decodes ahead, so that the next frames are ready when needed."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from tf_nvcodec.compat.decoder import PyNvDecoder
from tf_nvcodec.compat.decoder_options import DecoderOptions, shared_options, stays_on_gpu
from tf_nvcodec.compat.demuxer import PyNvDemuxer
from tf_nvcodec.compat.enums import OutputColorType
from tf_nvcodec.compat.errors import (
    IndexRangeError,
    PyNvVCException,
    PyNvVCExceptionUnsupported,
)
from tf_nvcodec.compat.frame import DecodedFrame
from tf_nvcodec.compat.integers import whole
from tf_nvcodec.compat.ownership import Guard, Single
from tf_nvcodec.compat.packet import PacketData
from tf_nvcodec.compat.simple_decoder import (
    ScannedStreamMetadata,
    SimpleDecoder,
    StreamMetadata,
    without_packets,
)
from tf_nvcodec.compat.source import shared

# Seconds between two looks. A waiting thread polls, because a Ctrl-C that another thread receives
# does not wake it.
_LOOK_S = 0.5


class _Ahead:
    """The state that the thread and the caller share.

    The thread has no reference to the decoder. So a decoder that nobody uses any more is collected,
    and its thread ends.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.items: deque[DecodedFrame | BaseException] = deque()  # frames and errors
        # Code holds the lock by its own `with`, which Ctrl-C cannot interrupt, unlike a
        # Condition's. The lock is re-entrant because a garbage collection meanwhile may call
        # stop().
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.ended = False  # the stream has no more frames
        self.stopped = False  # the caller wants no more frames

    def put(self, item: DecodedFrame | BaseException) -> bool:
        """Waits for room and adds an item; returns False if the caller wants no more."""
        with self.lock:
            self.changed.wait_for(lambda: self.stopped or len(self.items) < self.size)
            if not self.stopped:
                self.items.append(item)
                self.changed.notify_all()
            return not self.stopped

    def end(self) -> None:
        with self.lock:
            self.ended = True
            self.changed.notify_all()

    def take(self, count: int) -> list[DecodedFrame]:
        """Takes the next frames. Raises an error among them; the frames before it stay."""
        with self.lock:
            while not self.changed.wait_for(lambda: self._has(count), _LOOK_S):
                pass
            self.changed.notify_all()
            frames: list[DecodedFrame] = []
            while self.items and len(frames) < count:
                item = self.items.popleft()
                if isinstance(item, BaseException):
                    self.items.extendleft(reversed(frames))
                    raise item
                frames.append(item)
            return frames

    def _has(self, count: int) -> bool:
        return (
            self.stopped
            or self.ended
            or len(self.items) >= count
            or any(isinstance(item, BaseException) for item in self.items)
        )

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            self.items.clear()
            self.changed.notify_all()


def _frames_of(ahead: _Ahead, demuxer: PyNvDemuxer, decoder: PyNvDecoder) -> Iterator[DecodedFrame]:
    """Yields all frames, and continues after damaged ones."""
    packets = iter(demuxer)
    while not ahead.stopped:
        try:
            packet = next(packets, None)
            # After the last packet there may be frames that were complete when it failed.
            yield from decoder.Decode(PacketData() if packet is None else packet)
            if packet is None:
                return
        except PyNvVCExceptionUnsupported:
            raise
        except PyNvVCException as error:
            ahead.put(error)


def _decode(ahead: _Ahead, demuxer: PyNvDemuxer, decoder: PyNvDecoder, skipped: int) -> None:
    """Decodes ahead; this is the function of the thread."""
    try:
        passed = 0
        for frame in _frames_of(ahead, demuxer, decoder):
            passed += 1
            if passed > skipped and not ahead.put(frame):
                return
        if 0 < skipped >= passed:
            raise IndexRangeError(f"start_frame is {skipped}, and there are {passed} frames")
    except BaseException as error:
        ahead.put(error)
    finally:
        ahead.end()


class ThreadedDecoder(Single):
    """Frames in order, decoded ahead by a thread.

    It helps if the work on each frame leaves the decoder idle, or the decoder leaves that work
    idle. Arguments that are not listed here are those of SimpleDecoder.

    Args:
      enc_file_path: A source as for CreateDemuxer.
      buffer_size: The largest number of frames to decode ahead.
      start_frame: The index of the first frame; those before it are decoded and dropped.

    Raises:
      PyNvVCException: See PyNvDemuxer and CreateDecoder. get_batch_frames raises later errors, in
        their place among the frames.
    """

    def __init__(
        self,
        enc_file_path: Any,
        buffer_size: int,
        gpu_id: int = 0,
        cuda_context: Any = 0,
        cuda_stream: Any = 0,
        use_device_memory: bool = True,
        max_width: int = 0,
        max_height: int = 0,
        need_scanned_stream_metadata: bool = False,
        decoder_cache_size: int = 4,
        output_color_type: OutputColorType = OutputColorType.NATIVE,
        start_frame: int = 0,
        enableDecodeStats: bool = False,
        *,
        backend: str = "auto",
    ) -> None:
        self._ahead: _Ahead | None = None
        self._guard = Guard("this decoder")
        self._size = whole("buffer_size", buffer_size, 1)
        self._options: DecoderOptions = shared_options(
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
        self._start(enc_file_path, start_frame)

    def _start(self, data: Any, start_frame: int) -> None:
        start_frame = whole("start_frame", start_frame, 0)
        data = shared(data, self._data)
        demuxer, decoder = PyNvDemuxer(data), PyNvDecoder(self._options)
        self.end()
        self._data, self._scanned = data, None
        self._ahead = _Ahead(self._size)
        self._thread = threading.Thread(
            target=_decode,
            args=(self._ahead, demuxer, decoder, start_frame),
            name="tf_nvcodec-decode-ahead",
            daemon=True,
        )
        self._thread.start()

    _data: Any = None
    _scanned: ScannedStreamMetadata | None = None

    def __del__(self) -> None:
        ahead = getattr(self, "_ahead", None)
        if ahead is not None and not self._guard.is_inherited:
            ahead.stop()

    def __len__(self) -> int:
        """Returns the number of frames of the whole stream."""
        return self.get_scanned_stream_metadata().num_frames

    def get_batch_frames(self, batch_size: int) -> list[DecodedFrame]:
        """Waits for the next frames and returns them.

        There are fewer at the end of the stream, and none after it or after end().

        Raises:
          ValueError: The size is larger than buffer_size, or not positive.
          PyNvVCException: The stream is damaged. Later calls return the frames before and after the
            damage that could be decoded.
        """
        self._guard.check_process()
        batch_size = whole("batch_size, at most buffer_size,", batch_size, 1, self._size)
        ahead = self._ahead  # another thread may replace it by end()
        return ahead.take(batch_size) if ahead is not None else []

    def end(self) -> None:
        """Ends the thread and drops the frames that were not taken."""
        self._guard.check_process()
        ahead = self._ahead
        if ahead is None:
            return
        ahead.stop()
        while self._thread.is_alive():
            self._thread.join(_LOOK_S)
        self._ahead = None

    def get_stream_metadata(self) -> StreamMetadata:
        """Returns the metadata; see SimpleDecoder. Reads the whole file once more."""
        return without_packets(self.get_scanned_stream_metadata())

    def get_scanned_stream_metadata(self) -> ScannedStreamMetadata:
        """Returns the metadata; see SimpleDecoder. Reads the whole file once more.

        Raises:
          ValueError: The source is a function, which can be read only once.
        """
        self._guard.check_process()
        if self._scanned is None:
            decoder = SimpleDecoder(self._data, use_device_memory=False, backend="cpu")
            self._scanned = decoder.get_scanned_stream_metadata()
        return self._scanned

    def reconfigure_decoder(self, new_source: Any, start_frame: int = 0) -> None:
        """Changes to another file. If that fails, the old one continues."""
        self._guard.check_process()
        self._start(new_source, start_frame)


def CreateThreadedDecoder(
    encSource: Any,
    bufferSize: int,
    gpuid: int = 0,
    cudaContext: Any = 0,
    cudaStream: Any = 0,
    useDeviceMemory: bool = False,
    maxWidth: int = 0,
    maxHeight: int = 0,
    needScannedStreamMetadata: bool = False,
    decoderCacheSize: int = 0,
    outputColorType: OutputColorType = OutputColorType.NATIVE,
    startFrame: int = 0,
    enableDecodeStats: bool = False,
) -> ThreadedDecoder:
    """Creates a ThreadedDecoder; its arguments have other names."""
    return ThreadedDecoder(
        encSource,
        bufferSize,
        gpuid,
        cudaContext,
        cudaStream,
        useDeviceMemory,
        maxWidth,
        maxHeight,
        needScannedStreamMetadata,
        decoderCacheSize,
        outputColorType,
        startFrame,
        enableDecodeStats,
    )
