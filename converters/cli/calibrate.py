"""`trt-convert calibrate`: the ranges of a model's tensors, into a table for INT8 conversions."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from converters.cli.result import add_quiet, show
from converters.cli.spec_options import add_spec, spec_from
from converters.cli.values import UsageError


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "calibrate", help="measure the ranges for INT8 and write them to a table"
    )
    parser.add_argument("source", metavar="IN", help="a model, as for convert")
    parser.add_argument("table", metavar="TABLE", help="the file to write, such as x.calib_table")
    add_spec(parser, precision="INT8")
    parser.add_argument("--overwrite", action="store_true", help="replace TABLE if it exists")
    parser.add_argument(
        "--child",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="calibrate in a child process (default)",
    )
    add_quiet(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    if args.calibration_data is None:
        raise UsageError("the following arguments are required: --calibrate")
    if args.calibration_table is not None:
        raise UsageError("argument --calibration-table: calibrate measures, and writes to TABLE")
    spec = spec_from(args)
    if spec.precision is None:
        spec = dataclasses.replace(spec, precision="INT8")
    spec.resolved()
    from converters.convert_model import calibrate

    report = calibrate(
        args.source,
        args.table,
        spec,
        calibration_data=args.calibration_data,
        overwrite=args.overwrite,
        child=args.child,
        progress=False if args.quiet else None,
    )
    show(args, report)
    return 0
