"""What a peer is: one class, one file, and only the operations the library really has."""

from __future__ import annotations

import fractions
from collections.abc import Sequence
from typing import Any, ClassVar


class Peer:
    """One library under measurement. Runs inside its own worker process.

    Subclasses set `name`, import their library in `load`, and override the operations they can do.
    An operation that is not overridden is reported as "not offered", an import that fails as
    "absent"; neither is an error. Every decode returns something `numpy.asarray` takes as uint8
    RGB of shape [T, H, W, 3], every picture made and in place when the call returns.

    Peers run with the fastest settings known for them, on a path or on bytes, whichever is faster
    for them; a subclass says so where it departs from the library's defaults.
    """

    name: ClassVar[str] = ""
    # Which virtual environment runs it ("" is the one that runs the harness); setup_peers.py.
    environment: ClassVar[str] = "peers"
    # A yardstick rather than a competitor: shown, never counted as the fastest peer.
    baseline: ClassVar[bool] = False
    # Of the latest tf.data pipeline; see `read_through`.
    iterator: Any = None
    # Extra environment variables of its worker.
    variables: ClassVar[dict[str, str]] = {}

    def load(self) -> None:
        """Imports the library; ImportError, OSError and RuntimeError mean that it is absent."""
        raise NotImplementedError

    def version(self) -> str:
        """The library's version, and that of the FFmpeg inside when it says so."""
        raise NotImplementedError

    def prepare(self, operation: str, arguments: dict[str, Any]) -> None:
        """Untimed, before an operation: read a file into memory, build input frames."""

    def read_through(self, dataset: Any) -> Any:
        """Iterates over a tf.data pipeline and keeps the iterator: when one is deleted TensorFlow
        may wait for its autotuner's next turn, up to 10 s later after 10 s (a race in the
        cancellation of its thread), which has nothing to do with whose clips it read."""
        self.iterator = iter(dataset)
        return self.iterator

    def decode_full(self, path: str) -> Any:
        """Every frame of the clip as one array."""
        raise NotImplementedError

    def decode_stream(self, path: str) -> int:
        """Every frame of the clip as RGB, kept no longer than needed; the number of frames."""
        raise NotImplementedError

    def decode_frames(self, path: str, indices: Sequence[int]) -> Any:
        """The frames at `indices`, in that order; the clip is opened anew."""
        raise NotImplementedError

    def decode_clip(self, path: str, *, start: int, count: int) -> Any:
        """`count` frames from frame `start` on; the clip is opened anew."""
        raise NotImplementedError

    def decode_clip_resized(
        self, path: str, *, start: int, count: int, height: int, width: int
    ) -> Any:
        """`decode_clip`, resized bilinearly by the library, or by the fastest resize beside it."""
        raise NotImplementedError

    def first_frame(self, path: str) -> Any:
        """Opens the clip and decodes its first frame: [H, W, 3] or [1, H, W, 3]."""
        raise NotImplementedError

    def decode_ranges(self, path: str, starts: Sequence[int], count: int) -> int:
        """`count` frames at each of `starts`, one range after another; the number of frames."""
        raise NotImplementedError

    def dataset_clips(
        self,
        path: str,
        *,
        clips: Sequence[tuple[str, int]],
        fps: float,
        count: int,
        height: int,
        width: int,
        batch: int,
        parallel: int,
        own_resize: bool = False,
        batches: int = -1,
    ) -> int:
        """`count` frames from each of `clips` (a path and its first frame) through a tf.data
        pipeline that decodes `parallel` clips at once, as uint8 batches of resized frames; the
        number of frames. `batches`: stop after so many. `path` is one of the files."""
        raise NotImplementedError

    def dataset_share(self, path: str, **how: Any) -> int:
        """Of the time of `dataset_clips` one at a time, the part spent on reading clips, in ppm."""
        raise NotImplementedError

    def dataset_loop(self, path: str, **how: Any) -> int:
        """The work of `dataset_clips` in a plain loop; the number of frames."""
        raise NotImplementedError

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
        """The MP4 made from the raw frames at `path` ("yuv420p" or "rgb24")."""
        raise NotImplementedError


def read_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def read_raw_frames(path: str, pixel_format: str, width: int, height: int) -> Any:
    """Raw video as uint8: [T, H, W, 3] for rgb24, [T, H * 3 / 2, W] for yuv420p."""
    import numpy as np

    data = np.fromfile(path, np.uint8)
    if pixel_format == "rgb24":
        return data.reshape(-1, height, width, 3)
    return data.reshape(-1, height * 3 // 2, width)


def first_tick(seconds: float, time_base: fractions.Fraction) -> int:
    """`seconds` in units of `time_base`, rounded to the nearest."""
    return round(seconds / time_base)


def runs(indices: Sequence[int], reach: int) -> list[list[int]]:
    """Sorted distinct indices cut where the next one is more than `reach` frames ahead."""
    groups: list[list[int]] = []
    for index in sorted(set(indices)):
        if groups and index - groups[-1][-1] <= reach:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups
