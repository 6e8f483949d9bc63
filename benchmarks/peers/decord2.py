"""decord2, the successor of decord, which reads a path with its own choice of threads.

Its version 3.4.0 cannot read HEVC of x265 ("Error sending packet").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.peers.base import gathered
from benchmarks.peers.tf_data import TfDataClips


class Decord2(TfDataClips):
    name = "decord2"

    def load(self) -> None:
        import decord

        self._decord = decord

    def version(self) -> str:
        return str(self._decord.__version__)

    def decode_full(self, path: str) -> Any:
        reader = self._decord.VideoReader(path)
        return reader.get_batch(range(len(reader))).asnumpy()

    def decode_pass(self, path: str, *, count: int) -> Iterator[Any]:
        # get_batch of consecutive frames is slower.
        yield from gathered(self.decode_each(path), count)

    def decode_each(self, path: str) -> Iterator[Any]:
        reader = self._decord.VideoReader(path)
        for index in range(len(reader)):
            yield reader[index].asnumpy()

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
