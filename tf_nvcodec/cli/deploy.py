"""`tf-nvcodec deploy`: a model into a folder that a server loads."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from typing import Any

from tf_nvcodec.cli import errors, options, values


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "deploy", help="a folder from which Triton or TensorFlow Serving serves a model"
    )
    servers = parser.add_subparsers(dest="server", metavar="SERVER", required=True)
    triton = servers.add_parser("triton", help="a model repository")
    _add_model(triton, "REPOSITORY")
    group = triton.add_argument_group("processes and limits")
    group.add_argument(
        "--instances",
        type=values.positive,
        metavar="N",
        help="processes on each GPU, or on the CPU (default 1)",
    )
    group.add_argument("--timeout", type=float, metavar="S", help="of a request (default 300)")
    group.add_argument(
        "--max-megabytes", type=float, metavar="MB", help="of a request (default 512)"
    )
    group.add_argument(
        "--import",
        dest="imports",
        action="append",
        metavar="MODULE",
        help="for the model's ops, beside tf_nvcodec; may be given again",
    )
    group.add_argument(
        "--python", metavar="PATH", help="the Python with TensorFlow (default: this one)"
    )
    serving = servers.add_parser("tf-serving", help="a folder of models for TensorFlow Serving")
    _add_model(serving, "FOLDER")
    serving.add_argument(
        "--base-path", metavar="PATH", help="where the server sees FOLDER (default: as here)"
    )
    return parser


def _add_model(parser: argparse.ArgumentParser, folder: str) -> None:
    parser.add_argument("model", type=values.path, metavar="MODEL", help="a SavedModel")
    parser.add_argument("output", type=values.path, metavar=folder)
    parser.add_argument("--name", required=True, help="what clients call the model")
    options.add_common(parser, output=False)
    parser.add_argument("--signature", metavar="NAME", help="default serving_default")
    parser.add_argument(
        "--model-version", type=values.positive, metavar="N", help="default: the next"
    )
    parser.add_argument(
        "--warm-up",
        type=values.path,
        action="append",
        metavar="VIDEO",
        help="run before the model is served; may be given again",
    )
    group = parser.add_argument_group("batches")
    group.add_argument(
        "--max-batch",
        type=values.positive,
        metavar="N",
        help="videos in one (default: what MODEL's engines take, or 8)",
    )
    group.add_argument(
        "--batches", type=values.positive, metavar="N", help="in work at a time (default 4)"
    )
    group.add_argument(
        "--queue-delay", type=float, metavar="MS", help="to wait for more videos (default 0)"
    )


def run(args: argparse.Namespace) -> int:
    from tf_nvcodec.cli import runtime

    runtime.load()
    keywords = options.given(
        signature=args.signature,
        version=args.model_version,
        max_batch=args.max_batch,
        batches=args.batches,
        queue_delay=args.queue_delay,
        warm_up=args.warm_up,
    )
    write = _triton if args.server == "triton" else _tf_serving
    with errors.about(args.output):
        try:
            made, command = write(args, keywords)
        except FileExistsError as error:
            raise errors.CliError("", str(error), "give another --model-version") from error
        except FileNotFoundError as error:
            raise errors.CliError("", str(error), "check the path") from error
        except ModuleNotFoundError as error:
            raise errors.CliError("", str(error)) from error
    if args.json:
        print(json.dumps({"version": str(made), "command": command}))
    elif not args.quiet:
        print(f"{made}\n\nTo serve it:\n  {shlex.join(command)}")
    return errors.OK


def _triton(args: argparse.Namespace, keywords: dict[str, Any]) -> tuple[Any, list[str]]:
    from tf_nvcodec.deploy.triton_repository import write_repository

    keywords.update(
        options.given(
            instances=args.instances,
            timeout=args.timeout,
            max_megabytes=args.max_megabytes,
            imports=("tf_nvcodec", *args.imports) if args.imports else None,
            python=args.python,
        )
    )
    made = write_repository(args.model, args.output, args.name, **keywords)
    return made, ["tf-nvcodec", "serve", args.output]


def _tf_serving(args: argparse.Namespace, keywords: dict[str, Any]) -> tuple[Any, list[str]]:
    from tf_nvcodec.deploy import tf_serving

    made = tf_serving.write_servable(
        args.model, args.output, args.name, base_path=args.base_path, **keywords
    )
    seen = args.base_path or os.path.abspath(args.output)
    return made, [
        "tensorflow_model_server",
        "--port=8500",
        "--rest_api_port=8501",
        f"--model_config_file={seen}/{tf_serving.MODELS_CONFIG}",
        "--enable_batching",
        f"--batching_parameters_file={seen}/{tf_serving.BATCHING}",
    ]
