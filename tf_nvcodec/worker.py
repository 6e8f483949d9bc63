"""A tf.data service worker that has tf_nvcodec's ops.

    python -m tf_nvcodec.worker --dispatcher grpc://host:5050

Prints its address, one line on stdout, once it is registered with the dispatcher, and works until
SIGTERM or Ctrl-C. `python -m tf_nvcodec.dispatcher` starts the dispatcher.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any

import grpc
import tensorflow as tf

import tf_nvcodec.api  # noqa: F401  registers the ops
from tf_nvcodec.cli import server

_ADDRESS = re.compile(r"(?:grpc://)?(?P<host>[\w.-]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d+)/?")
_VERSION_CALL = "/tensorflow.data.DispatcherService/GetVersion"
_PING_S = 2.0
_PAUSE_S = 0.2


def dispatcher_address(text: str) -> str:
    """For argparse: "host:port" of what may begin with grpc://."""
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found["port"]) < 65536:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no address of a dispatcher: expected grpc://host:port"
        )
    return f"{found['host']}:{int(found['port'])}"


def build_parser() -> server.Parser:
    parser = server.Parser(
        prog="tf_nvcodec.worker",
        description="Starts a tf.data service worker that has tf_nvcodec's ops.",
    )
    parser.add_argument(
        "--dispatcher", type=dispatcher_address, required=True, metavar="grpc://HOST:PORT"
    )
    parser.add_argument(
        "--port", type=server.port_number, default=0, help="0: a free one (default)"
    )
    parser.add_argument(
        "--host",
        type=server.host_name,
        help="name or address by which clients reach this machine (default: the address that it "
        "has in the dispatcher's network)",
    )
    parser.add_argument(
        "--timeout",
        type=server.seconds,
        default=60,
        metavar="SECONDS",
        help="to wait for the dispatcher at the start (default: %(default)s)",
    )
    parser.add_argument(
        "--heartbeat",
        type=server.seconds,
        default=1,
        metavar="SECONDS",
        help="between reports to the dispatcher, which bring new work (default: %(default)s)",
    )
    return parser


def wait_for_dispatcher(address: str, timeout: float, stop: server.Stop) -> None:
    """Asks `address` until a dispatcher answers. WorkerServer would wait for hours instead, and
    with the interpreter's lock held.

    Raises:
      server.ServerError: None answered in time, or something else did.
    """
    deadline = time.monotonic() + timeout
    while not stop.is_set():
        left = deadline - time.monotonic()
        try:
            with grpc.insecure_channel(address) as channel:
                channel.unary_unary(_VERSION_CALL)(b"", timeout=max(0.1, min(left, _PING_S)))
            return
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                raise server.ServerError(
                    f"{address}: a server, but no tf.data service dispatcher"
                ) from error
            if left <= _PAUSE_S:
                detail = " ".join((error.details() or error.code().name).split())
                raise server.ServerError(
                    f"{address}: no dispatcher answered within {timeout:g} s: {detail} "
                    "(start one with `python -m tf_nvcodec.dispatcher`)"
                ) from error
        stop.wait(_PAUSE_S)


def address_towards(dispatcher: str) -> str:
    """This machine's address in the network that leads to the dispatcher."""
    host, port = dispatcher.rsplit(":", 1)
    with contextlib.suppress(OSError):
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
        family, kind, protocol, _, remote = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(remote)  # of a datagram socket: sends nothing
            local = probe.getsockname()[0]
        if local.startswith("127.") or local == "::1":
            return "localhost"
        return f"[{local}]" if ":" in local else local
    return socket.gethostname()


def start(arguments: Any, stop: server.Stop) -> tuple[Any, str, str] | None:
    server.check_port_is_free(arguments.port)
    wait_for_dispatcher(arguments.dispatcher, arguments.timeout, stop)
    if stop.is_set():
        return None
    host = arguments.host or address_towards(arguments.dispatcher)
    service = tf.data.experimental.service
    worker = service.WorkerServer(
        service.WorkerConfig(
            dispatcher_address=arguments.dispatcher,
            worker_address=f"{host}:%port%",
            data_transfer_address=f"{host}:%port%",
            port=arguments.port,
            protocol="grpc",
            heartbeat_interval_ms=int(arguments.heartbeat * 1000),
        )
    )
    port = worker._address.rsplit(":", 1)[1]
    return worker, f"grpc://{host}:{port}", f"works for the dispatcher at {arguments.dispatcher}"


def main(argv: Sequence[str] | None = None) -> int:
    return server.main(build_parser(), argv, start)


if __name__ == "__main__":
    sys.exit(main())
