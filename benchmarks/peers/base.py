"""The base class of peers: a class for each library, with the operations that it really has."""

from __future__ import annotations

import fractions
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar


class Peer:
    """A measured library. It runs in its own worker process.

    Subclasses set `name`, import their library in `load`, and override the operations that it has.
    An operation that is not overridden is reported as "not offered", a failed import as "absent";
    neither is an error. Every decode returns an object that `numpy.asarray` takes as uint8 RGB of
    shape [T, H, W, 3]; every picture is complete when the call returns.

    Peers run with the fastest known settings, on a path or on bytes, whichever is faster. A
    subclass says where it departs from the library's defaults.
    """

    name: ClassVar[str] = ""
    # The virtual environment that runs it, made by harness/setup_peers.py; "" is the harness's own.
    environment: ClassVar[str] = "peers"
    # Whether it is a yardstick: it is shown, but never counts as the fastest peer.
    baseline: ClassVar[bool] = False
    # The iterator of the latest tf.data pipeline; see `read_through`.
    iterator: Any = None
    # Additional environment variables of its worker.
    variables: ClassVar[dict[str, str]] = {}

    def load(self) -> None:
        """Imports the library. ImportError, OSError and RuntimeError mean that it is absent."""
        raise NotImplementedError

    def version(self) -> str:
        """Returns the library's version, and that of its FFmpeg if it tells."""
        raise NotImplementedError

    def prepare(self, operation: str, arguments: dict[str, Any]) -> None:
        """Prepares an operation untimed: reads a file into memory, or builds input frames."""

    def read_through(self, dataset: Any) -> Any:
        """Iterates over a tf.data pipeline and keeps the iterator.

        When an iterator is deleted, TensorFlow may wait up to 10 s for the next turn of its
        autotuner (a race in the cancellation of its thread). That is not the peer's time.
        """
        self.iterator = iter(dataset)
        return self.iterator

    def decode_full(self, path: str) -> Any:
        """Decodes every frame of the clip into one array."""
        raise NotImplementedError

    def decode_pass(self, path: str, *, count: int) -> Any:
        """Reads the clip from front to back, `count` frames at a time.

        It yields NumPy arrays, uint8 [n, H, W, 3], each with memory of its own. The last may have
        fewer frames. A yardstick, which makes no arrays, returns the number of frames instead.
        """
        raise NotImplementedError

    def decode_each(self, path: str) -> Any:
        """Yields the clip's frames one by one, NumPy arrays [H, W, 3] that nobody keeps.

        It is the loop that the library's documentation shows, with frame threads or as many threads
        as cores where it names them. A yardstick returns the number of frames instead.
        """
        raise NotImplementedError

    def decode_frames(self, path: str, indices: Sequence[int]) -> Any:
        """Opens the clip and decodes the frames at `indices`, in their order."""
        raise NotImplementedError

    def decode_clip(self, path: str, *, start: int, count: int) -> Any:
        """Opens the clip and decodes `count` frames from frame `start` on."""
        raise NotImplementedError

    def decode_clip_resized(
        self, path: str, *, start: int, count: int, height: int, width: int
    ) -> Any:
        """Does `decode_clip` with a bilinear resize, by the library or the fastest other resize."""
        raise NotImplementedError

    def first_frame(self, path: str) -> Any:
        """Opens the clip and decodes its first frame: [H, W, 3] or [1, H, W, 3]."""
        raise NotImplementedError

    def decode_ranges(self, path: str, starts: Sequence[int], count: int) -> int:
        """Decodes `count` frames at each of `starts`, in turn; returns the number of frames."""
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
        """Reads clips through a tf.data pipeline, as uint8 batches of resized frames.

        Args:
          path: One of the files.
          clips: A path and a first frame for each clip.
          count: The frames of a clip.
          parallel: The clips decoded at once.
          batches: Stop after this number of batches.

        Returns:
          The number of frames.
        """
        raise NotImplementedError

    def dataset_share(self, path: str, **how: Any) -> int:
        """Returns the part of `dataset_clips`'s time spent on clips, one at a time, in ppm."""
        raise NotImplementedError

    def dataset_loop(self, path: str, **how: Any) -> int:
        """Does the work of `dataset_clips` in a plain loop; returns the number of frames."""
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
        """Returns the MP4 made of the raw frames at `path` ("yuv420p" or "rgb24")."""
        raise NotImplementedError


def read_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def read_raw_frames(path: str, pixel_format: str, width: int, height: int) -> Any:
    """Reads raw video as uint8: [T, H, W, 3] for rgb24, [T, H * 3 / 2, W] for yuv420p."""
    import numpy as np

    data = np.fromfile(path, np.uint8)
    if pixel_format == "rgb24":
        return data.reshape(-1, height, width, 3)
    return data.reshape(-1, height * 3 // 2, width)


def first_tick(seconds: float, time_base: fractions.Fraction) -> int:
    """Returns `seconds` in units of `time_base`, rounded to the nearest."""
    return round(seconds / time_base)


def gathered(frames: Iterable[Any], count: int) -> Iterator[Any]:
    """Puts `count` frames, each an array [H, W, 3], into one array; the last may have fewer.

    To fill an array frame by frame takes less time and memory than numpy.stack of a list.
    """
    import numpy as np

    if count == 1:
        yield from (frame[None] for frame in frames)
        return
    out, filled = None, 0
    for frame in frames:
        if filled == 0:
            out = np.empty((count, *frame.shape), frame.dtype)
        out[filled] = frame
        filled += 1
        if filled == count:
            yield out
            filled = 0
    if filled:
        yield out[:filled]


def runs(indices: Sequence[int], reach: int) -> list[list[int]]:
    """Returns sorted distinct indices, split where the next is more than `reach` frames ahead."""
    groups: list[list[int]] = []
    for index in sorted(set(indices)):
        if groups and index - groups[-1][-1] <= reach:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups
