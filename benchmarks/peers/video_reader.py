"""video-reader-rs, which reads a path by FFmpeg and converts to RGB in Rust."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.base import gathered
from benchmarks.peers.tf_data import TfDataClips


class VideoReaderRs(TfDataClips):
    name = "video-reader-rs"

    def load(self) -> None:
        found = importlib.util.find_spec("video_reader")
        if found is None or found.origin is None:
            raise ImportError("no module named video_reader")
        # A library in the wheel of 0.4.5 does not find this one.
        for library in Path(found.origin).parents[1].glob("video_reader_rs.libs/libsharpyuv-*"):
            ctypes.CDLL(str(library))
        from video_reader import PyVideoReader

        self._reader = PyVideoReader

    def version(self) -> str:
        return importlib.metadata.version("video-reader-rs")

    def decode_full(self, path: str) -> Any:
        return self._reader(path).decode()

    def decode_pass(self, path: str, *, count: int) -> Iterator[Any]:
        # decode(first, last) seeks to each range.
        yield from gathered(self.decode_each(path), count)

    def decode_each(self, path: str) -> Iterator[Any]:
        yield from self._reader(path)

    def decode_frames(self, path: str, indices: Sequence[int]) -> Any:
        return self._reader(path).get_batch(list(indices))

    def decode_clip(self, path: str, *, start: int, count: int) -> Any:
        return self._reader(path).decode(start, start + count)

    def decode_clip_resized(
        self, path: str, *, start: int, count: int, height: int, width: int
    ) -> Any:
        reader = self._reader(path, target_width=width, target_height=height)
        return reader.decode(start, start + count)

    def first_frame(self, path: str) -> Any:
        return self._reader(path)[0]

    def decode_ranges(self, path: str, starts: Sequence[int], count: int) -> int:
        reader = self._reader(path)
        return sum(len(reader.decode(start, start + count)) for start in starts)
