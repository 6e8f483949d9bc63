"""One input video, decoded in blocks of frames that fit a memory budget."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tf_nvcodec.cli.errors import CliError, UsageError, about
from tf_nvcodec.cli.files import read_bytes
from tf_nvcodec.cli.progress import batches, interruptible
from tf_nvcodec.cli.runtime import load, video_info

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Block(NamedTuple):
    """Consecutive frames of the selection. `asked` counts them before damaged ones are skipped."""

    frames: NDArray[Any]
    pts: NDArray[Any]
    asked: int
    broken: int


class Source:
    """A video file, read and probed. A missing file is reported before TensorFlow is imported."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._contents = read_bytes(path)
        self.runtime = load()
        with about(path):
            self.info: dict[str, Any] = interruptible(
                lambda: video_info(self.runtime, self._contents)
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

    def shown_size(self, args: argparse.Namespace) -> tuple[int, int]:
        """Returns (height, width) of the frames after --size, --crop and --no-rotate."""
        if args.size is not None:
            height, width = args.size
        elif args.crop is not None:
            _, _, height, width = args.crop
        else:
            height, width = int(self.info["height"]), int(self.info["width"])
            if not args.no_rotate and int(self.info["rotation"]) % 180 != 0:
                height, width = width, height
        return int(height), int(width)

    def decode_range(
        self, positions: range, keywords: dict[str, Any], frame_bytes: int, budget: int
    ) -> Iterator[Block]:
        """Yields blocks of the frames at `positions`, each of at most `budget` bytes or one
        frame."""
        for part in batches(positions, max(1, budget // max(1, frame_bytes))):
            yield self._decode(
                self.runtime.nvc.decode_video,
                len(part),
                {"start": part[0], "stop": part[-1] + 1, "stride": part.step, **keywords},
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
        keywords = {**keywords, "return_valid": True}
        with about(self.path):
            decoded = interruptible(lambda: op(self._contents, **keywords))
        frames, pts = decoded.frames.numpy(), decoded.pts.numpy()
        broken = asked - int(decoded.valid.numpy().sum())
        return Block(frames, pts, asked, broken)


def require_at_most_one(args: argparse.Namespace, names: tuple[str, ...]) -> None:
    """Raises UsageError if more than one of the options `names` was given."""
    used = [f"--{name}" for name in names if getattr(args, name) is not None]
    if len(used) > 1:
        raise UsageError("", f"{' and '.join(used)} exclude each other", "give one of them")
