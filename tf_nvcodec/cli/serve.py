"""`tf-nvcodec serve`: starts the Triton server of the package nvidia-pytriton."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from tf_nvcodec.cli import errors, values


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "serve",
        help="start Triton on a model repository",
        description="Starts the Triton server of the package nvidia-pytriton on a repository that "
        "`tf-nvcodec deploy triton` has written.",
    )
    parser.add_argument("repository", type=values.path, metavar="REPOSITORY")
    for name, port in {"http": 8000, "grpc": 8001, "metrics": 8002}.items():
        parser.add_argument(
            f"--{name}-port", type=int, default=port, metavar="N", help="default %(default)s"
        )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="--NAME=VALUE",
        help="of tritonserver, e.g. --option=--model-control-mode=poll; may be given again",
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def run(args: argparse.Namespace) -> int:
    from tf_nvcodec.deploy.triton_server import server_command

    if not os.path.isdir(args.repository):
        raise errors.CliError(
            args.repository, "no such folder", "write it with `tf-nvcodec deploy triton`"
        )
    try:
        command = server_command(
            args.repository,
            http_port=args.http_port,
            grpc_port=args.grpc_port,
            metrics_port=args.metrics_port,
            options=args.option,
        )
    except FileNotFoundError as error:
        raise errors.CliError("", str(error)) from error
    except OSError as error:
        raise errors.CliError(
            str(error.filename), f"{error.strerror}", "set XDG_CACHE_HOME to a folder of yours"
        ) from error
    sys.stdout.flush()
    os.execve(command.arguments[0], command.arguments, command.environment)
