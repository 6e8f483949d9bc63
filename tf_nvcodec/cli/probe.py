"""`tf-nvcodec probe`: what is in a file."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from typing import Any

from tf_nvcodec.cli import errors, options, values
from tf_nvcodec.cli.files import require_video
from tf_nvcodec.cli.progress import interruptible

_COLUMNS = ("file", "codec", "size", "frames", "fps", "seconds", "format", "colour", "audio")


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "probe", help="size, frame count, rate, codec and colour of videos"
    )
    parser.add_argument(
        "files", nargs="+", type=values.path, metavar="FILE", help='a video; "-" is standard input'
    )
    options.add_common(parser, output=False)
    options.add_timeout(parser, "for each file")
    return parser


def run(args: argparse.Namespace) -> int:
    from tf_nvcodec.cli import runtime

    found: list[dict[str, Any]] = []
    failed = False
    for path in args.files:
        try:
            video = require_video(path)
            loaded = runtime.load()
            with errors.about(path):
                info = interruptible(partial(runtime.video_info, loaded, video, args.timeout))
            found.append({"file": path, **info})
        except errors.CliError as error:
            # An error without a subject is about the installation, not about this file.
            if args.debug or not error.subject:
                raise
            print(error.line(), file=sys.stderr)
            failed = True
    if args.json:
        print(json.dumps(found, indent=2))
    elif found:
        print(_table([_row(info) for info in found]))
    return errors.FAILED if failed else errors.OK


def _row(info: dict[str, Any]) -> tuple[str, ...]:
    mirrored = " mirrored" if info["mirrored"] else ""
    turned = f" turned {info['rotation']}" if info["rotation"] else ""
    return (
        info["file"],
        info["codec"],
        f"{info['width']}x{info['height']}{mirrored}{turned}",
        str(info["num_frames"]),
        f"{info['fps']:.6g}",
        f"{info['duration']:.3f}",
        info["pixel_format"],
        f"{info['color_space']}/{info['color_range']}",
        "yes" if info["has_audio"] else "no",
    )


def _table(rows: list[tuple[str, ...]]) -> str:
    lines = [_COLUMNS, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines
    )
