"""Parses the arguments, runs the command and turns failures into exit codes and single lines."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn

from tf_nvcodec.cli import (
    decode,
    deploy,
    doctor,
    encode,
    errors,
    export,
    preview,
    probe,
    serve,
    transcode,
)
from tf_nvcodec.cli.progress import has_abandoned_work
from tf_nvcodec.cli.runtime import silence_tensorflow
from tf_nvcodec.cli.streams import let_any_name_pass, open_closed_streams
from tf_nvcodec.version import __version__

_COMMANDS = (probe, decode, encode, transcode, preview, export, deploy, serve, doctor)

_EPILOG = """\
exit codes:
  0    done
  1    an input or output failed (the line on stderr names it), or doctor found something missing
  2    wrong options
  130  stopped by Ctrl-C; 143 by SIGTERM. No half-written output is left.
"""


class _Parser(argparse.ArgumentParser):
    """An argparse parser that prints errors in this program's one-line form."""

    def error(self, message: str) -> NoReturn:
        self.exit(errors.USAGE, f"tf-nvcodec: {message} (see `{self.prog} --help`)\n")


def build_parser() -> argparse.ArgumentParser:
    """Builds the parser of the whole command line."""
    parser = _Parser(
        prog="tf-nvcodec",
        description="Video in and out of TensorFlow's tensors.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tf-nvcodec {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(commands).set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code, with errors already printed on stderr."""
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    open_closed_streams()
    let_any_name_pass()
    silence_tensorflow()
    with _sigterm_unwinds():
        code = _run(args)
    if has_abandoned_work():
        # An op still runs in another thread. At a normal exit the interpreter would wait for it, or
        # destroy what it uses.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _run(args: argparse.Namespace) -> int:
    try:
        code = int(args.run(args))
        sys.stdout.flush()
        return code
    except errors.CliError as error:
        if args.debug:
            raise
        print(error.line(), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("tf-nvcodec: interrupted", file=sys.stderr)
        return errors.INTERRUPTED
    except errors.Terminated:
        print("tf-nvcodec: terminated", file=sys.stderr)
        return errors.TERMINATED
    except OSError as error:
        # errors.about() handles the errors of inputs and outputs, so this one is about stdout: its
        # reader has left, or its disk is full. Python would report it again when it closes stdout.
        if args.debug:
            raise
        if not isinstance(error, BrokenPipeError):
            print(f"tf-nvcodec: standard output: {error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return errors.FAILED


@contextlib.contextmanager
def _sigterm_unwinds() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(*_: object) -> NoReturn:
        raise errors.Terminated

    previous = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
