"""OpenCV's VideoCapture, which reads a path only; its BGR is converted to RGB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.peers.base import runs
from benchmarks.peers.tf_data import TfDataClips

# A frame this near is reached by decoding on, because a seek goes back to the key frame.
_REACH = 25


class OpenCV(TfDataClips):
    name = "OpenCV"

    def load(self) -> None:
        import cv2
        import numpy as np

        self._cv2, self._np = cv2, np

    def version(self) -> str:
        lines = self._cv2.getBuildInformation().splitlines()
        codec = next((line.split()[-1] for line in lines if "avcodec:" in line), "none")
        return f"{self._cv2.__version__}, libavcodec {codec}"

    def _open(self, path: str) -> Any:
        capture = self._cv2.VideoCapture(path, self._cv2.CAP_FFMPEG)
        if not capture.isOpened():
            raise RuntimeError("VideoCapture can't open this clip")
        return capture

    def _read(self, capture: Any) -> Any:
        ok, frame = capture.read()
        if not ok:
            raise RuntimeError("VideoCapture.read() failed")
        return frame

    def _rgb(self, frame: Any) -> Any:
        return self._cv2.cvtColor(frame, self._cv2.COLOR_BGR2RGB)

    def decode_full(self, path: str) -> Any:
        cv2 = self._cv2
        capture = self._open(path)
        frames = int(capture.get(cv2.CAP_PROP_FRAME_COUNT))
        height = int(capture.get(cv2.CAP_PROP_FRAME_HEIGHT))
        width = int(capture.get(cv2.CAP_PROP_FRAME_WIDTH))
        out = self._np.empty((frames, height, width, 3), self._np.uint8)
        for index in range(frames):
            cv2.cvtColor(self._read(capture), cv2.COLOR_BGR2RGB, out[index])
        return out

    def decode_pass(self, path: str, *, count: int) -> Iterator[Any]:
        capture = self._open(path)
        ok, frame = capture.read()
        while ok:
            out, filled = self._np.empty((count, *frame.shape), self._np.uint8), 0
            while ok and filled < count:
                self._cv2.cvtColor(frame, self._cv2.COLOR_BGR2RGB, out[filled])
                filled += 1
                ok, frame = capture.read(frame)
            yield out[:filled]

    def decode_each(self, path: str) -> Iterator[Any]:
        capture = self._open(path)
        while capture.isOpened():
            ok, frame = capture.read()
            if not ok:
                break
            yield self._cv2.cvtColor(frame, self._cv2.COLOR_BGR2RGB)

    def decode_frames(self, path: str, indices: Sequence[int]) -> Any:
        capture = self._open(path)
        found: dict[int, Any] = {}
        for group in runs(indices, _REACH):
            capture.set(self._cv2.CAP_PROP_POS_FRAMES, group[0])
            for index in range(group[0], group[-1] + 1):
                if index in group:
                    found[index] = self._rgb(self._read(capture))
                else:
                    capture.grab()
        return self._np.stack([found[index] for index in indices])

    def decode_clip(self, path: str, *, start: int, count: int) -> Any:
        capture = self._open(path)
        capture.set(self._cv2.CAP_PROP_POS_FRAMES, start)
        return self._np.stack([self._rgb(self._read(capture)) for _ in range(count)])

    def decode_clip_resized(
        self, path: str, *, start: int, count: int, height: int, width: int
    ) -> Any:
        capture = self._open(path)
        capture.set(self._cv2.CAP_PROP_POS_FRAMES, start)
        return self._np.stack(
            [
                self._rgb(self._cv2.resize(self._read(capture), (width, height)))
                for _ in range(count)
            ]
        )

    def first_frame(self, path: str) -> Any:
        return self._rgb(self._read(self._open(path)))

    def decode_ranges(self, path: str, starts: Sequence[int], count: int) -> int:
        capture = self._open(path)
        total = 0
        for start in starts:
            capture.set(self._cv2.CAP_PROP_POS_FRAMES, start)
            total += len(self._np.stack([self._rgb(self._read(capture)) for _ in range(count)]))
        return total
