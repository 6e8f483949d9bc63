"""One input video, decoded in blocks of frames that fit a memory budget."""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tf_nvcodec.cli.errors import CliError, UsageError, about
from tf_nvcodec.cli.files import read_bytes, require_video
from tf_nvcodec.cli.progress import batches, interruptible
from tf_nvcodec.cli.runtime import load, video_info

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True)
class Block:
    """Consecutive frames of the selection.

    Attributes:
      tensor: The frames as the decoder gave them. encode_video copies an array, but not a tensor.
      pts: Their seconds.
      asked: How many they are before damaged ones are skipped.
      broken: How many are damaged, and skipped or repeated.
    """

    tensor: Any
    pts: NDArray[Any]
    asked: int
    broken: int

    @functools.cached_property
    def frames(self) -> NDArray[Any]:
        """The frames as an array: a view of the tensor, or a copy if that is on a GPU."""
        import numpy as np

        return np.asarray(self.tensor)


class Source:
    """A video file, probed. A missing file is reported before TensorFlow is imported."""

    def __init__(self, path: str, timeout: float | None = None) -> None:
        self.path = path
        self._video = require_video(path)
        self.runtime = load()
        with about(path):
            self.info: dict[str, Any] = interruptible(
                lambda: video_info(self.runtime, self._video, timeout)
            )

    def positions(self, start: int | None, stop: int | None, stride: int | None) -> range:
        """Returns the frame numbers of Python's slice(start, stop, stride) of this video."""
        chosen = range(*slice(start, stop, stride).indices(int(self.info["num_frames"])))
        if not chosen:
            raise CliError(
                self.path,
                f"no frame in {start or 0}:{'' if stop is None else stop} of "
                f"{self.info['num_frames']} frames",
                "change --start and --stop",
            )
        return chosen

    def before_the_end(self, times: list[float], keywords: dict[str, Any]) -> list[float]:
        """Returns those of `times` that are before the end of the last frame."""
        keywords = {**keywords, "indices": [0], "on_error": "repeat"}
        first = self._decode(self.runtime.nvc.decode_frames_at, 1, keywords)
        end = float(first.pts[0]) + self.info["duration"]
        chosen = [time for time in times if time < end]
        if not chosen:
            raise CliError(self.path, f"ends at {end:g} s, and no time of --timestamps is before")
        return chosen

    def shown_size(self, args: argparse.Namespace) -> tuple[int, int]:
        """Returns (height, width) of the frames after --size, --crop and --no-rotate."""
        if args.size is None:
            return self.region_size(args)
        height, width = args.size
        return int(height), int(width)

    def region_size(self, args: argparse.Namespace) -> tuple[int, int]:
        """Returns (height, width) of what is shown, before --size."""
        if args.crop is not None:
            _, _, height, width = args.crop
            return int(height), int(width)
        height, width = int(self.info["height"]), int(self.info["width"])
        return (width, height) if self.is_turned(args) else (height, width)

    def is_turned(self, args: argparse.Namespace) -> bool:
        """Whether a row of a stored frame becomes a column."""
        return not args.no_rotate and int(self.info["rotation"]) % 180 != 0

    def decode_range(
        self, positions: range, keywords: dict[str, Any], frame_bytes: int, budget: int
    ) -> Iterator[Block]:
        """Yields blocks of the frames at `positions`, read in one pass.

        Two blocks are in memory at a time, each of at most half of `budget` bytes or one frame.
        """
        size = max(1, budget // max(1, 2 * frame_bytes))
        last = None
        left = len(positions)
        with self._chunks(size, positions, keywords) as chunks:
            while True:
                with about(self.path):
                    chunk = interruptible(lambda: next(chunks, None))
                if chunk is None:
                    break
                last = _block(chunk, min(size, left))
                left -= last.asked
                yield last
        if last is None:
            raise self.nothing_to_show()
        if left > 0:  # whole chunks were damaged, and skipped
            yield Block(last.tensor[:0], last.pts[:0], left, left)

    def decode_whole(self, positions: range, keywords: dict[str, Any]) -> Block:
        """Returns the frames at `positions` as one block, whose memory is needed once.

        It has no frames if all are damaged, and skipped.
        """
        import numpy as np

        with self._chunks(len(positions), positions, keywords) as chunks, about(self.path):
            chunk = interruptible(lambda: next(chunks, None))
        if chunk is None:
            return Block(np.empty(0), np.empty(0), len(positions), len(positions))
        return _block(chunk, len(positions))

    def nothing_to_show(self) -> CliError:
        """The error of a video in which all wanted frames are damaged."""
        return CliError(self.path, "no frame can be decoded")

    def _chunks(self, size: int, positions: range, keywords: dict[str, Any]) -> Any:
        """Opens the video, to give the frames at `positions` in chunks of `size`."""
        with about(self.path):
            return interruptible(
                lambda: self.runtime.nvc.iter_video(
                    self._video,
                    size,
                    positions[0],
                    positions[-1] + 1,
                    positions.step,
                    return_valid=True,
                    index_cache=False,
                    **keywords,
                )
            )

    def decode_at(
        self,
        selector: str,
        wanted: list[Any],
        keywords: dict[str, Any],
        frame_bytes: int,
        budget: int,
    ) -> Iterator[Block]:
        """Yields blocks of the frames at `wanted`; `selector` is "indices" or "timestamps"."""
        for part in batches(range(len(wanted)), max(1, budget // max(1, frame_bytes))):
            chosen = wanted[part[0] : part[-1] + 1]
            yield self._decode(
                self.runtime.nvc.decode_frames_at, len(chosen), {selector: chosen, **keywords}
            )

    def _decode(self, op: Any, asked: int, keywords: dict[str, Any]) -> Block:
        if isinstance(self._video, str):
            self._video = read_bytes(self._video)
        keywords = {**keywords, "return_valid": True}
        with about(self.path):
            return _block(interruptible(lambda: op(self._video, **keywords)), asked)


def _block(decoded: Any, asked: int) -> Block:
    import numpy as np

    pts = np.asarray(decoded.pts)
    return Block(decoded.frames, pts, asked, asked - int(np.sum(decoded.valid)))


def require_at_most_one(args: argparse.Namespace, names: tuple[str, ...]) -> None:
    """Raises UsageError if more than one of the options `names` was given."""
    used = [f"--{name}" for name in names if getattr(args, name) is not None]
    if len(used) > 1:
        raise UsageError("", f"{' and '.join(used)} exclude each other", "give one of them")
