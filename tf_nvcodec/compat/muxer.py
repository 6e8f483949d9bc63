"""PyNvVideoCodec's muxer: writes encoded packets to MP4, MOV, MKV, AVI and others."""

from __future__ import annotations

import math
import os
import warnings
import weakref
from collections import deque
from collections.abc import Sequence
from enum import IntEnum
from fractions import Fraction
from typing import Any

from tf_nvcodec.compat.demuxer import PyNvDemuxer, demuxer_of
from tf_nvcodec.compat.encoder_enums import NV_ENC_PIC_TYPE
from tf_nvcodec.compat.errors import InvalidValueError, PyNvVCException, PyNvVCExceptionUnsupported
from tf_nvcodec.compat.integers import INT32_MAX, whole
from tf_nvcodec.compat.muxer_library import NativeMuxer
from tf_nvcodec.compat.ownership import Single, Turns
from tf_nvcodec.compat.packet import NO_TIMESTAMP, PacketData


class MEDIA_FORMAT(IntEnum):
    MP4 = 0
    MOV = 1
    MKV = 2
    WEBM = 3
    AVI = 4
    TS = 5


def GetMediaFormat(filename: str | os.PathLike[str]) -> MEDIA_FORMAT:
    """Returns the container that the extension of `filename` names.

    Raises:
      InvalidValueError: The extension is not known; the message lists the known ones.
    """
    extension = os.path.splitext(os.fspath(filename))[1]
    try:
        return MEDIA_FORMAT[extension[1:].upper()]
    except KeyError:
        known = ", ".join("." + known.name.lower() for known in MEDIA_FORMAT)
        raise InvalidValueError(
            f"{os.fspath(filename)!r}: the extension {extension!r} names no container; these do: "
            f"{known}"
        ) from None


def spread_times(
    stamps: Sequence[int], times: Sequence[int], last: int
) -> list[tuple[int, int, int]]:
    """Returns (pts, dts, duration) of packets in decoding order.

    The dts are the times of the frames, moved ahead so that none is later than its packet's pts.

    Args:
      stamps: The stamps of the packets' frames.
      times: The times at which the frames are shown, in the order of their stamps.
      last: The duration of the last frame.
    """
    shown = sorted(range(len(stamps)), key=lambda packet: stamps[packet])
    ends = [*times[1:], times[-1] + last]
    pts, durations = [0] * len(stamps), [0] * len(stamps)
    for place, packet in enumerate(shown):
        pts[packet] = times[place]
        durations[packet] = ends[place] - times[place]
    ahead = max(time - at for time, at in zip(times, pts))
    return list(zip(pts, (time - ahead for time in times), durations))


def _positive(**values: int) -> list[int]:
    return [whole(name, value, 1, INT32_MAX) for name, value in values.items()]


def _ratio(name: str, num: int | None, den: int | None, default: tuple[int, int]) -> Fraction:
    num, den = default[0] if num is None else num, default[1] if den is None else den
    return Fraction(*_positive(**{f"{name}_num": num, f"{name}_den": den}))


def sound_time(packet: PacketData, clock: Fraction) -> Fraction:
    """Returns the time at which a packet of sound is decoded, in seconds."""
    ticks = packet.dts if packet.dts != NO_TIMESTAMP else packet.pts
    return ticks * clock


