"""`trt-convert convert`: a model into a folder with its engines."""

from __future__ import annotations

import argparse
from typing import Any

from converters.cli import values
from converters.cli.result import add_quiet, show
from converters.cli.spec_options import add_spec, add_thresholds, spec_from


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "convert", help="convert a model, build its engines and prove that they run"
    )
    parser.add_argument(
        "source",
        metavar="IN",
        help="a SavedModel, a frozen graph (.pb), a MetaGraph (.meta) beside its checkpoint, or a "
        "Keras file",
    )
    parser.add_argument("output", metavar="OUT", help="the folder to make")
    add_spec(parser)
    group = parser.add_argument_group("checks")
    group.add_argument(
        "--build-data",
        type=values.data,
        action="append",
        metavar="DATA",
        help="real inputs to build engines with and to check them on, as for --calibrate (default: "
        "random). A signature that takes strings needs them",
    )
    group.add_argument(
        "--verify",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="compare the outputs with the native model's and fail if they differ too much "
        "(default)",
    )
    group.add_argument(
        "--verify-data",
        type=values.data,
        action="append",
        metavar="DATA",
        help="inputs to compare on, as for --calibrate (default: those of --build-data, or random)",
    )
    add_thresholds(group)
    group.add_argument(
        "--bisect",
        action="store_true",
        help="if the outputs differ too much, find the ops to keep out of the engines",
    )
    group = parser.add_argument_group("how to run")
    group.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    group.add_argument(
        "--child",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="convert in a child process: if it crashes, this program reports that (default)",
    )
    add_quiet(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    checks = {
        "--bisect": args.bisect,
        "--verify-data": args.verify_data,
        "--threshold": args.thresholds,
    }
    for option, given in checks.items():
        if given and not args.verify:
            raise values.UsageError(f"argument {option}: not allowed with --no-verify")
    spec = spec_from(args, random_inputs=args.verify_data is None and args.build_data is None)
    # Report faults in the options before TensorFlow is imported.
    spec.resolved()
    from converters.convert_model import convert

    report = convert(
        args.source,
        args.output,
        spec,
        build_data=args.build_data,
        calibration_data=args.calibration_data,
        verify_data=args.verify_data,
        verify=args.verify,
        bisect=args.bisect,
        overwrite=args.overwrite,
        child=args.child,
        progress=False if args.quiet else None,
    )
    show(args, report)
    return 0
