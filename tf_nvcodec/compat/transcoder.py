"""PyNvVideoCodec's transcoder: decodes a video, or stretches of it, and encodes it again."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from tf_nvcodec.compat import enums
from tf_nvcodec.compat.decoder import CreateDecoder
from tf_nvcodec.compat.demuxer import CreateDemuxer, PyNvDemuxer
from tf_nvcodec.compat.encoder import PyNvEncoder
from tf_nvcodec.compat.encoder_enums import NV_ENC_PIC_PARAMS
from tf_nvcodec.compat.errors import InvalidValueError, PyNvVCExceptionUnsupported
from tf_nvcodec.compat.frame import DecodedFrame
from tf_nvcodec.compat.muxer import FFmpegMuxer, GetMediaFormat, sound_time
from tf_nvcodec.compat.packet import NO_TIMESTAMP, PacketData

_FORMATS = {
    enums.Pixel_Format.NV12: "NV12",
    enums.Pixel_Format.P016: "P010",
    enums.Pixel_Format.YUV444: "YUV444",
    enums.Pixel_Format.YUV444_16Bit: "YUV444_16BIT",
}
_DEEPEST = 10
_LAST_TIME = 2**62
# The largest distance in a file between sound and video of the same time, in seconds.
_INTERLEAVED = 10


class Transcoder:
    """Decodes a video and encodes it again. Each frame keeps its time, and sound is copied.

    Args:
      enc_file_path: The video.
      muxed_file_path: The file to write; its extension chooses the container.
      gpu_id: The number of the GPU that decodes, if there is one.
      cuda_context: Without effect, because frames pass through host memory.
      cuda_stream: Without effect, for the same reason.
      **kwargs: The parameters of CreateEncoder. The frame rate and the colour tags are the video's
        unless fps and colorspace are given. The range, the shape of a pixel and, if the container
        can store them, rotation and mirror are always the video's.

    Raises:
      InvalidValueError: A parameter, the extension or the video is not allowed.
    """

    def __init__(
        self,
        enc_file_path: str | os.PathLike[str],
        muxed_file_path: str | os.PathLike[str],
        gpu_id: int = 0,
        cuda_context: int = 0,
        cuda_stream: int = 0,
        **kwargs: Any,
    ) -> None:
        self._source = os.fspath(enc_file_path)
        self._target = os.fspath(muxed_file_path)
        self._gpu = gpu_id
        self._params = kwargs
        GetMediaFormat(self._target)

    def transcode_with_mux(self) -> None:
        """Writes the whole video.

        Raises:
          PyNvVCException: The video cannot be read, encoded or written; no file is left behind.

        Warns:
          RuntimeWarning: The container cannot hold the sound, which is left out.
        """
        self._run(self._target, None, None)

    def segmented_transcode(self, start: float, end: float) -> str:
        """Writes the frames shown from `start` until before `end`, and the sound heard then.

        Args:
          start: Seconds of the video's own clock. The new file begins at 0.
          end: Seconds of the same clock, exclusive.

        Returns:
          The file's name: that of `muxed_file_path` with `_start_end` before the extension.

        Raises:
          InvalidValueError: There is no such stretch, or no frame in it.
          PyNvVCException: As transcode_with_mux.
        """
        if not (0 <= start < end < math.inf):
            raise InvalidValueError(
                f"a segment begins at 0 or later and ends later than that; got {start} to {end}"
            )
        base, extension = os.path.splitext(self._target)
        path = f"{base}_{start:.12g}_{end:.12g}{extension}"
        self._run(path, start, end)
        return path

    def _run(self, path: str, start: float | None, end: float | None) -> None:
        both_there = os.path.exists(path) and os.path.exists(self._source)
        if both_there and os.path.samefile(path, self._source):
            raise InvalidValueError(f"{path!r} is the video itself: write to another file")
        demuxer = CreateDemuxer(self._source)
        clock = Fraction(demuxer.GetTimebaseNum(), demuxer.GetTimebaseDen())
        # The seconds are taken as they are written: 0.8 is four fifths, not the nearest float.
        first = 0 if start is None else min(math.ceil(Fraction(str(start)) / clock), _LAST_TIME)
        last = _LAST_TIME if end is None else min(math.ceil(Fraction(str(end)) / clock), _LAST_TIME)
        sound = _Sound(demuxer, first * clock, last * clock)
        writer: _Writer | None = None
        try:
            for frame in self._frames(demuxer, clock, first, last, sound):
                if writer is None:
                    writer = _Writer(path, demuxer, clock, frame, self._params)
                writer.write(frame)
            if writer is None:
                raise InvalidValueError(
                    f"{self._source!r} shows no frame"
                    + ("" if start is None else f" from {start} to {end} seconds")
                )
            writer.finish(sound.packets)
        except BaseException:
            if writer is not None:
                writer.give_up()
            raise

    def _frames(
        self, demuxer: PyNvDemuxer, clock: Fraction, first: int, last: int, sound: _Sound
    ) -> Iterator[DecodedFrame]:
        """Yields the frames shown from `first` until before `last`, in ticks of the clock."""
        decoder = CreateDecoder(self._gpu, demuxer.GetNvCodecId(), usedevicememory=False)
        step = round(1 / clock / Fraction(demuxer.FrameRate() or 30)) or 1
        time = -step
        if first > 0:
            demuxer._go_to(first)
        packet = sound.until_video()
        while True:
            for frame in decoder.Decode(packet):
                if frame.timestamp == NO_TIMESTAMP:
                    frame.timestamp = time + step
                time = max(frame.timestamp, time + 1 if time >= 0 else frame.timestamp)
                frame.timestamp = time
                if time >= last:
                    sound.read_to_end(clock)
                    return
                if time >= first:
                    yield frame
            if packet.bsl == 0:
                return
            packet = sound.until_video()


class _Sound:
    """Collects the packets of sound heard from `start` until before `end`, in seconds."""

    def __init__(self, demuxer: PyNvDemuxer, start: Fraction, end: Fraction) -> None:
        self._demuxer = demuxer
        self._start, self._end = start, end
        self._clocks = demuxer._sound_clocks()
        self._unfinished = set(self._clocks)
        if self._clocks:
            demuxer._keep_sound()
        self.packets: list[PacketData] = []

    def until_video(self) -> PacketData:
        """Returns the next packet of the video, and collects the sound before it."""
        while not (packet := self._demuxer._read()).is_video:
            self._take(packet)
        return packet

    def read_to_end(self, clock: Fraction) -> None:
        """Collects the sound that follows the last packet of the video."""
        while self._unfinished:
            packet = self.until_video()
            late = packet.dts != NO_TIMESTAMP and packet.dts * clock > self._end + _INTERLEAVED
            if packet.bsl == 0 or late:
                return

    def _take(self, packet: PacketData) -> None:
        clock = self._clocks.get(packet.stream_index)
        if clock is None:
            return
        time = sound_time(packet, clock)
        if time >= self._end:
            self._unfinished.discard(packet.stream_index)
        elif time + packet.duration * clock > self._start:
            self.packets.append(packet)


class _Writer:
    """An encoder and a file for frames with the format of the first one."""

    def __init__(
        self,
        path: str,
        demuxer: PyNvDemuxer,
        clock: Fraction,
        frame: DecodedFrame,
        params: dict[str, Any],
    ) -> None:
        if frame.format not in _FORMATS or demuxer.BitDepth() > _DEEPEST:
            raise PyNvVCExceptionUnsupported(
                f"frames of {frame.format.name} with {demuxer.BitDepth()} bits can't be encoded: "
                "4:2:0 and 4:4:4 of 8 and 10 bits can"
            )
        rate = demuxer._frame_rate()
        params = {"fps": f"{rate.numerator}/{rate.denominator}", **params}
        self._path = path
        self._shape = (frame.shape, frame.format)
        width, height = frame._info.width, frame._info.height
        full = demuxer.ColorRange() == enums.ColorRange.JPEG
        self._encoder = PyNvEncoder(width, height, _FORMATS[frame.format], params, full_range=full)
        self._muxer = FFmpegMuxer(
            *(path, GetMediaFormat(path), str(params.get("codec", "h264")).lower()),
            *(width, height, rate.numerator, rate.denominator, clock.numerator, clock.denominator),
            extradata=self._encoder.GetSequenceParams(),
            in_format_context=demuxer,
        )
        self._muxer._native.set_tags(demuxer._handle, keep_colors="colorspace" not in params)

    def write(self, frame: DecodedFrame) -> None:
        if (frame.shape, frame.format) != self._shape:
            raise PyNvVCExceptionUnsupported(
                f"the frame at {frame.timestamp} is {frame.format.name} of shape {frame.shape}, "
                f"and those before it {self._shape[1].name} of {self._shape[0]}: a file has frames "
                "of one size"
            )
        self._muxer.RecordSourceVideoPacket(SimpleNamespace(pts=frame.timestamp, duration=0))
        picture = NV_ENC_PIC_PARAMS()
        picture.inputTimeStamp = frame.timestamp
        self._queue(self._encoder.Encode(frame, picture))

    def finish(self, sound: list[PacketData]) -> None:
        self._queue(self._encoder.EndEncode())
        for packet in sound:
            self._muxer.MuxPassthroughPacket(packet)
        self._muxer.Finalize()

    def give_up(self) -> None:
        self._encoder._close()
        self._muxer._close()
        if os.path.isfile(self._path):
            os.remove(self._path)

    def _queue(self, packets: Any) -> None:
        for packet in packets:
            self._muxer.MuxVideoPacket(packet["data"], packet["picture_type"], packet["timestamp"])