class FFmpegMuxer(Single):
    """Writes the packets of an encoder to a file, together with packets of sound.

    Calls from several threads wait for each other. In a fork they are a PyNvVCException.

    Packets have times of their own (Mux). Or they are kept until Finalize, which gives them the
    times of the frames in display order (MuxVideoPacket after SetUniformPtsIncrement, or after a
    RecordSourceVideoPacket for each frame).

    Args:
      file_path: The file to write; an existing file is overwritten.
      media_format: A MEDIA_FORMAT.
      codec: "h264", "hevc" or "av1".
      width: The width of a frame in pixels.
      height: The height of a frame in pixels.
      fps_num: The frames per second, a numerator. Without it and fps_den, the rate is that of
        in_format_context, else 30.
      fps_den: The denominator to fps_num, 1 by default.
      timebase_num: The unit of the given times in seconds, a numerator, 1 by default. Without it
        and timebase_den, the unit is that of in_format_context.
      timebase_den: The denominator to timebase_num, 90000 by default.
      extradata: The encoder's GetSequenceParams(), or b"" if the first packet has them.
      in_format_context: A demuxer's GetAVFormatInputContext(), or its int(). Its sound can be
        passed through.

    Raises:
      InvalidValueError: The container cannot hold the stream.
      PyNvVCException: The file cannot be written.

    Warns:
      RuntimeWarning: The container cannot hold a track of sound, which is left out.
    """

    def __init__(
        self,
        file_path: str | os.PathLike[str],
        media_format: MEDIA_FORMAT,
        codec: str,
        width: int,
        height: int,
        fps_num: int | None = None,
        fps_den: int | None = None,
        timebase_num: int | None = None,
        timebase_den: int | None = None,
        extradata: bytes = b"",
        in_format_context: PyNvDemuxer | int | None = None,
    ) -> None:
        source = None
        if in_format_context is not None:
            source = demuxer_of("in_format_context", in_format_context)
            if fps_num is None and fps_den is None:
                fps_num, fps_den = source._frame_rate().as_integer_ratio()
            if timebase_num is None and timebase_den is None:
                timebase_num, timebase_den = source.GetTimebaseNum(), source.GetTimebaseDen()
        if codec not in ("h264", "hevc", "av1"):
            raise InvalidValueError(f"codec must be h264, hevc or av1; got {codec!r}")
        width, height = _positive(width=width, height=height)
        fps = _ratio("fps", fps_num, fps_den, (30, 1))
        clock = _ratio("timebase", timebase_num, timebase_den, (1, 90000))
        path = os.fsencode(file_path)
        if b"\0" in path:
            raise InvalidValueError(f"{file_path!r} is no path: it has a null character")
        self._native = NativeMuxer(
            path=path,
            container=MEDIA_FORMAT(media_format).name.lower(),
            codec=codec,
            width=width,
            height=height,
            time_base=clock,
            fps=fps,
            parameter_sets=bytes(memoryview(extradata)),
        )
        self._close = weakref.finalize(self, self._native.free)
        self._close.atexit = False  # a daemon thread may still be writing
        self._guard = Turns("this muxer")
        self._clock = clock
        self._sound_clocks = self._add_sound(file_path, source)
        self._sound: deque[PacketData] = deque()
        self._started = False
        self._frame = round(1 / fps / clock) or 1
        self._step = 0
        self._sources: list[tuple[int, int]] = []
        self._queue: list[tuple[bytes, bool, int]] = []
        self._done = False

    def Mux(
        self,
        data: Any,
        pts: int,
        dts: int,
        duration: int = 0,
        stream_index: int = 0,
        is_key_frame: bool = False,
        numb: int = 0,
    ) -> bool:
        """Writes a packet, in decoding order, with times in units of the time base.

        Raises:
          InvalidValueError: dts does not rise, or is later than pts.
          PyNvVCExceptionUnsupported: The stream is not 0; there is only the video.
        """
        if stream_index != 0:
            raise PyNvVCExceptionUnsupported(f"stream_index={stream_index}: there is video only")
        with self._guard.turn():
            self._check_open()
            self._native.write(
                bytes(memoryview(data)), pts, dts, duration or self._frame, bool(is_key_frame)
            )
            self._started = True
            self._write_sound(0)
        return True

    def SetUniformPtsIncrement(self, pts_inc: int) -> None:
        """Makes frames `pts_inc` units of the time base apart."""
        self._step = whole("pts_inc", pts_inc, 1)

    def RecordSourceVideoPacket(self, packet: Any) -> None:
        """Takes the time of a frame from `packet`: its pts and duration, in the time base."""
        if getattr(packet, "bsl", 1) == 0 or getattr(packet, "discardable", False):
            return
        times = (packet.pts, packet.duration)
        pts, duration = map(whole, ("the packet's pts", "the packet's duration"), times)
        self._sources.append((pts, duration))

    def MuxVideoPacket(self, data: Any, picture_type: int, input_timestamp: int) -> bool:
        """Keeps a packet of Encode(frame, NV_ENC_PIC_PARAMS), for Finalize to write."""
        with self._guard.turn():
            self._check_open()
            key = picture_type in (NV_ENC_PIC_TYPE.I, NV_ENC_PIC_TYPE.IDR)
            stamp = whole("input_timestamp", input_timestamp)
            self._queue.append((bytes(memoryview(data)), key, stamp))
        return True

    def MuxPassthroughPacket(self, packet: PacketData) -> bool:
        """Takes a packet of sound from PyNvDemuxer.DemuxNoSkipAudio.

        The packet is written unchanged, at its time between the frames.

        Returns:
          False if the file does not have the packet's track; the packet is left out then.
        """
        with self._guard.turn():
            self._check_open()
            if packet.stream_index not in self._sound_clocks or packet._handle is None:
                return False
            self._sound.append(packet)
            if self._started:
                self._write_sound(0)
        return True

    def Finalize(self) -> None:
        """Writes the packets of MuxVideoPacket and ends the file. A second call does nothing.

        Raises:
          InvalidValueError: There was no packet, or not one for each RecordSourceVideoPacket, and
            the frames' stamps are not the times that were recorded.
        """
        with self._guard.turn():
            if self._done:
                return
            if self._queue:
                self._write_queue()
            self._native.finish()
            self._done = True
            self._close()

    def _add_sound(self, path: Any, demuxer: PyNvDemuxer | None) -> dict[int, Fraction]:
        """Adds the tracks of sound, and returns the clocks of those that the file has."""
        clocks: dict[int, Fraction] = {}
        if demuxer is None:
            return clocks
        for track, (index, clock) in enumerate(demuxer._sound_clocks().items()):
            try:
                self._native.add_sound(demuxer._handle, track)
                clocks[index] = clock
            except InvalidValueError as error:
                warnings.warn(
                    f"{os.fspath(path)}: {error}; this track is left out",
                    RuntimeWarning,
                    stacklevel=3,
                )
        return clocks

    def _write_queue(self) -> None:
        """Writes the frames, and before each frame the sound that is due."""
        self._drop_unshown()
        start = min((time for time, _ in self._sources), default=0)
        self._sound = deque(sorted(self._sound, key=self._due))
        for i, ((data, key, _), times) in enumerate(zip(self._queue, self._times())):
            if i > 0:
                self._write_sound(start, until=times[1])
            self._native.write(data, *times, key)
        self._write_sound(start)
        self._queue = []

    def _drop_unshown(self) -> None:
        """Drops the times of packets that show no frame, such as a second field or a damaged one,
        if the stamps of the frames tell which these are."""
        durations = dict(self._sources)
        stamps = {stamp for _, _, stamp in self._queue}
        if len(self._sources) > len(self._queue) == len(stamps) and durations.keys() >= stamps:
            self._sources = [(stamp, durations[stamp]) for stamp in stamps]

    def _due(self, packet: PacketData) -> Fraction:
        """Returns the time at which a packet is due, in units of the time base."""
        return sound_time(packet, self._sound_clocks[packet.stream_index]) / self._clock

    def _write_sound(self, start: int, until: float = math.inf) -> None:
        """Writes the sound that is due, with `start` as time 0."""
        while self._sound and self._due(self._sound[0]) - start <= until:
            packet = self._sound.popleft()
            assert packet._handle is not None
            self._native.write_sound(packet._handle, start)

    def _times(self) -> list[tuple[int, int, int]]:
        stamps = [stamp for _, _, stamp in self._queue]
        if not self._sources:
            step = self._step or self._frame
            return spread_times(stamps, [i * step for i in range(len(stamps))], step)
        if len(self._sources) != len(stamps):
            raise InvalidValueError(
                f"RecordSourceVideoPacket was called for {len(self._sources)} packets, and "
                f"MuxVideoPacket for {len(stamps)}: call both once for each frame, or encode each "
                "frame with its timestamp as inputTimeStamp"
            )
        sources = sorted(self._sources)
        start = sources[0][0]
        times = [time - start for time, _ in sources]
        return spread_times(stamps, times, sources[-1][1] or self._frame)

    def _check_open(self) -> None:
        if self._done:
            raise PyNvVCException("the file is finished")
