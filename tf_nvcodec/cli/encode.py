"""`tf-nvcodec encode`: a .npy tensor, images or a .y4m file into a video."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from tf_nvcodec.cli import files, options, values
from tf_nvcodec.cli.errors import OK, UsageError, about
from tf_nvcodec.cli.progress import Progress, interruptible

# The usual (container, codec) of a file with this extension.
BY_EXTENSION = {
    ".mp4": ("mp4", "h264"),
    ".m4v": ("mp4", "h264"),
    ".mov": ("mov", "h264"),
    ".mkv": ("mkv", "h264"),
    ".webm": ("webm", "vp9"),
    ".avi": ("avi", "h264"),
    ".ts": ("ts", "h264"),
    ".h264": ("raw", "h264"),
    ".264": ("raw", "h264"),
    ".hevc": ("raw", "hevc"),
    ".h265": ("raw", "hevc"),
    ".265": ("raw", "hevc"),
    ".ivf": ("ivf", "av1"),
    ".obu": ("obu", "av1"),
    ".mjpeg": ("raw", "mjpeg"),
}


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "encode",
        help="a .npy file, images or a .y4m file to a video",
        description=(
            "Encodes IN to OUT. IN is frames [T,H,W,C] in a .npy file, a folder, glob or pattern of"
            " PNG or JPEG images, or a YUV4MPEG2 file. All frames are held in memory."
        ),
    )
    parser.add_argument(
        "input", type=values.path, metavar="IN", help="x.npy, a folder, '*.png', x_%%06d.png, x.y4m"
    )
    parser.add_argument(
        "output", type=values.path, metavar="OUT", help="the extension chooses container and codec"
    )
    options.add_common(parser, output=True)
    parser.add_argument("--fps", type=values.fps, help="default 30, or what a .y4m file says")
    parser.add_argument(
        "--pts", type=values.path, metavar="FILE", help="a .npy file of seconds, instead of --fps"
    )
    parser.add_argument(
        "--input-format",
        choices=("rgb", "gray", *options.PACKED[1:]),
        help="format of the frames in a .npy file (default: rgb for 3 channels, gray for 1)",
    )
    parser.add_argument(
        "--size", type=values.size, metavar="WxH", help="size of packed frames in a .npy file"
    )
    parser.add_argument("--color-space", choices=options.COLOR_SPACES)
    parser.add_argument("--color-range", choices=options.COLOR_RANGES)
    parser.add_argument("--threads", type=values.count, metavar="N")
    options.add_encoder(parser)
    return parser


def choose_format(args: argparse.Namespace) -> tuple[str, str]:
    """Returns (container, codec) from the options, else from OUT's extension.

    Raises:
      UsageError: Neither tells them.
    """
    extension = os.path.splitext(args.output)[1].lower()
    container, codec = BY_EXTENSION.get(extension, (None, None))
    container = args.container or container
    codec = args.codec or codec
    if container is None or codec is None:
        raise UsageError(
            args.output,
            f"no container is known for the extension {extension!r}",
            f"give --container and --codec, or one of {' '.join(BY_EXTENSION)}",
        )
    return container, codec


def refuse_json_in_video(args: argparse.Namespace) -> None:
    """Raises UsageError if the video and the JSON result would both go to standard output."""
    if args.json and args.output == "-":
        raise UsageError(
            "-",
            "the video goes to standard output, where --json would print into it",
            "leave out --json, or write to a file",
        )


def run(args: argparse.Namespace) -> int:
    container, codec = choose_format(args)
    refuse_json_in_video(args)
    files.refuse_to_replace(args.output, args.force, [args.input])
    keywords = {
        **options.encode_keywords(args),
        **options.given(
            color_space=args.color_space, color_range=args.color_range, num_threads=args.threads
        ),
    }
    if args.fps is not None and args.pts is not None:
        raise UsageError("", "--fps and --pts exclude each other", "give one of them")

    from tf_nvcodec.cli import frames_in, runtime

    loaded = runtime.load()
    with about(args.input):
        found = interruptible(lambda: frames_in.read(loaded, args))
    keywords["input_format"] = found.input_format
    if found.size is not None:
        keywords["size"] = found.size
    if found.color_range is not None and args.color_range is None:
        keywords["color_range"] = found.color_range
    if args.pts is not None:
        with about(args.pts):
            keywords["pts"] = frames_in.read_npy(args.pts)
    fps = args.fps or found.fps or 30.0

    video = encode(loaded, args, found.frames, fps, codec, container, keywords)
    files.write_bytes(args.output, video)
    report(args, frames=len(found.frames), codec=codec, container=container, size=len(video))
    return OK


def encode(
    loaded: Any,
    args: argparse.Namespace,
    frames: Any,
    fps: float,
    codec: str,
    container: str,
    keywords: dict[str, Any],
) -> bytes:
    """Calls encode_video with a bar that shows the elapsed time. Its errors name OUT."""
    with Progress(f"encode {codec}", len(frames), args.quiet) as progress, about(args.output):
        video = interruptible(
            lambda: loaded.nvc.encode_video(
                frames, fps=fps, codec=codec, container=container, **keywords
            ).numpy(),
            progress.beat,
        )
        progress.advance(len(frames))
    return bytes(video)


def report(
    args: argparse.Namespace,
    frames: int,
    codec: str,
    container: str,
    size: int,
    broken: int | None = None,
) -> None:
    """Prints the line, or the JSON object, that says what was written.

    `broken` counts the input's damaged frames, if it is a video.
    """
    if args.json:
        result = {"input": args.input, "output": args.output, "frames": frames, "bytes": size}
        result |= {"codec": codec, "container": container}
        result |= options.given(broken_frames=broken)
        print(json.dumps(result))
    elif not args.quiet and args.output != "-":
        damaged = f", {broken} broken" if broken else ""
        print(f"{args.output}: {frames} frames, {codec} in {container}, {size} bytes{damaged}")
