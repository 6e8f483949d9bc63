"""Parses the arguments, runs the command and turns failures into exit codes and messages."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn

from converters.cli import (
    benchmark,
    calibrate,
    convert,
    doctor,
    extract_plan,
    inspect_model,
    profile,
    verify,
)
from converters.cli.result import StdoutError, open_closed_streams, to_stdout
from converters.cli.values import UsageError, path
from converters.util.custom_ops import load_custom_ops
from converters.util.errors import ConverterError

_COMMANDS = (convert, calibrate, inspect_model, verify, benchmark, profile, extract_plan, doctor)

# The packages that commands import when they run, and what to install for each.
_PACKAGES = {
    "tensorflow": "'tensorflow[and-cuda]==2.17.1'",
    "tensorrt": "tensorrt==8.6.0 (Python 3.10 and older)",
    "numpy": "numpy",
    "tqdm": "tqdm",
}

FAILED, USAGE, INTERRUPTED, TERMINATED = 1, 2, 130, 143
HUNG_UP = 129

_EPILOG = """\
exit codes:
  0    done
  1    the message on stderr names the input, the cause and the cure; or the models differ, no
       cell of benchmark is within the latency, or doctor found something missing
  2    wrong options
  130  stopped by Ctrl-C; 143 by SIGTERM, 129 by the end of the terminal. No half-written output
       is left.
"""


class _TerminatedError(BaseException):
    """Raised for SIGTERM and SIGHUP: child processes end and temporary folders are removed then."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Parser(argparse.ArgumentParser):
    """argparse, with errors of one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"trt-convert: {message} (see `{self.prog} --help`)\n")


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = _Parser(
        prog="trt-convert",
        description="From a trained TensorFlow model to TensorRT, checked.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        added = command.add_parser(commands)
        added.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
        added.add_argument("--debug", action="store_true", help="show the traceback of an error")
        added.set_defaults(run=command.run)
        if command is not doctor:
            _add_custom_ops(added.add_argument_group("ops that are not TensorFlow's own"))
    return parser


def _add_custom_ops(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--import",
        dest="imports",
        action="append",
        metavar="MODULE",
        help="a Python module that registers ops of the model, such as tf_nvcodec; may be given "
        "again",
    )
    group.add_argument(
        "--op-library",
        dest="op_libraries",
        type=path,
        action="append",
        metavar="X.so",
        help="an op library to load; may be given again",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code, with errors already printed on stderr."""
    parser = build_parser()
    try:
        args = parser.parse_args(argv)
        for name in ("source", "output", "table", "model", "native", "converted"):
            # An unset variable in a script gives "", and Path("") is the working folder.
            if getattr(args, name, None) == "":
                parser.error(f"argument {name}: '' names nothing")
    except SystemExit as stop:
        return int(stop.code or 0)
    open_closed_streams()
    # TensorFlow reads these once, at import. The user's own settings stay.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    with _signals_unwind():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    try:
        # convert and calibrate load them by the spec, whose faults come first.
        if "imports" in args and "spec" not in args:
            load_custom_ops(args.imports or (), args.op_libraries or ())
        code = int(args.run(args))
        with to_stdout():
            sys.stdout.flush()
        return code
    except ConverterError as error:
        if args.debug:
            raise
        print(f"trt-convert: {error}", file=sys.stderr)
        return FAILED
    except UsageError as error:
        print(f"trt-convert: {error} (see `trt-convert {args.command} --help`)", file=sys.stderr)
        return USAGE
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if args.debug or package not in _PACKAGES:
            raise
        cure = _PACKAGES[package]
        print(f"trt-convert: {package} is not installed: pip install {cure}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("trt-convert: interrupted", file=sys.stderr)
        return INTERRUPTED
    except _TerminatedError as stop:
        if stop.number == signal.SIGHUP:  # nobody is there to read
            return HUNG_UP
        print("trt-convert: terminated", file=sys.stderr)
        return TERMINATED
    except StdoutError as stop:
        if args.debug:
            raise
        cause = stop.__cause__
        if not isinstance(cause, BrokenPipeError):
            why = getattr(cause, "strerror", None) or cause
            print(f"trt-convert: standard output: {why}", file=sys.stderr)
        # Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        if args.debug:
            raise
        where = error.filename if error.filename is not None else "a file (--debug shows which)"
        with contextlib.suppress(OSError):  # stderr itself may be what failed
            print(f"trt-convert: {where}: {error.strerror or error}", file=sys.stderr)
        return FAILED


@contextlib.contextmanager
def _signals_unwind() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, _: object) -> NoReturn:
        signal.signal(number, signal.SIG_IGN)  # once: what is under way must not be stopped midway
        raise _TerminatedError(number)

    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    if previous[signal.SIGHUP] == signal.SIG_IGN:  # nohup
        del previous[signal.SIGHUP]
    for number in previous:
        signal.signal(number, terminate)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
