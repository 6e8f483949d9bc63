"""`tf-nvcodec transcode`: a video to another codec, container or size, or a stretch of it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tf_nvcodec.cli import encode, files, options, values
from tf_nvcodec.cli.errors import OK, CliError, UsageError, about
from tf_nvcodec.cli.numbered import NumberedFiles, is_numbered
from tf_nvcodec.cli.progress import Progress, interruptible
from tf_nvcodec.cli.source import Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Such streams stay valid if one is appended to another, so they are written piece by piece.
_JOINABLE = {
    ("ts", "h264"),
    ("ts", "hevc"),
    ("raw", "h264"),
    ("raw", "hevc"),
    ("raw", "av1"),
    ("raw", "mjpeg"),
    ("obu", "av1"),
}
# MPEG-TS has no negative times. With B-frames the first decoding times would be negative, and the
# muxer would shift all times of a piece. Pieces that start this many frames late are not shifted,
# so they fit together. (16 B-frames are the most that an encoder takes.)
_TS_LEAD_FRAMES = 32
# These containers store no time for a frame: it plays at the rate of the file.
_UNTIMED = ("avi", "raw", "obu")
_MP4_LIKE = ("mp4", "mov")
# Matroska's clock ticks once a millisecond, so even frames read from it are this uneven, in
# seconds.
_UNEVEN_S = 0.0011
# FFmpeg's names of the matrices that the encoder writes.
_COLOR_SPACES = {
    "bt709": "bt709",
    "smpte170m": "bt601",
    "bt470bg": "bt601",
    "bt2020nc": "bt2020",
    "bt2020c": "bt2020",
}


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "transcode",
        help="a video to another codec, container or size, or a stretch of it",
        description=(
            "Decodes IN and encodes it to OUT, keeping each frame's time; sound is not kept. OUT is"
            " encoded in one piece, which needs all its frames in memory (--memory), unless it is"
            " MPEG-TS (.ts), raw H.264, HEVC or MJPEG, or a pattern like out_%%03d.mp4 with"
            " --segment: those are written stretch by stretch, in bounded memory."
        ),
    )
    parser.add_argument(
        "input", type=values.path, metavar="IN", help='a video; "-" is standard input'
    )
    parser.add_argument(
        "output", type=values.path, metavar="OUT", help="the extension chooses container and codec"
    )
    options.add_common(parser, output=True)
    options.add_memory(parser)
    parser.add_argument("--fps", type=values.fps, help="retime to this rate; no frame is dropped")
    parser.add_argument(
        "--segment", type=values.positive, metavar="N", help="frames in each file of the pattern"
    )
    options.add_range(parser)
    options.add_geometry(parser)
    options.add_decoder(parser)
    options.add_encoder(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    container, codec = encode.choose_format(args)
    numbered = is_numbered(args.output)
    if numbered != (args.segment is not None):
        raise UsageError(args.output, "--segment N and a pattern like out_%03d.mp4 go together")
    encoding = options.encode_keywords(args)
    if not numbered:
        files.refuse_to_replace(args.output, args.force, [args.input])

    source = Source(args.input, args.timeout)
    positions = source.positions(args.start, args.stop, args.stride)
    job = _Job(args, source, codec, container, encoding)
    budget = args.memory * 1_000_000
    with Progress(f"transcode to {codec}", len(positions), args.quiet) as progress:
        if numbered:
            job.check_fits(min(args.segment, len(positions)), budget, "lower --segment")
            size = 0
            outputs = NumberedFiles(args.output)
            firsts = range(0, len(positions), args.segment)
            for number in range(len(firsts)):
                files.refuse_to_replace(outputs.file(number), args.force, [args.input])
            for number, first in enumerate(firsts):
                name = outputs.file(number)
                video = job.encode(positions[first : first + args.segment], budget, progress)
                files.write_bytes(name, video)
                size += len(video)
        elif (container, codec) in _JOINABLE and args.output != "-":
            size = job.append_pieces(positions, budget, progress)
        else:
            job.check_fits(len(positions), budget, "write .ts, or --segment with a pattern")
            video = job.encode(positions, budget, progress)
            files.write_bytes(args.output, video)
            size = len(video)
    encode.report(args, frames=job.frames, codec=codec, container=container, size=size)
    return OK


class _Job:
    """Decodes stretches of one source in a form that loses nothing, and encodes them."""

    def __init__(
        self,
        args: argparse.Namespace,
        source: Source,
        codec: str,
        container: str,
        encoding: dict[str, Any],
    ) -> None:
        self.frames = 0
        self._args = args
        self._source = source
        self._height, self._width = source.shown_size(args)
        self._decoding = {**options.decode_keywords(args), **_exchange_format(source.info, codec)}
        self._fps = args.fps or float(source.info["fps"]) / (args.stride or 1)
        self._encoding = {
            **encoding,
            **({} if codec == "mjpeg" else self._colour()),
            **options.given(num_threads=args.threads),
            "codec": codec,
            "container": container,
            "input_format": self._decoding["pixel_format"],
        }
        if self._decoding["pixel_format"] in options.PACKED:
            self._encoding["size"] = (self._height, self._width)
        self._origin: float | None = None

    def _colour(self) -> dict[str, Any]:
        """color_space and color_range of the encoder, so that OUT shows the colours of IN.

        Streams without tags get the guess that decoding makes from the size of the input. A guess
        from the size of the output could differ.
        """
        info = self._source.info
        large = int(info["width"]) >= 1280 or int(info["height"]) > 576
        space = _COLOR_SPACES.get(info["color_space"], "bt709" if large else "bt601")
        colour = {"color_space": self._args.color_space or space}
        if self._decoding["pixel_format"] in options.PACKED:
            stored = info["color_range"]
            if stored == "unknown":
                stored = "full" if str(info["pixel_format"]).startswith("yuvj") else "limited"
            colour["color_range"] = self._args.color_range or stored
        return colour

    def frame_bytes(self) -> int:
        """Bytes of one decoded frame, rounded up for odd sizes."""
        samples = {"yuv420p": 1.5, "p010": 1.5, "gray": 1}.get(self._decoding["pixel_format"], 3)
        deep = self._decoding["pixel_format"] == "p010" or self._decoding["dtype"] == "uint16"
        even = (self._height + 1) // 2 * 2 * ((self._width + 1) // 2 * 2)
        return int(even * samples) * (2 if deep else 1)

    def check_fits(self, frames: int, budget: int, cure: str) -> None:
        need = frames * self.frame_bytes()
        if need > budget:
            raise CliError(
                self._args.output,
                f"{frames} decoded frames take {need // 1_000_000} MB, above --memory"
                f" {budget // 1_000_000}",
                f"raise --memory, shorten with --start and --stop, shrink with --size, or {cure}",
            )

    def encode(self, positions: range, budget: int, progress: Progress) -> bytes:
        """The frames at `positions` as one video."""
        import numpy as np

        frames, times = [], []
        for block in self._source.decode_range(
            positions, self._decoding, self.frame_bytes(), budget
        ):
            frames.append(block.frames)
            times.append(block.pts)
        joined = frames[0] if len(frames) == 1 else np.concatenate(frames)
        video = self._encode(joined, np.concatenate(times), progress)
        progress.advance(len(positions))
        return video

    def append_pieces(self, positions: range, budget: int, progress: Progress) -> int:
        """Writes OUT stretch by stretch; returns its size. Each stretch starts with a keyframe."""
        from tf_nvcodec.cli.ts_join import TsJoiner

        join = TsJoiner() if self._encoding["container"] == "ts" else bytes
        size = 0
        target = self._args.output
        with files.replacing(target) as partial, about(target), open(partial, "wb") as out:
            for block in self._source.decode_range(
                positions, self._decoding, self.frame_bytes(), budget
            ):
                if len(block.frames) > 0:  # else all of it was damaged, and skipped
                    size += out.write(join(self._encode(block.frames, block.pts, progress)))
                progress.advance(block.asked)
        return size

    def _encode(self, frames: NDArray[Any], pts: NDArray[Any], progress: Progress) -> bytes:
        with about(self._args.output):
            times = self._times(pts)
            video = interruptible(
                lambda: self._source.runtime.nvc.encode_video(
                    frames, fps=self._fps, pts=times, **self._encoding
                ).numpy(),
                progress.beat,
            )
        self.frames += len(frames)
        return bytes(video)

    def _times(self, pts: NDArray[Any]) -> NDArray[Any] | None:
        """Returns the seconds of the frames in OUT, or None to use OUT's own rate.

        They start at 0; in MPEG-TS a little later.
        """
        import numpy as np

        even = (self.frames + np.arange(len(pts))) / self._fps
        if self._args.fps is not None:
            times = even
        else:
            if self._origin is None:
                self._origin = float(pts[0])
            times = pts - self._origin
        if self._encoding["container"] == "ts":
            return times + _TS_LEAD_FRAMES / self._fps
        # The times were even before a clock of milliseconds rounded them. Even times let MP4 have
        # B-frames.
        if self._encoding["container"] in _MP4_LIKE and np.abs(times - even).max() <= _UNEVEN_S:
            return even
        if self._encoding["container"] not in _UNTIMED:
            return times
        if np.abs(np.diff(times) - 1 / self._fps).max(initial=0) > 2 * _UNEVEN_S:
            raise CliError(
                self._args.output,
                "the frames are unevenly spaced, which this container can't hold",
                "write .mp4, .mkv or .ts, or give an even rate with --fps",
            )
        return None


def _exchange_format(info: dict[str, Any], codec: str) -> dict[str, Any]:
    """Returns the decode format that carries the stream's samples to the encoder unchanged.

    If there is none, it is RGB with enough bits.
    """
    stored = str(info["pixel_format"])
    exact = {
        "yuv420p": "yuv420p",
        "yuvj420p": "yuv420p",
        "yuv444p": "yuv444p",
        "yuvj444p": "yuv444p",
        "yuv420p10le": "p010",
        "gray": "gray",
    }
    # JPEG stores BT.601 in full range only. Few streams are that, so they go through RGB.
    chosen = "rgb" if codec == "mjpeg" else exact.get(stored, "rgb")
    deep = int(info["bit_depth"]) > 8 and chosen == "rgb"
    return {"pixel_format": chosen, "dtype": "uint16" if deep else "uint8"}
