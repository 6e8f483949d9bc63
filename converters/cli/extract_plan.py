"""`trt-convert extract-plan`: the TensorRT plans inside a converted model, as files."""

from __future__ import annotations

import argparse
from typing import Any

from converters.cli.result import show


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "extract-plan", help="write the plans of a converted model to files"
    )
    parser.add_argument("model", metavar="MODEL", help="a converted SavedModel or graph")
    parser.add_argument("output", metavar="OUT", help="the folder to make")
    parser.add_argument("--signature", metavar="NAME", help="whose plans (default: all)")
    parser.add_argument("--tag", dest="tags", action="append", metavar="TAG")
    parser.add_argument(
        "--partial",
        action="store_true",
        help="write them even if they are not the whole model",
    )
    parser.add_argument(
        "--compare",
        action=argparse.BooleanOptionalAction,
        help="run each plan by TensorRT itself and compare it with its TRTEngineOp (default: where "
        "TensorRT's Python package and a GPU are)",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=0.0,
        metavar="X",
        help="absolute difference that the comparison allows (default 0: equal to the bit)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    return parser


def run(args: argparse.Namespace) -> int:
    from converters.plans.extract_plan import extract_plans

    report = extract_plans(
        args.model,
        args.output,
        args.signature,
        args.partial,
        args.compare,
        tags=args.tags,
        overwrite=args.overwrite,
        tolerance=args.tolerance,
    )
    show(args, report)
    return 0
