"""decord, which reads a path with its own choice of threads.

A pass is read in two ways: by batches of consecutive frames, and frame by frame ("iteration").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.peers.base import Peer, gathered, windows
from benchmarks.peers.tf_data import TfDataClips


class _Decord(Peer):
    def load(self) -> None:
        import decord

        self._decord = decord

    def version(self) -> str:
        return str(self._decord.__version__)


class Decord(_Decord, TfDataClips):
    name = "decord"

    def decode_full(self, path: str) -> Any:
        reader = self._decord.VideoReader(path)
        return reader.get_batch(range(len(reader))).asnumpy()

    def decode_pass(self, path: str, *, start: int, count: int) -> Iterator[Any]:
        reader = self._decord.VideoReader(path)
        for first in range(start, len(reader), count):
            yield reader.get_batch(range(first, min(first + count, len(reader)))).asnumpy()

    def decode_windows(self, path: str, *, count: int, step: int) -> Iterator[Any]:
        reader = self._decord.VideoReader(path)
        for start in windows(len(reader), count, step):
            yield reader.get_batch(range(start, start + count)).asnumpy()

    def decode_frames(self, path: str, indices: Sequence[int]) -> Any:
        return self._decord.VideoReader(path).get_batch(list(indices)).asnumpy()

    def decode_clip(self, path: str, *, start: int, count: int) -> Any:
        reader = self._decord.VideoReader(path)
        return reader.get_batch(range(start, start + count)).asnumpy()

    def decode_clip_resized(
        self, path: str, *, start: int, count: int, height: int, width: int
    ) -> Any:
        reader = self._decord.VideoReader(path, width=width, height=height)
        return reader.get_batch(range(start, start + count)).asnumpy()

    def first_frame(self, path: str) -> Any:
        return self._decord.VideoReader(path)[0].asnumpy()

    def decode_ranges(self, path: str, starts: Sequence[int], count: int) -> int:
        reader = self._decord.VideoReader(path)
        return sum(len(reader.get_batch(range(start, start + count)).asnumpy()) for start in starts)


class DecordIteration(_Decord):
    """decord's reader as an iterator, which gives one frame after the other."""

    name = "decord iteration"

    def decode_pass(self, path: str, *, start: int, count: int) -> Iterator[Any]:
        reader = self._decord.VideoReader(path)
        if start:
            reader.skip_frames(start)
        yield from gathered((reader.next().asnumpy() for _ in range(start, len(reader))), count)
