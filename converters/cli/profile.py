"""`trt-convert profile`: how long each layer of the engines takes."""

from __future__ import annotations

import argparse
from typing import Any

from converters.cli import values
from converters.cli.result import add_page, add_quiet, check_page, show, write_page
from converters.cli.spec_options import add_graph_choice, add_random_inputs, check_random_inputs
from converters.util.paths import check_outside


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "profile", help="measure each layer of the engines, or of a plan"
    )
    parser.add_argument(
        "model", metavar="MODEL", help="a converted model, or a plan of extract-plan"
    )
    parser.add_argument(
        "--original",
        type=values.data,
        metavar="OTHER",
        help="another conversion of the same network, to put beside it",
    )
    group = parser.add_argument_group("what to run")
    add_random_inputs(group)
    group.add_argument(
        "--data",
        type=values.data,
        action="append",
        metavar="DATA",
        help="as for verify; the request is its first batch (default: random inputs)",
    )
    group.add_argument(
        "--runs",
        type=int,
        default=20,
        metavar="N",
        help="requests that each time is the median of (default 20)",
    )
    parser.add_argument("--signature", metavar="NAME", help="default serving_default, or the only")
    add_graph_choice(parser)
    parser.add_argument(
        "--trace",
        type=values.path,
        metavar="FOLDER",
        help="also write a trace of requests in TensorFlow, for TensorBoard's profiler",
    )
    add_page(parser)
    add_quiet(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    if args.shapes is not None and len(args.shapes) > 1:
        raise values.UsageError(
            "argument --shape: it is given twice; name all inputs in one, as in a:1x2,b:1x3"
        )
    check_random_inputs(args)
    from converters.measure.profile import profile

    check_page(args)
    if args.trace is not None:
        check_outside(args.trace, args.model)
    report = profile(
        args.model,
        args.original,
        shapes=args.shapes[0] if args.shapes else None,
        data=args.data,
        runs=args.runs,
        trace=args.trace,
        signature=args.signature,
        tags=args.tags,
        outputs=args.outputs,
        seed=args.seed or 0,
        progress=False if args.quiet else None,
    )
    write_page(args, report)
    show(args, report)
    return 0
