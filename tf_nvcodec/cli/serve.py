"""`tf-nvcodec serve`: starts the Triton server of the package nvidia-pytriton."""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tf_nvcodec.cli import errors, values

if TYPE_CHECKING:
    from tf_nvcodec.deploy.triton_server import ServerCommand

# Triton's Python backend aborts the whole server if the process of a model that loads gets no CPU
# for a second. So a server that crashes is started again, up to this many times in a row. One that
# has run for these seconds was well.
_CRASHES = (-signal.SIGABRT, -signal.SIGSEGV)
_STARTS, _WELL_S = 4, 600.0
_ONE_BY_ONE = "--model-load-thread-count=1"
_PR_SET_PDEATHSIG = 1


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
    return _run_server(command)


def _run_server(command: ServerCommand) -> int:
    """Runs Triton until it ends or this process is told to; returns the exit code."""
    program, *options = command.arguments
    shared = f"tf_nvcodec_{os.getpid()}_"
    # Ahead of the user's options, of which the last one counts.
    options.insert(0, f"--backend-config=python,shm-region-prefix-name={shared}")
    starts = 0
    while True:
        begin = time.monotonic()
        process = subprocess.Popen(
            [program, *options],
            env=command.environment,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - this process has one thread
        )
        try:
            code = process.wait()
        except (KeyboardInterrupt, errors.Terminated):
            process.terminate()
            return process.wait()
        starts = 1 if time.monotonic() - begin > _WELL_S else starts + 1
        if code not in _CRASHES or starts == _STARTS:
            return code if code >= 0 else 128 - code
        errors.warn(
            "Triton",
            f"crashed by {signal.Signals(-code).name}, as it does where a model that loads gets no "
            "CPU for a second; it is started again, and loads one model after the other",
        )
        for left in Path("/dev/shm").glob(f"{shared}*"):  # by the server that is gone
            left.unlink(missing_ok=True)
        if _ONE_BY_ONE not in options:
            options.insert(0, _ONE_BY_ONE)


def _end_with_parent() -> None:
    """Has the system end Triton when this program is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
