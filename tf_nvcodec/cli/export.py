"""`tf-nvcodec export`: a SavedModel that takes the bytes of videos."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from tf_nvcodec.cli import errors, options, values
from tf_nvcodec.cli.files import read_bytes


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "export", help="a SavedModel that decodes videos and runs a network on them"
    )
    parser.add_argument(
        "network", type=values.path, metavar="NETWORK", help="a SavedModel or a .keras file"
    )
    parser.add_argument("output", type=values.path, metavar="FOLDER", help="the new SavedModel")
    options.add_common(parser, output=True)
    parser.add_argument("--signature", metavar="NAME", help="of NETWORK (default serving_default)")
    _add_clips(parser)
    _add_frames(parser)
    group = parser.add_argument_group("outputs")
    group.add_argument(
        "--aggregate",
        choices=("none", "mean", "max"),
        help="of the outputs for a video's frames or clips (default mean)",
    )
    group.add_argument("--labels", type=values.path, metavar="FILE", help="a class name a line")
    group.add_argument(
        "--top-k", type=values.positive, metavar="N", help="labels (default 5 or all)"
    )
    group.add_argument("--label-output", metavar="NAME", help="the output with the classes")
    group.add_argument(
        "--batch-requests",
        type=values.count,
        metavar="N",
        help="run calls that come at the same time as one batch of up to N videos (default 0: each "
        "by itself)",
    )
    group.add_argument(
        "--network-batches",
        type=values.integers,
        metavar="N,N",
        help="fill NETWORK's batches up to the next of these sizes (default: those of its engines)",
    )
    group.add_argument(
        "--check",
        type=values.path,
        action="append",
        metavar="VIDEO",
        help="run the new model on it in a fresh process and compare; may be given again",
    )
    return parser


def _add_clips(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which frames")
    group.add_argument("--clips", type=values.positive, metavar="N", help="of a video")
    group.add_argument("--clip-length", type=values.positive, metavar="N", help="frames of a clip")
    group.add_argument("--stride", type=values.positive, metavar="N", help="from frame to frame")
    group.add_argument("--fps", type=values.fps, help="take frames at this rate")
    group.add_argument("--sampling", choices=("uniform", "center", "start"))
    group.add_argument("--pad", choices=("repeat", "zero", "wrap", "drop"))


def _add_frames(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("frames")
    group.add_argument("--size", type=values.size, metavar="WxH", help="default: NETWORK's own")
    group.add_argument(
        "--center-crop", type=float, metavar="PART", help="e.g. 0.875, of the frame's middle"
    )
    group.add_argument(
        "--resize-method", choices=("nearest", "bilinear", "bicubic", "area", "lanczos3")
    )
    group.add_argument(
        "--values",
        type=values.channel_values,
        metavar="BLACK,WHITE",
        help="of float frames (default 0,1), e.g. --values=-1,1",
    )
    group.add_argument("--mean", type=values.channel_values, metavar="R,G,B", help="subtracted")
    group.add_argument("--std", type=values.channel_values, metavar="R,G,B", help="the divisor")
    group.add_argument("--pixel-format", choices=("rgb", "bgr", "gray"))
    group.add_argument("--backend", choices=("auto", "cpu", "nvdec"))
    options.add_timeout(group, "for each video of a call")


def run(args: argparse.Namespace) -> int:
    from tf_nvcodec.cli import runtime

    contents = [read_bytes(path) for path in args.check or ()]
    if args.values is not None and len(args.values) != 2:
        raise errors.UsageError("", "--values needs two numbers", "for example --values=-1,1")
    keywords = options.given(
        signature=args.signature,
        clip_length=args.clip_length,
        clips_per_video=args.clips,
        stride=args.stride,
        fps=args.fps,
        sampling=args.sampling,
        pad=args.pad,
        size=args.size,
        center_crop=args.center_crop,
        resize_method=args.resize_method,
        value_range=args.values,
        mean=args.mean,
        std=args.std,
        pixel_format=args.pixel_format,
        backend=args.backend,
        timeout=args.timeout,
        aggregate=args.aggregate,
        labels=args.labels,
        top_k=args.top_k,
        label_output=args.label_output,
        batch_requests=args.batch_requests,
        network_batches=args.network_batches,
        check=contents or None,
        overwrite=args.force or None,
    )
    loaded = runtime.load()
    with errors.about(args.network):
        try:
            made = loaded.nvc.export_video_model(args.network, args.output, **keywords)
        except FileExistsError as error:
            if os.path.isdir(args.output):
                raise errors.CliError(args.output, "is not empty", "--force replaces it") from error
            raise errors.CliError(
                args.output, "a file is in the way", "name a new folder"
            ) from error
        except FileNotFoundError as error:
            raise errors.CliError("", str(error), "check the path") from error
        except OSError as error:
            named = os.fspath(error.filename or args.output)
            raise errors.CliError(named, error.strerror or str(error)) from error
        except (TypeError, RuntimeError) as error:
            raise errors.CliError(args.network, " ".join(str(error).split())) from error
    if args.json:
        shapes = {name: _dims(spec) for name, spec in made.outputs.items()}
        print(json.dumps({**made._asdict(), "outputs": shapes}))
    elif not args.quiet:
        _summarize(args, made)
    return errors.OK


def _summarize(args: argparse.Namespace, made: Any) -> None:
    height, width = made.size
    print(
        f"{made.folder}: {made.clips_per_video} x {made.clip_length} frames of {width}x{height} "
        f"from each video"
    )
    for name, spec in made.outputs.items():
        print(f"  {name:12} {spec.dtype.name} {_dims(spec) or 'of unknown shape'}")
    if made.differences is not None:
        largest = max(made.differences.values(), default=0.0)
        print(
            f"  a fresh process gives the same for {len(args.check)} videos (largest difference "
            f"{largest:.3g})"
        )


def _dims(spec: Any) -> list[int | None] | None:
    return None if spec.shape.rank is None else spec.shape.as_list()
