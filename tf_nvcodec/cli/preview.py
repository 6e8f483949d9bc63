"""`tf-nvcodec preview`: a contact sheet of a video."""

from __future__ import annotations

import argparse
import io
import json
import os
from typing import Any

from tf_nvcodec.cli import files, options, values
from tf_nvcodec.cli.errors import OK, UsageError
from tf_nvcodec.cli.progress import Progress
from tf_nvcodec.cli.source import Source


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "preview", help="a contact sheet (PNG) of frames spread over the video"
    )
    parser.add_argument(
        "input", type=values.path, metavar="IN", help='a video; "-" is standard input'
    )
    parser.add_argument("output", type=values.path, metavar="OUT.png")
    options.add_common(parser, output=True)
    parser.add_argument(
        "--frames", type=values.positive, default=16, metavar="N", help="default 16"
    )
    parser.add_argument("--columns", type=values.positive, default=4, metavar="N", help="default 4")
    parser.add_argument(
        "--width",
        type=values.positive,
        default=320,
        metavar="PIXELS",
        help="width of each frame (default 320)",
    )
    options.add_timeout(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    if not args.output.lower().endswith(".png"):
        raise UsageError(args.output, "is not a .png file", "name OUT.png")
    files.refuse_to_replace(args.output, args.force, [args.input])
    import numpy as np

    from tf_nvcodec.cli.contact_sheet import clock, contact_sheet

    source = Source(args.input, args.timeout)
    info = source.info
    height, width = _shown_size(info, args.width)
    count = min(args.frames, int(info["num_frames"]))
    # The sheet begins half a step into the video, so that the first, often black frame is not the
    # only one.
    step = int(info["num_frames"]) // count
    first = (int(info["num_frames"]) - (count - 1) * step) // 2
    wanted = range(first, first + (count - 1) * step + 1, step)
    keywords = {"size": (height, width), "resize_method": "area", "timeout": args.timeout}
    frame_bytes = height * width * 3
    frames, times = [], []
    with Progress("preview", count, args.quiet) as progress:
        for block in source.decode_range(wanted, keywords, frame_bytes, frame_bytes):
            frames.append(block.frames)
            times.extend(block.pts.tolist())
            progress.advance(block.asked)
    captions = [f"{clock(time)}  #{index}" for time, index in zip(times, wanted)]
    title = (
        f"{os.path.basename(args.input)}   {info['width']}x{info['height']} {info['codec']}"
        f"   {info['fps']:.6g} fps   {clock(float(info['duration']))}"
    )
    sheet = contact_sheet(np.concatenate(frames), captions, title, args.columns)
    png = io.BytesIO()
    sheet.save(png, "PNG")
    files.write_bytes(args.output, png.getvalue())
    if args.json:
        result = {"input": args.input, "output": args.output, "indices": list(wanted), "pts": times}
        print(json.dumps(result))
    elif not args.quiet:
        print(f"{args.output}: {count} frames, {sheet.width}x{sheet.height}")
    return OK


def _shown_size(info: dict[str, Any], width: int) -> tuple[int, int]:
    """Returns (height, width) of a thumbnail that has the frame's shape on screen."""
    shown_width, shown_height = float(info["width"]), float(info["height"])
    shown_width *= float(info["sample_aspect_ratio"]) or 1.0
    if int(info["rotation"]) % 180 != 0:
        shown_width, shown_height = shown_height, shown_width
    return max(1, round(width * shown_height / shown_width)), width
