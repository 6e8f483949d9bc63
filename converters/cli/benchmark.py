"""`trt-convert benchmark`: latency, throughput and memory of a model or a plan."""

from __future__ import annotations

import argparse
from typing import Any

from converters.cli import values
from converters.cli.result import add_page, add_quiet, check_page, show, write_page
from converters.cli.spec_options import add_graph_choice, add_random_inputs, check_random_inputs


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "benchmark", help="measure latency, throughput and memory of a model or a plan"
    )
    parser.add_argument(
        "model", metavar="MODEL", help="a model, converted or not, or a plan of extract-plan"
    )
    parser.add_argument(
        "--original",
        type=values.data,
        metavar="NATIVE",
        help="a model to compare with; both take turns",
    )
    _add_requests(parser.add_argument_group("what to ask"))
    _add_measuring(parser.add_argument_group("how to measure"))
    parser.add_argument("--signature", metavar="NAME", help="default serving_default, or the only")
    add_graph_choice(parser)
    add_page(parser)
    add_quiet(parser)
    return parser


def _add_requests(group: Any) -> None:
    add_random_inputs(group)
    group.add_argument(
        "--batch",
        dest="batch_sizes",
        type=values.counts,
        metavar="1,8,32",
        help="the first dimensions to measure, of random inputs or of the data's batches",
    )
    group.add_argument(
        "--data",
        type=values.data,
        action="append",
        metavar="DATA",
        help="as for verify; requests take the first 8 batches in turn (default: random inputs)",
    )
    group.add_argument(
        "--inputs",
        choices=("device", "host"),
        default="device",
        help="where inputs are when a request begins: in the GPU's memory (default), or on the "
        "host, from where each request copies them",
    )


def _add_measuring(group: Any) -> None:
    group.add_argument(
        "--concurrency",
        type=values.counts,
        default=(1,),
        metavar="1,2,4",
        help="numbers of callers that send requests at the same time (default 1)",
    )
    group.add_argument(
        "--queued",
        type=int,
        default=1,
        metavar="N",
        help="requests that each caller keeps in flight (default 1)",
    )
    group.add_argument(
        "--seconds", type=float, default=5.0, metavar="S", help="for each cell (default 5)"
    )
    group.add_argument(
        "--warm-up", type=float, default=1.0, metavar="S", help="before each cell (default 1)"
    )
    group.add_argument(
        "--max-latency-ms",
        type=float,
        metavar="X",
        help="find the most items per second with a 99th percentile of at most X; exit with 1 if "
        "there is none",
    )
    group.add_argument("--memory", action="store_true", help="measure memory too")


def run(args: argparse.Namespace) -> int:
    check_random_inputs(args)
    from converters.measure.benchmark import benchmark

    check_page(args)
    report = benchmark(
        args.model,
        args.original,
        shapes=args.shapes,
        batch_sizes=args.batch_sizes,
        data=args.data,
        concurrency=args.concurrency,
        queued=args.queued,
        seconds=args.seconds,
        warm_up=args.warm_up,
        max_latency_ms=args.max_latency_ms,
        memory=args.memory,
        inputs=args.inputs,
        signature=args.signature,
        tags=args.tags,
        outputs=args.outputs,
        seed=args.seed or 0,
        progress=False if args.quiet else None,
    )
    write_page(args, report)
    show(args, report)
    return 1 if args.max_latency_ms is not None and report.best is None else 0
