"""`trt-convert verify`: compares a converted model's outputs with the native model's."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from converters.cli import values
from converters.cli.result import add_quiet, progress_of, show
from converters.cli.spec_options import add_graph_choice, add_random_inputs, add_thresholds
from converters.spec.rules import PRECISIONS


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
    add_quiet(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    _check(args)
    named = values.once(args.thresholds, "--threshold")
    from converters.checks.verify import FrozenGraph, verify

    def model(path: str) -> Any:
        saved = os.path.basename(path) in ("saved_model.pb", "saved_model.pbtxt")
        graph = path.endswith((".pb", ".pbtxt")) and not saved
        return FrozenGraph(path, args.outputs) if graph else path

    with progress_of(args).step("comparing") as step:
        report = verify(
            model(args.native),
            model(args.converted),
            args.data,
            signatures=args.signatures,
            num_batches=args.batches,
            thresholds=named,
            precision=args.precision,
            shapes=args.shapes,
            seed=args.seed,
            batch_size=args.batch_size,
            tags=args.tags,
            separate_processes=args.separate_processes,
            progress=step.advance,
            check_engines=args.check_engines,
            outputs=args.outputs,
        )
    show(args, report)
    for note in report.notes:
        print(f"trt-convert: note: {note}", file=sys.stderr)
    for failure in report.failures():
        print(f"trt-convert: {failure}", file=sys.stderr)
    return 0 if report.passed else 1


def _check(args: argparse.Namespace) -> None:
    """UsageError for an option that would have no effect."""
    if args.batch_size is not None and args.data is None:
        raise values.UsageError("argument --batch-size: it cuts --data, and there is none")
    if args.shapes is not None and args.data is not None:
        raise values.UsageError("argument --shape: it is of random inputs; not allowed with --data")
    if args.outputs is None:
        return
    from converters.model.model_source import GRAPH_KINDS, kind_by_name

    kinds = {kind_by_name(Path(path)) for path in (args.native, args.converted)}
    if not kinds & {*GRAPH_KINDS}:
        raise values.UsageError(
            "argument --output: it is of a frozen graph or a MetaGraph, and there is none"
        )
