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
    parser.add_argument(
        "--partial",
        action="store_true",
        help="write them even if they are not the whole model",
    )
    return parser


def run(args: argparse.Namespace) -> int:
    from converters.extract_plan import extract_plans

    show(args, extract_plans(args.model, args.output, partial=args.partial))
    return 0
