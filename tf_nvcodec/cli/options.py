"""Options that several commands share, and how they become keywords of the Python API."""

from __future__ import annotations

import argparse
from typing import Any

from tf_nvcodec.cli import values
from tf_nvcodec.cli.errors import UsageError

PACKED = ("native", "nv12", "yuv420p", "yuv444p", "p010")
COLOR_SPACES = ("bt601", "bt709", "bt2020")
COLOR_RANGES = ("limited", "full")


def add_common(parser: argparse.ArgumentParser, output: bool) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress bar, no summary")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    if output:
        parser.add_argument("--force", "-f", action="store_true", help="replace OUT if it exists")


def add_memory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--memory",
        type=values.positive,
        default=1024,
        metavar="MB",
        help="frames held at once, in 10^6 bytes (default %(default)s)",
    )


def add_range(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which frames")
    group.add_argument("--start", type=int, metavar="N", help="first frame; negative: from the end")
    group.add_argument("--stop", type=int, metavar="N", help="frame to stop before")
    group.add_argument("--stride", type=values.positive, metavar="N", help="every Nth frame")


def add_geometry(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("geometry")
    group.add_argument("--size", type=values.size, metavar="WxH", help="resize, e.g. 320x180")
    group.add_argument(
        "--crop",
        type=values.crop,
        metavar="WxH+X+Y",
        help="crop the frame as shown, before the resize, e.g. 640x640+320+40",
    )
    group.add_argument(
        "--resize-method", choices=("nearest", "bilinear", "bicubic", "area", "lanczos3")
    )
    group.add_argument(
        "--no-rotate", action="store_true", help="keep frames as stored, ignore the display matrix"
    )


def add_timeout(to: Any, what: str = "to open the video, and again for each part of it") -> None:
    to.add_argument(
        "--timeout", type=values.duration, metavar="S", help=f"seconds {what} (default no limit)"
    )


def add_decoder(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("decoder")
    group.add_argument("--backend", choices=("auto", "cpu", "nvdec"))
    group.add_argument("--threads", type=values.count, metavar="N", help="0 is automatic")
    group.add_argument(
        "--on-error",
        choices=("raise", "skip", "repeat"),
        help="what to do with a damaged frame (default raise)",
    )
    group.add_argument(
        "--deinterlace", choices=("none", "bob"), help="for interlaced frames (default none)"
    )
    add_timeout(group)
    group.add_argument("--chroma-upsampling", choices=("nearest", "bilinear"))
    group.add_argument("--color-space", choices=COLOR_SPACES, help="instead of the stream's own")
    group.add_argument("--color-range", choices=COLOR_RANGES, help="instead of the stream's own")


def add_encoder(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("encoder")
    # The option is --encoder because --backend chooses the decoder in commands that have both.
    group.add_argument(
        "--encoder", choices=("auto", "cpu", "nvenc"), help="the CPU or a GPU's NVENC"
    )
    group.add_argument("--codec", help="h264, hevc, av1, vp9, mjpeg, ffv1 (default: by OUT)")
    group.add_argument("--container", help="mp4, mkv, ... (default: from OUT's extension)")
    group.add_argument("--crf", type=float, help="constant quality, lower is better")
    group.add_argument("--bitrate", type=values.bitrate, help="bits per second, e.g. 800k or 2M")
    group.add_argument("--gop", type=values.positive, metavar="N", help="frames between keyframes")
    group.add_argument("--bf", type=values.count, metavar="N", help="most B-frames in a row")
    group.add_argument("--preset", help="speed against size, by the encoder's names")
    group.add_argument(
        "--pixel-format", metavar="FORMAT", help="format of the stream, e.g. yuv420p, yuv444p"
    )
    group.add_argument(
        "--option",
        type=values.option,
        action="append",
        metavar="NAME=VALUE",
        help="an encoder option by FFmpeg's name, e.g. tune=film; may be given again",
    )
    group.add_argument("--fragmented", action="store_true", help="fragmented MP4")


def given(**keywords: Any) -> dict[str, Any]:
    """Returns the keywords that are not None, so that others keep the API's default."""
    return {name: value for name, value in keywords.items() if value is not None}


def decode_keywords(args: argparse.Namespace) -> dict[str, Any]:
    """Returns keywords of decode_video for the options of add_geometry and add_decoder."""
    return given(
        size=args.size,
        crop=args.crop,
        resize_method=args.resize_method,
        apply_rotation=False if args.no_rotate else None,
        backend=args.backend,
        num_threads=args.threads,
        on_error=args.on_error,
        timeout=args.timeout,
        deinterlace=args.deinterlace,
        chroma_upsampling=args.chroma_upsampling,
        color_space=args.color_space,
        color_range=args.color_range,
    )


def encode_keywords(args: argparse.Namespace) -> dict[str, Any]:
    """Returns keywords of encode_video for the options of add_encoder."""
    if args.crf is not None and args.bitrate is not None:
        raise UsageError("", "--crf and --bitrate exclude each other", "give one of them")
    return given(
        crf=args.crf,
        bitrate=args.bitrate,
        gop=args.gop,
        bf=args.bf,
        preset=args.preset,
        pixel_format=args.pixel_format,
        options=dict(args.option) if args.option else None,
        fragmented=True if args.fragmented else None,
        backend=args.encoder,
    )
