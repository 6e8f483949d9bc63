"""`trt-convert verify`: compares a converted model's outputs with the native model's."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from converters.cli import values
from converters.cli.result import add_quiet, progress_of, show
from converters.cli.spec_options import (
    add_graph_choice,
    add_random_inputs,
    add_thresholds,
    check_random_inputs,
)
from converters.spec.rules import PRECISIONS

# Options that have no effect without --labels.
_OF_LABELS = (
    *("max_drop", "scores", "label_offset", "image_key", "label_key", "center_crop"),
    *("value_range", "mean", "std"),
)


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "verify", help="compare a converted model with the native one"
    )
    parser.add_argument("native", metavar="NATIVE", help="a model, as for convert")
    parser.add_argument(
        "converted", metavar="CONVERTED", help="a SavedModel or a frozen graph (.pb)"
    )
    parser.add_argument(
        "--data",
        type=values.data,
        action="append",
        metavar="DATA",
        help=".npy or .npz files, or folders or patterns of them, or the files of videos or images "
        "where the model takes their bytes (default: random inputs)",
    )
    parser.add_argument("--batches", type=int, metavar="N", help="how many to compare")
    parser.add_argument("--batch-size", type=int, metavar="N", help="cut the data into batches")
    add_random_inputs(parser)
    parser.add_argument("--signature", dest="signatures", action="append", metavar="NAME")
    add_graph_choice(parser)
    parser.add_argument(
        "--precision", type=str.upper, choices=PRECISIONS, help="whose thresholds to take"
    )
    add_thresholds(parser)
    parser.add_argument(
        "--separate-processes",
        action="store_true",
        help="run one model after the other, where the GPU has no room for both",
    )
    parser.add_argument(
        "--check-engines",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="see in a fresh process that engines serve the shapes compared (default)",
    )
    _add_labels(parser.add_argument_group("top-1 and top-5 on labelled data"))
    add_quiet(parser)
    return parser


def _add_labels(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--labels",
        type=values.data,
        action="append",
        metavar="DATA",
        help="a folder with a subfolder for each class, TFRecord files of tf.Example, or .npz "
        "files with an array 'labels'; in place of --data",
    )
    group.add_argument(
        "--max-drop",
        type=values.points,
        metavar="POINTS",
        help="how much top-1 and top-5 may drop (default: 0.1, for INT8 1; none allows any)",
    )
    group.add_argument("--scores", metavar="OUTPUT", help="the output with a score for each class")
    group.add_argument(
        "--label-offset",
        type=int,
        metavar="N",
        help="is added to each label: 1 for a network whose class 0 is the background",
    )
    group.add_argument("--image-key", metavar="KEY", help="of TFRecord (default image/encoded)")
    group.add_argument("--label-key", metavar="KEY", help="of TFRecord (default image/class/label)")
    group.add_argument(
        "--center-crop",
        type=float,
        metavar="SHARE",
        help="of the picture to keep, as 0.875 (default 1, after the sides are cut to fit)",
    )
    group.add_argument(
        "--value-range",
        type=values.numbers,
        metavar="LOW,HIGH",
        help="of the pixels of float inputs (default 0,1)",
    )
    for name in ("mean", "std"):
        group.add_argument(
            f"--{name}",
            type=values.numbers,
            metavar="X[,X,X]",
            help="float inputs are (x - mean) / std of x in 0 to 1",
        )


def run(args: argparse.Namespace) -> int:
    _check(args)
    report = _compared(args) if args.labels is None else _counted(args)
    show(args, report)
    for note in report.notes:
        print(f"trt-convert: note: {note}", file=sys.stderr)
    for failure in report.failures():
        print(f"trt-convert: {failure}", file=sys.stderr)
    return 0 if report.passed else 1


def _compared(args: argparse.Namespace) -> Any:
    named = values.once(args.thresholds, "--threshold")
    from converters.checks.verify import verify

    with progress_of(args).step("comparing") as step:
        return verify(
            _model(args.native, args),
            _model(args.converted, args),
            args.data,
            signatures=args.signatures,
            num_batches=args.batches,
            thresholds=named,
            precision=args.precision,
            shapes=args.shapes,
            seed=args.seed or 0,
            batch_size=args.batch_size,
            tags=args.tags,
            separate_processes=args.separate_processes,
            progress=step.advance,
            check_engines=args.check_engines,
            outputs=args.outputs,
        )


def _counted(args: argparse.Namespace) -> Any:
    from converters.checks.labels import verify_labels
    from converters.inputs.labelled_data import ImageOptions, LabelledData

    def given(*names: str) -> dict[str, Any]:
        return {name: found for name in names if (found := getattr(args, name)) is not None}

    images = ImageOptions(**given("center_crop", "value_range", "mean", "std"))
    data = LabelledData(
        tuple(args.labels), images=images, **given("label_offset", "image_key", "label_key")
    )
    with progress_of(args).step("recognising", 2) as step:
        return verify_labels(
            _model(args.native, args),
            _model(args.converted, args),
            data,
            signature=args.signatures[0] if args.signatures else None,
            scores=args.scores,
            batch_size=args.batch_size,
            num_batches=args.batches,
            shapes=args.shapes[0] if args.shapes else None,
            max_drop=args.max_drop,
            precision=args.precision,
            tags=args.tags,
            outputs=args.outputs,
            check_engines=args.check_engines,
            progress=step.advance,
        )


def _model(path: str, args: argparse.Namespace) -> Any:
    from converters.checks.runnable import FrozenGraph

    saved = os.path.basename(path) in ("saved_model.pb", "saved_model.pbtxt")
    graph = path.endswith((".pb", ".pbtxt")) and not saved
    return FrozenGraph(path, args.outputs) if graph else path


def _check(args: argparse.Namespace) -> None:
    """UsageError for an option that would have no effect."""
    if args.labels is None:
        for name in _OF_LABELS:
            if getattr(args, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise values.UsageError(f"argument {option}: it is of --labels, and there is none")
    else:
        for name, option in (
            ("data", "--data"),
            ("thresholds", "--threshold"),
            ("seed", "--seed"),
        ):
            if getattr(args, name) is not None:
                raise values.UsageError(f"argument {option}: not allowed with --labels")
        for name, option in (("signatures", "--signature"), ("shapes", "--shape")):
            if len(getattr(args, name) or ()) > 1:
                raise values.UsageError(f"argument {option}: --labels takes one")
    if args.batch_size is not None and args.data is None and args.labels is None:
        raise values.UsageError("argument --batch-size: it cuts --data, and there is none")
    check_random_inputs(args)
    if args.outputs is None:
        return
    from converters.model.model_source import GRAPH_KINDS, kind_by_name

    kinds = {kind_by_name(Path(path)) for path in (args.native, args.converted)}
    if not kinds & {*GRAPH_KINDS}:
        raise values.UsageError(
            "argument --output: it is of a frozen graph or a MetaGraph, and there is none"
        )
