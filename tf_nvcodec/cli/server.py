"""What `python -m tf_nvcodec.worker` and `python -m tf_nvcodec.dispatcher` share."""

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

# A server that has not stopped by then never will: its process ends anyway.
STOP_S = 30
_LOOK_S = 0.1


class Stop:
    """What a signal sets. It has no lock, unlike threading.Event: the handler may come while this
    very thread holds it."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, seconds: float = math.inf) -> None:
        """Until it is set, or for so long.

        Looks up now and then: a signal that another thread takes does not wake this one. The system
        gives it to whichever is first to look, such as one that starts a decoder's threads.
        """
        deadline = time.monotonic() + seconds
        while not self._is_set and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))


class ServerError(Exception):
    """A failure to show in one line."""


class Parser(argparse.ArgumentParser):
    """argparse, with errors in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(errors.USAGE, f"{self.prog}: {message} (see `python -m {self.prog} --help`)\n")


def port_number(text: str) -> int:
    """For argparse: 0, for a free one, to 65535."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: 0 (a free one) to 65535")
    return int(text)


def host_name(text: str) -> str:
    """For argparse: a name or address without a port."""
    if not re.fullmatch(r"[\w.-]+|\[[0-9a-fA-F:.]+\]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no host name: expected one like host7")
    return text


def seconds(text: str) -> float:
    """For argparse: a positive number."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def check_port_is_free(port: int) -> None:
    """gRPC lets servers share a port, and half of the requests would go to the other one."""
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

    `start(arguments, stop)` gives the server, its address and what to say of it, or None where
    `stop` was set meanwhile. The address is the one line on stdout, for scripts.
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
    except RuntimeError as error:  # what TensorFlow's servers make of every status
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
    # TensorFlow stops its servers with the interpreter's lock held: no thread could watch that.
    faulthandler.dump_traceback_later(STOP_S, exit=True)
    server.stop()
    faulthandler.cancel_dump_traceback_later()
    # The servers stop once more when Python deletes them, in whatever order.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(errors.OK)


def _failed(program: str, line: str) -> int:
    print(f"{program}: {line}", file=sys.stderr)
    return errors.FAILED


def _print_address(address: str) -> None:
    try:
        print(address, flush=True)
    except BrokenPipeError:  # whoever started this has left; it serves others
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
