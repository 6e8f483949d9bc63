"""PyAV, which reads a path with frame threads; slice threads, its default, are slower.

Random access is written as a careful user would: the container's own index of key frames says which
requests share a GOP, and each GOP is decoded once.
"""

from __future__ import annotations

import bisect
import fractions
import io
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.peers.base import first_tick, gathered, read_raw_frames
from benchmarks.peers.tf_data import TfDataClips


class PyAV(TfDataClips):
    name = "PyAV"

    def load(self) -> None:
        import av
        import numpy as np

        self._av, self._np = av, np

    def version(self) -> str:
        return f"{self._av.__version__}, FFmpeg {self._av.ffmpeg_version_info}"

    def _open(self, path: str, threads: str = "FRAME") -> tuple[Any, Any]:
        container = self._av.open(path)
        stream = container.streams.video[0]
        stream.thread_type = threads
        return container, stream

    def decode_full(self, path: str) -> Any:
        container, stream = self._open(path)
        with container:
            out = self._np.empty((stream.frames, stream.height, stream.width, 3), self._np.uint8)
            for index, frame in enumerate(container.decode(stream)):
                out[index] = frame.to_ndarray(format="rgb24")
            return out

    def decode_pass(self, path: str, *, count: int) -> Iterator[Any]:
        container, stream = self._open(path)
        with container:
            frames = (frame.to_ndarray(format="rgb24") for frame in container.decode(stream))
            yield from gathered(frames, count)

    def decode_each(self, path: str) -> Iterator[Any]:
        with self._av.open(path) as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            for frame in container.decode(stream):
                yield frame.to_ndarray(format="rgb24")

    def _frames_from(self, container: Any, stream: Any, index: int) -> Iterator[tuple[int, Any]]:
        """Yields frames with their indices, from the key frame at or before `index` on."""
        start = stream.start_time or 0
        seconds = fractions.Fraction(index) / stream.average_rate
        container.seek(start + first_tick(float(seconds), stream.time_base), stream=stream)
        for frame in container.decode(stream):
            at = (frame.pts - start) * stream.time_base * stream.average_rate
            yield round(at), frame

    def _range(
        self, container: Any, stream: Any, start: int, count: int, **reformat: Any
    ) -> list[Any]:
        out: list[Any] = []
        for index, frame in self._frames_from(container, stream, start):
            if index >= start:
                out.append(frame.to_ndarray(format="rgb24", **reformat))
            if index >= start + count - 1:
                break
        return out

    def decode_frames(self, path: str, indices: Sequence[int]) -> Any:
        container, stream = self._open(path)
        with container:
            ticks = [entry.timestamp for entry in stream.index_entries if entry.is_keyframe]
            keys = [
                round((tick - ticks[0]) * stream.time_base * stream.average_rate) for tick in ticks
            ]
            groups: dict[int, list[int]] = {}
            for index in sorted(set(indices)):
                groups.setdefault(bisect.bisect_right(keys, index), []).append(index)
            found: dict[int, Any] = {}
            for group in groups.values():
                for index, frame in self._frames_from(container, stream, group[0]):
                    if index in group:
                        found[index] = frame.to_ndarray(format="rgb24")
                    if index >= group[-1]:
                        break
            return self._np.stack([found[index] for index in indices])

    def decode_clip(self, path: str, *, start: int, count: int) -> Any:
        container, stream = self._open(path)
        with container:
            return self._np.stack(self._range(container, stream, start, count))

    def decode_clip_resized(
        self, path: str, *, start: int, count: int, height: int, width: int
    ) -> Any:
        container, stream = self._open(path)
        with container:
            frames = self._range(
                container,
                stream,
                start,
                count,
                width=width,
                height=height,
                interpolation="FAST_BILINEAR",
            )
            return self._np.stack(frames)

    def first_frame(self, path: str) -> Any:
        container, stream = self._open(path, "SLICE")
        with container:
            return next(container.decode(stream)).to_ndarray(format="rgb24")

    def decode_ranges(self, path: str, starts: Sequence[int], count: int) -> int:
        container, stream = self._open(path)
        with container:
            return sum(
                len(self._np.stack(self._range(container, stream, start, count)))
                for start in starts
            )

    def prepare(self, operation: str, arguments: dict[str, Any]) -> None:
        super().prepare(operation, arguments)
        if operation == "encode_x264":
            self._raw = read_raw_frames(
                arguments["path"],
                arguments["pixel_format"],
                arguments["width"],
                arguments["height"],
            )

    def encode_x264(
        self,
        path: str,
        *,
        pixel_format: str,
        width: int,
        height: int,
        fps: int,
        preset: str,
        crf: int,
    ) -> bytes:
        target = io.BytesIO()
        with self._av.open(target, "w", format="mp4") as container:
            stream = container.add_stream("libx264", rate=fps)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            stream.options = {"preset": preset, "crf": str(crf)}
            for array in self._raw:
                frame = self._av.VideoFrame.from_ndarray(array, format=pixel_format)
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        return target.getvalue()
