"""`tf-nvcodec transcode`: a video to another codec, container or size, or a stretch of it."""

from __future__ import annotations

import argparse
from typing import Any

from tf_nvcodec.cli import encode, files, options, values
from tf_nvcodec.cli.errors import OK, CliError, UsageError, about
from tf_nvcodec.cli.file_clock import FileClock
from tf_nvcodec.cli.numbered import is_numbered
from tf_nvcodec.cli.numbered_output import NumberedOutput
from tf_nvcodec.cli.progress import Progress, batches, interruptible
from tf_nvcodec.cli.source import Block, Source
from tf_nvcodec.cli.stream_tags import color_keywords, tag_options, warn_of_lost

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
    encode.refuse_json_in_video(args)
    if is_numbered(args.output) != (args.segment is not None):
        raise UsageError(args.output, "--segment N and a pattern like out_%03d.mp4 go together")
    encoding = options.encode_keywords(args)
    segments = None
    if args.segment is not None:
        segments = NumberedOutput(args.output, args.force, [args.input])
    else:
        files.refuse_to_replace(args.output, args.force, [args.input])

    source = Source(args.input, args.timeout)
    positions = source.positions(args.start, args.stop, args.stride)
    job = _Job(args, source, codec, container, encoding)
    budget = args.memory * 1_000_000
    with Progress(f"transcode to {codec}", len(positions), args.quiet) as progress:
        if segments is not None:
            size = job.write_segments(positions, segments, budget, progress)
        elif (container, codec) in _JOINABLE and args.output != "-":
            size = job.append_pieces(positions, budget, progress)
        else:
            size = job.write_whole(positions, budget, progress)
    encode.report(
        args, frames=job.frames, codec=codec, container=container, size=size, broken=job.broken
    )
    return OK


class _Job:
    """Decodes stretches of one source in a form that loses nothing, and encodes them.

    Attributes:
      frames: The frames written so far.
      broken: The damaged frames so far, left out or repeated.
    """

    def __init__(
        self,
        args: argparse.Namespace,
        source: Source,
        codec: str,
        container: str,
        encoding: dict[str, Any],
    ) -> None:
        self.frames = 0
        self.broken = 0
        self._args = args
        self._source = source
        self._height, self._width = source.shown_size(args)
        self._decoding = {**options.decode_keywords(args), **_exchange_format(source.info, codec)}
        self._fps = args.fps or float(source.info["fps"]) / (args.stride or 1)
        input_format = self._decoding["pixel_format"]
        tags = {**tag_options(source, args), **encoding.get("options", {})}
        warn_of_lost(tags, args.output, codec, container)
        self._encoding = {
            **encoding,
            **({} if codec == "mjpeg" else color_keywords(source.info, args, input_format)),
            **options.given(num_threads=args.threads),
            "options": tags,
            "codec": codec,
            "container": container,
            "input_format": input_format,
        }
        if input_format in options.PACKED:
            self._encoding["size"] = (self._height, self._width)

    def frame_bytes(self) -> int:
        """Bytes of one decoded frame, rounded up for odd sizes."""
        samples = {"yuv420p": 1.5, "p010": 1.5, "gray": 1}.get(self._decoding["pixel_format"], 3)
        deep = self._decoding["pixel_format"] == "p010" or self._decoding["dtype"] == "uint16"
        even = (self._height + 1) // 2 * 2 * ((self._width + 1) // 2 * 2)
        return int(even * samples) * (2 if deep else 1)

    def write_segments(
        self, positions: range, outputs: NumberedOutput, budget: int, progress: Progress
    ) -> int:
        """Writes a file for every --segment frames; returns the bytes of all.

        There is no file for a segment in which all frames are damaged, and skipped.
        """
        length = min(self._args.segment, len(positions))
        self._check_fits(length, budget, "lower --segment")
        size = 0
        with outputs:
            for part in batches(positions, length):
                video = self._encode_whole(part, progress)
                size += len(video)
                if video:
                    outputs.write(video)
                else:
                    outputs.skip()
            self._check_frames()
        return size

    def write_whole(self, positions: range, budget: int, progress: Progress) -> int:
        """Writes OUT in one piece; returns its size."""
        self._check_fits(len(positions), budget, "write .ts, or --segment with a pattern")
        video = self._encode_whole(positions, progress)
        self._check_frames()
        files.write_bytes(self._args.output, video)
        return len(video)

    def append_pieces(self, positions: range, budget: int, progress: Progress) -> int:
        """Writes OUT stretch by stretch; returns its size. Each stretch starts with a keyframe."""
        from tf_nvcodec.cli.ts_join import TsJoiner

        join = TsJoiner() if self._encoding["container"] == "ts" else bytes
        clock = self._clock()
        size = 0
        target = self._args.output
        with files.replacing(target) as partial, about(target), open(partial, "wb") as out:
            for block in self._source.decode_range(
                positions, self._decoding, self.frame_bytes(), budget
            ):
                size += out.write(join(self._encode(block, clock, progress)))
        return size

    def _check_fits(self, frames: int, budget: int, cure: str) -> None:
        need = frames * self.frame_bytes()
        if need > budget:
            raise CliError(
                self._args.output,
                f"{frames} decoded frames take {need // 1_000_000} MB, above --memory"
                f" {budget // 1_000_000}",
                f"raise --memory, shorten with --start and --stop, shrink with --size, or {cure}",
            )

    def _check_frames(self) -> None:
        if self.frames == 0:
            raise self._source.nothing_to_show()

    def _clock(self) -> FileClock:
        return FileClock(
            self._source.path,
            self._args.output,
            self._encoding["container"],
            self._fps,
            retime=self._args.fps is not None,
        )

    def _encode_whole(self, positions: range, progress: Progress) -> bytes:
        """The frames at `positions` as one video."""
        # One block, because joining blocks would need the memory of all frames twice.
        block = self._source.decode_whole(positions, self._decoding)
        return self._encode(block, self._clock(), progress)

    def _encode(self, block: Block, clock: FileClock, progress: Progress) -> bytes:
        """The frames of `block` as a video, which is empty if it has none."""
        video = b""
        if len(block.pts) > 0:  # else all of it was damaged, and skipped
            times = clock.times(block.pts)
            with about(self._args.output):
                video = interruptible(
                    lambda: self._source.runtime.nvc.encode_video(
                        block.tensor, fps=self._fps, pts=times, **self._encoding
                    ).numpy(),
                    progress.beat,
                )
        self.frames += len(block.pts)
        self.broken += block.broken
        progress.advance(block.asked)
        return bytes(video)


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
