"""`tf-nvcodec decode`: a video into a .npy tensor or a sequence of PNGs."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tf_nvcodec.cli import files, options, values
from tf_nvcodec.cli.errors import OK, UsageError, about
from tf_nvcodec.cli.numbered_output import ImageFolder
from tf_nvcodec.cli.progress import Progress
from tf_nvcodec.cli.source import Block, Source, require_at_most_one

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tf_nvcodec.cli.runtime import Runtime

_FORMATS = ("rgb", "bgr", "gray", *options.PACKED)
_SAMPLE_BYTES = {"uint8": 1, "uint16": 2, "float16": 2, "float32": 4}


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "decode",
        help="frames to a .npy file or a sequence of PNGs",
        description="Decodes IN to OUT: a .npy file, a folder or a pattern like out/%06d.png.",
    )
    parser.add_argument(
        "input", type=values.path, metavar="IN", help='a video; "-" is standard input'
    )
    parser.add_argument(
        "output", type=values.path, metavar="OUT", help="x.npy, a folder, or a pattern of PNGs"
    )
    options.add_common(parser, output=True)
    options.add_memory(parser)
    options.add_range(parser)
    parser.add_argument(
        "--indices", type=values.integers, metavar="LIST", help="0,5,9 or 0:100:10 (--indices=-1)"
    )
    parser.add_argument(
        "--timestamps", type=values.seconds, metavar="LIST", help="seconds: 0.5,1.25 or 0:10:0.5"
    )
    options.add_geometry(parser)
    options.add_decoder(parser)
    group = parser.add_argument_group("what a frame becomes")
    group.add_argument("--pixel-format", choices=_FORMATS, default="rgb")
    group.add_argument("--dtype", choices=tuple(_SAMPLE_BYTES), default="uint8")
    group.add_argument("--layout", choices=("thwc", "tchw"), default="thwc")
    group.add_argument("--mean", type=values.channel_values, metavar="LIST")
    group.add_argument("--std", type=values.channel_values, metavar="LIST")
    parser.add_argument(
        "--pts", type=values.path, metavar="FILE", help="also write the timestamps, as a .npy file"
    )
    return parser


def run(args: argparse.Namespace) -> int:
    _check(args)
    source = Source(args.input, args.timeout)
    keywords = {
        **options.decode_keywords(args),
        **options.given(mean=args.mean, std=args.std),
        "pixel_format": args.pixel_format,
        "dtype": args.dtype,
        "layout": args.layout,
    }
    height, width = source.shown_size(args)
    frame_bytes = height * width * 3 * _SAMPLE_BYTES[args.dtype]
    budget = args.memory * 1_000_000
    if args.indices is not None or args.timestamps is not None:
        selector = "indices" if args.indices is not None else "timestamps"
        wanted = getattr(args, selector)
        if isinstance(wanted, values.TimeRange):
            wanted = source.before_the_end(wanted, keywords)
        total = len(wanted)
        blocks = source.decode_at(selector, wanted, keywords, frame_bytes, budget)
    else:
        positions = source.positions(args.start, args.stop, args.stride)
        total = len(positions)
        blocks = source.decode_range(positions, keywords, frame_bytes, budget)

    with Progress("decode", total, args.quiet) as progress:
        result = _write(source.runtime, args, _counted(blocks, progress))
    _report(args, result)
    return OK


def _check(args: argparse.Namespace) -> None:
    require_at_most_one(args, ("indices", "timestamps"))
    for name in ("start", "stop", "stride"):
        if getattr(args, name) is not None:
            require_at_most_one(args, (name, "indices"))
            require_at_most_one(args, (name, "timestamps"))
    if "-" in (args.output, args.pts):
        raise UsageError("-", "frames and timestamps go to files", "name x.npy or a folder")
    if args.output.endswith(".npy"):
        files.refuse_to_replace(args.output, args.force, [args.input])
    elif not files.is_image_sequence(args.output):
        raise UsageError(
            args.output, "is neither .npy nor a sequence", "name x.npy, a folder or x_%06d.png"
        )
    elif args.pixel_format not in ("rgb", "gray") or args.dtype not in ("uint8", "uint16"):
        raise UsageError(
            args.output,
            f"PNG can't hold {args.pixel_format} {args.dtype}",
            "use rgb or gray with uint8 or uint16, or write .npy",
        )
    elif args.layout != "thwc":
        raise UsageError(args.output, "PNG needs --layout thwc", "or write .npy")
    if args.pts is not None:
        files.refuse_to_replace(args.pts, args.force, [args.input, args.output])


def _counted(blocks: Iterator[Block], progress: Progress) -> Iterator[Block]:
    for block in blocks:
        yield block
        progress.advance(block.asked)


def _write(loaded: Runtime, args: argparse.Namespace, blocks: Iterator[Block]) -> dict[str, Any]:
    import numpy as np

    from tf_nvcodec.cli.npy import NpyWriter

    pts: list[NDArray[Any]] = []
    broken = 0
    result: dict[str, Any] = {"input": args.input}
    with contextlib.ExitStack() as stack:
        if args.pts is not None:
            partial_pts = stack.enter_context(files.replacing(args.pts))
        if args.output.endswith(".npy"):
            partial = stack.enter_context(files.replacing(args.output))
            file = stack.enter_context(open(partial, "wb"))
            append: Callable[[NDArray[Any]], None] = stack.enter_context(NpyWriter(file)).append
            result["output"] = args.output
        else:
            folder = stack.enter_context(ImageFolder(args.output, args.force, [args.input]))
            pool = stack.enter_context(ThreadPoolExecutor(os.cpu_count()))
            result["output"] = folder.pattern

            def write_images(frames: NDArray[Any]) -> None:
                png = loaded.tf.io.encode_png
                for data in pool.map(lambda frame: png(frame).numpy(), frames):
                    folder.write(data)

            append = write_images

        for block in blocks:
            with about(args.output):
                append(block.frames)
            pts.append(block.pts)
            broken += block.broken
            result["shape"] = [0, *block.frames.shape[1:]]
            result["dtype"] = str(block.frames.dtype)
        times = np.concatenate(pts)
        if args.pts is not None:
            with about(args.pts), open(partial_pts, "wb") as file:
                np.save(file, times)
            result["pts"] = args.pts
    result["shape"][0] = len(times)
    result["frames"] = len(times)
    result["broken_frames"] = broken
    return result


def _report(args: argparse.Namespace, result: dict[str, Any]) -> None:
    if args.json:
        print(json.dumps(result))
    elif not args.quiet:
        shape = "x".join(str(length) for length in result["shape"])
        broken = f", {result['broken_frames']} broken" if result["broken_frames"] else ""
        print(f"{result['output']}: {result['frames']} frames, {shape} {result['dtype']}{broken}")
