"""`trt-convert inspect`: what is in engines, what is not, and why."""

from __future__ import annotations

import argparse
from typing import Any

from converters.cli import values
from converters.cli.result import add_page, check_page, show, to_stdout, write_page


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "inspect", help="engines, their ops and shapes, and why the rest was left out"
    )
    parser.add_argument("model", metavar="MODEL", help="a SavedModel or a graph, converted or not")
    parser.add_argument(
        "--original",
        metavar="IN",
        help="the model before conversion, to compare with and to ask TF-TRT about",
    )
    parser.add_argument("--tag", dest="tags", action="append", metavar="TAG")
    parser.add_argument(
        "--ask",
        action=argparse.BooleanOptionalAction,
        help="ask TF-TRT's segmenter why ops were left out (default: where this TensorFlow has it)",
    )
    parser.add_argument(
        "--advice",
        action="store_true",
        help="also print what to change in the model: node, reason, cure and source",
    )
    parser.add_argument(
        "--layers",
        action="store_true",
        help="show the layers of each engine: what TensorRT fused, and in which type it computes",
    )
    add_page(parser)
    parser.add_argument(
        "--events", type=values.path, metavar="FOLDER", help="write the graph for TensorBoard"
    )
    return parser


def run(args: argparse.Namespace) -> int:
    from converters.report.event_files import check_folder, write_event_files
    from converters.report.inspect_model import inspect_model

    check_page(args)
    if args.events is not None:
        check_folder(args.events, args.model, args.original)
    report = inspect_model(
        args.model, args.original, tags=args.tags, ask=args.ask, layers=args.layers
    )
    write_page(args, report)
    if args.events is not None:
        write_event_files(report, args.events, args.original)
    show(args, report)
    if args.advice and not args.json:  # the JSON has it anyway
        with to_stdout():
            print(f"\n{report.advice_text()}")
    return 0
