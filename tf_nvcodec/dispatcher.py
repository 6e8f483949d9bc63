"""A tf.data service dispatcher that has tf_nvcodec's ops.

    python -m tf_nvcodec.dispatcher --port 5050

With dynamic sharding it is the dispatcher that divides a VideoDataset, so it needs the ops as the
workers do. Prints its address, one line on stdout, and serves until SIGTERM or Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

import tf_nvcodec.api  # noqa: F401  registers the ops
from tf_nvcodec.cli import server

PORT = 5050


def build_parser() -> server.Parser:
    parser = server.Parser(
        prog="tf_nvcodec.dispatcher",
        description="Starts a tf.data service dispatcher that has tf_nvcodec's ops.",
    )
    parser.add_argument(
        "--port", type=server.port_number, default=PORT, help="0: a free one (default: %(default)s)"
    )
    parser.add_argument(
        "--host",
        type=server.host_name,
        default="localhost",
        help="name of this machine in the address that is printed (default: %(default)s)",
    )
    parser.add_argument(
        "--workers",
        nargs="+",
        metavar="HOST[:PORT]",
        help="all workers, for static sharding; %%port%% stands for any port",
    )
    parser.add_argument(
        "--work-dir",
        metavar="FOLDER",
        help="journal of datasets and jobs: a dispatcher started again goes on with them",
    )
    return parser


def start(arguments: Any, stop: server.Stop) -> tuple[Any, str, str]:
    server.check_port_is_free(arguments.port)
    service = tf.data.experimental.service
    dispatcher = service.DispatchServer(
        service.DispatcherConfig(
            port=arguments.port,
            protocol="grpc",
            work_dir=arguments.work_dir,
            fault_tolerant_mode=arguments.work_dir is not None,
            worker_addresses=arguments.workers,
        )
    )
    port = dispatcher.target.rsplit(":", 1)[1]
    return dispatcher, f"grpc://{arguments.host}:{port}", f"listens on port {port}"


def main(argv: Sequence[str] | None = None) -> int:
    return server.main(build_parser(), argv, start)


if __name__ == "__main__":
    sys.exit(main())
