"""`tf-nvcodec doctor`: what is installed, what is missing, and the command that installs it."""

from __future__ import annotations

import argparse
import json
from typing import Any

from tf_nvcodec.cli import errors

_EPILOG = """\
ok: present. missing: needed, exit code 1. absent: only needed for the feature named.
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="versions, codecs and GPU libraries; what is missing and how to install it",
        epilog=_EPILOG,
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON on stdout")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def run(args: argparse.Namespace) -> int:
    from tf_nvcodec.cli.doctor_checks import Status, examine

    findings = examine()
    healthy = all(finding.status is not Status.MISSING for finding in findings)
    if args.json:
        checks = [
            {"name": f.name, "status": f.status.value, "detail": f.detail, "cure": f.cure}
            for f in findings
        ]
        print(json.dumps({"ok": healthy, "checks": checks}, indent=2))
    else:
        width = max(len(finding.name) for finding in findings)
        for finding in findings:
            print(f"{finding.status.value:8} {finding.name:{width}}  {finding.detail}")
            if finding.cure:
                print(f"{'':8} {'':{width}}  -> {finding.cure}")
    return errors.OK if healthy else errors.FAILED
