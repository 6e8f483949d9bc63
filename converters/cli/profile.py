"""`trt-convert profile`: how long each layer of the engines takes."""

from __future__ import annotations

import argparse
from typing import Any

from converters.cli import values
from converters.cli.result import add_quiet, show
from converters.cli.spec_options import add_graph_choice, add_random_inputs
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
    parser.add_argument("--html", type=values.path, metavar="FILE", help="write a page of its own")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the FILE of --html if it exists"
    )
    add_quiet(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    if args.shapes is not None and len(args.shapes) > 1:
        raise values.UsageError(
            "argument --shape: it is given twice; name all inputs in one, as in a:1x2,b:1x3"
        )
    if args.shapes is not None and args.data is not None:
        raise values.UsageError("argument --shape: it is of random inputs; not allowed with --data")
    from converters.measure.profile import profile
    from converters.util.outputs import check_new, write_new

    outputs = [path for path in (args.html, args.trace) if path is not None]
    for path in outputs:
        for model in (args.model, *([args.original] if args.original else ())):
            check_outside(path, model)
    if args.html is not None:
        check_new(args.html, args.overwrite)
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
        seed=args.seed,
        progress=False if args.quiet else None,
    )
    if args.html is not None:
        write_new(args.html, report.to_html().encode("utf-8", "backslashreplace"), args.overwrite)
    show(args, report)
    return 0
