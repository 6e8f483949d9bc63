"""`trt-convert doctor`: what is installed for TF-TRT, and what is missing."""

from __future__ import annotations

import argparse
from typing import Any

from converters.cli.result import show


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="versions, libraries, driver and GPU; what is missing and how to get it",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="link TensorRT's libraries where this TensorFlow looks for them",
    )
    return parser


def run(args: argparse.Namespace) -> int:
    from converters.environment.doctor import doctor

    report = doctor(fix=args.fix)
    show(args, report)
    return 0 if report.ok else 1
