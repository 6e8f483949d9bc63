"""Code shared by `python -m tf_nvcodec.worker` and `python -m tf_nvcodec.dispatcher`."""

from __future__ import annotations

import argparse
import errno
import faulthandler
import math
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any, Callable, NoReturn

from tf_nvcodec.cli import errors
from tf_nvcodec.cli.errors import clean_message

# A server that has not stopped after these seconds never will. Its process ends then.
STOP_S = 30
_LOOK_S = 0.1


class Stop:
    """A flag that a signal handler sets.

    It has no lock, unlike threading.Event: the handler may run while its own thread holds the lock.
    """

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, seconds: float = math.inf) -> None:
        """Waits until the flag is set, at most for these seconds.

        It polls, because a signal that another thread receives does not wake this one. The system
        may deliver the signal to any thread, such as one that starts a decoder's threads.
        """
        deadline = time.monotonic() + seconds
        while not self._is_set and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))


class ServerError(Exception):
    """A failure that is shown on one line."""


class Parser(argparse.ArgumentParser):
    """An argparse parser that prints errors on one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(errors.USAGE, f"{self.prog}: {message} (see `python -m {self.prog} --help`)\n")


def port_number(text: str) -> int:
    """Parses a port for argparse: 0 (any free port) to 65535."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: 0 (a free one) to 65535")
    return int(text)


def host_name(text: str) -> str:
    """Parses a name or address without a port, for argparse."""
    if not re.fullmatch(r"[\w.-]+|\[[0-9a-fA-F:.]+\]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no host name: expected one like host7")
    return text


def seconds(text: str) -> float:
    """Parses a positive number of seconds, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def check_port_is_free(port: int) -> None:
    """Raises ServerError if another server has the port.

    gRPC lets servers share a port; half of the requests would go to the other one.
    """
    if not port:
        return
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            cure = "choose another --port" if error.errno == errno.EADDRINUSE else ""
            raise ServerError(
                f"port {port}: {error.strerror}{f' ({cure})' if cure else ''}"
            ) from error


def run(
    program: str,
    arguments: Any,
    start: Callable[[Any, Stop], tuple[Any, str, str] | None],
) -> int:
    """Starts a server and serves until SIGTERM or SIGINT; returns the exit code.

    `start(arguments, stop)` returns the server, its address and a text about it, or None if `stop`
    was set meanwhile. The address is the only line on stdout, for scripts.
    """
    stop = Stop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    previous = [signal.signal(number, lambda *_: stop.set()) for number in numbers]
    started = None
    code = errors.OK
    try:
        started = start(arguments, stop)
    except ServerError as error:
        code = _failed(program, str(error))
    except RuntimeError as error:  # TensorFlow's servers raise this for every status
        code = _failed(program, clean_message(str(error)))
    if started is None:
        for number, handler in zip(numbers, previous):
            signal.signal(number, handler)
        return code
    server, address, said = started
    print(f"{program}: {said}", file=sys.stderr, flush=True)
    _print_address(address)
    stop.wait()
    print(f"{program}: stopping", file=sys.stderr, flush=True)
    # TensorFlow holds the interpreter's lock while it stops a server, so no Python thread can watch
    # the time.
    faulthandler.dump_traceback_later(STOP_S, exit=True)
    server.stop()
    faulthandler.cancel_dump_traceback_later()
    # At a normal exit, Python deletes the servers in any order, and each stops once more.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(errors.OK)


def _failed(program: str, line: str) -> int:
    print(f"{program}: {line}", file=sys.stderr)
    return errors.FAILED


def _print_address(address: str) -> None:
    try:
        print(address, flush=True)
    except BrokenPipeError:  # the parent has left; the server still serves others
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    start: Callable[[Any, Stop], tuple[Any, str, str] | None],
) -> int:
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as stopped:
        return int(stopped.code or 0)
    return run(parser.prog, arguments, start)
