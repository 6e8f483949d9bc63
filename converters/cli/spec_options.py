"""The options that make a ConversionSpec, shared by `convert` and `calibrate`."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from converters.cli import values
from converters.spec.conversion_spec import ConversionSpec
from converters.spec.rules import INT8_FIELDS, MODES, PRECISIONS, PROFILE_STRATEGIES
from converters.util.errors import SpecError
from converters.util.record import read_json


def add_spec(parser: argparse.ArgumentParser, precision: str = "FP32") -> None:
    """Adds all options of the spec. An option that is left out keeps its default, or the value in
    --spec. `precision` is the command's default."""
    parser.add_argument(
        "--spec",
        type=values.path,
        metavar="FILE",
        help="a spec as JSON, or the conversion.json of an earlier conversion; options override it",
    )
    add = parser.add_argument_group("what to convert to").add_argument
    add("--precision", type=str.upper, choices=PRECISIONS, help=f"default {precision}")
    add(
        "--mode",
        type=str.lower,
        choices=MODES,
        help="default dynamic, static for graphs of TensorFlow 1",
    )
    _add_shapes(parser.add_argument_group("shapes (the batch first)"))
    _add_engines(parser.add_argument_group("engines"))
    _add_int8(parser.add_argument_group("INT8"))
    _add_model(parser.add_argument_group("the model"))


def _add_shapes(group: Any) -> None:
    group.add_argument(
        "--shape",
        dest="input_shapes",
        type=values.shape_set,
        action="append",
        metavar="INPUT:32x224x224x3[,INPUT:...]",
        help="build for these shapes of a signature's inputs; may be given again",
    )
    group.add_argument(
        "--range",
        dest="shape_ranges",
        type=values.shape_range,
        action="append",
        metavar="INPUT:MIN..MAX[..OPT]",
        help="build for all shapes from MIN to MAX, as in input:1x224x224x3..32x224x224x3; once "
        "for each input",
    )
    group.add_argument("--profile-strategy", choices=PROFILE_STRATEGIES)
    group.add_argument(
        "--explicit-batch",
        action=argparse.BooleanOptionalAction,
        help="engines whose batch is a dimension as others (default: with --range)",
    )
    group.add_argument("--max-batch-size", type=int, metavar="N", help="static mode only")


def _add_engines(group: Any) -> None:
    group.add_argument(
        "--workspace",
        dest="max_workspace_size_bytes",
        type=values.size,
        metavar="BYTES",
        help="GPU memory that an engine may use meanwhile, as in 2GiB",
    )
    group.add_argument("--minimum-segment-size", type=int, metavar="NODES", help="default 3")
    group.add_argument("--maximum-cached-engines", type=int, metavar="N")
    group.add_argument(
        "--deny-op", dest="op_denylist", action="append", metavar="OP", help="keep an op type out"
    )
    group.add_argument(
        "--deny-node", dest="node_denylist", action="append", metavar="NODE", help="keep a node out"
    )
    group.add_argument(
        "--denylist", type=values.path, metavar="FILE", help="keep out what --bisect wrote to FILE"
    )
    group.add_argument(
        "--build-at-runtime",
        dest="allow_build_at_runtime",
        action=argparse.BooleanOptionalAction,
        help="let the saved model build engines for other shapes (default: run those natively)",
    )
    group.add_argument(
        "--save-engines",
        dest="save_gpu_specific_engines",
        action=argparse.BooleanOptionalAction,
        help="save the engines that were built (default)",
    )
    group.add_argument(
        "--native-segments",
        dest="native_segments",
        action=argparse.BooleanOptionalAction,
        help="keep TensorFlow's ops for shapes that no engine serves (default); without them such "
        "shapes are an error, and the model loads faster",
    )


def _add_int8(group: Any) -> None:
    group.add_argument(
        "--require-int8",
        dest="require_int8",
        action=argparse.BooleanOptionalAction,
        help="fail if TensorRT finds other kernels faster than INT8 everywhere (default; "
        "not possible with --no-child)",
    )
    group.add_argument(
        "--calibrate",
        dest="calibration_data",
        type=values.data,
        action="append",
        metavar="DATA",
        help=".npy or .npz files, or folders or patterns of them, or the files of videos or images "
        "where the model takes their bytes; may be given again",
    )
    group.add_argument("--calibration-batches", type=int, metavar="N", help="default: all")
    group.add_argument(
        "--calibration-table",
        metavar="FILE",
        help="take the ranges from FILE if it exists, else write them there",
    )
    group.add_argument(
        "--no-calibration",
        dest="use_calibration",
        action="store_false",
        default=None,
        help="take the ranges from the graph's quantize nodes and --custom-range",
    )
    group.add_argument(
        "--custom-range",
        dest="custom_ranges",
        type=values.tensor_range,
        action="append",
        metavar="TENSOR=MIN,MAX",
        help="the range of a tensor, instead of the one that calibration measures, or with "
        "--no-calibration beside the graph's quantize nodes; may be given again",
    )


def _add_model(group: Any) -> None:
    group.add_argument(
        "--signature",
        dest="signatures",
        action="append",
        metavar="NAME",
        help="convert this one; may be given again (default: all)",
    )
    group.add_argument(
        "--tag", dest="tags", action="append", metavar="TAG", help="of a SavedModel (default serve)"
    )
    group.add_argument(
        "--output",
        dest="outputs",
        action="append",
        metavar="NAME",
        help="an output of a frozen graph; may be given again",
    )


def add_random_inputs(parser: Any) -> None:
    """Adds the shapes and the seed of random inputs to run a model on."""
    parser.add_argument(
        "--shape",
        dest="shapes",
        type=values.shape_set,
        action="append",
        metavar="INPUT:32x224x224x3[,INPUT:...]",
        help="of random inputs; may be given again",
    )
    parser.add_argument("--seed", type=int, help="of random inputs (default 0)")


def check_random_inputs(args: argparse.Namespace) -> None:
    """UsageError for the shapes or the seed of random inputs beside data."""
    for option, given in (("--shape", args.shapes), ("--seed", args.seed)):
        if given is not None and args.data is not None:
            raise values.UsageError(
                f"argument {option}: it is of random inputs; not allowed with --data"
            )


def add_graph_choice(parser: argparse.ArgumentParser) -> None:
    """Adds which MetaGraph of a SavedModel to take, and which outputs of a graph."""
    parser.add_argument("--tag", dest="tags", action="append", metavar="TAG")
    parser.add_argument(
        "--output", dest="outputs", action="append", metavar="NAME", help="of graphs"
    )


def add_thresholds(group: Any) -> None:
    group.add_argument(
        "--threshold",
        dest="thresholds",
        type=values.threshold,
        action="append",
        metavar="NAME=NUMBER",
        help="in place of the precision's own: max_abs, mean_abs (as fractions of the output's "
        "scale), max_rel, cosine, top1, top5, equal; none leaves one unchecked",
    )


def spec_from(args: argparse.Namespace, random_inputs: bool = False) -> ConversionSpec:
    """The spec from --spec and the options. `random_inputs`: thresholds are for random inputs.

    Raises:
      SpecError: the file cannot be read, or a threshold is not known.
      UsageError: a name was given twice.
    """
    spec = ConversionSpec() if args.spec is None else _read(args.spec)
    given: dict[str, Any] = {}
    for field in dataclasses.fields(ConversionSpec):
        value = getattr(args, field.name, None)
        if value is not None and field.name != "thresholds":
            given[field.name] = tuple(value) if isinstance(value, list) else value
    for name, option in (("shape_ranges", "--range"), ("custom_ranges", "--custom-range")):
        if name in given:
            given[name] = values.once(list(given[name]), option)
    if args.denylist is not None:
        from converters.denylist_search import Denylist

        listed = Denylist.read(args.denylist)
        for name in ("op_denylist", "node_denylist"):
            before = given.get(name, getattr(spec, name)) or ()
            given[name] = tuple(dict.fromkeys((*before, *getattr(listed, name))))
    # Shapes and ranges exclude each other: an option replaces the other kind from --spec.
    if "shape_ranges" in given and "input_shapes" not in given:
        given["input_shapes"] = None
    elif "input_shapes" in given and "shape_ranges" not in given:
        given["shape_ranges"] = None
    # So do other precisions and the fields of INT8.
    unused: tuple[str, ...] = ()
    if given.get("precision", "INT8") != "INT8":
        unused = INT8_FIELDS
    elif getattr(args, "calibration_data", None):
        unused = ("use_calibration",)
    elif given.get("use_calibration") is False:
        unused = ("calibration_batches", "calibration_table")
    for name in unused:
        given.setdefault(name, None)
    found = dataclasses.replace(spec, **given)
    named = values.once(getattr(args, "thresholds", None), "--threshold")
    if named:
        from converters.spec.thresholds import default_thresholds

        base = found.thresholds or default_thresholds(found.precision or "FP32", random_inputs)
        found = dataclasses.replace(found, thresholds=base.replaced(named))
    return found


def _read(path: Path) -> ConversionSpec:
    try:
        found = read_json(path)
    except OSError as error:
        raise SpecError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SpecError(f"{path} is no JSON: {error}") from error
    if isinstance(found, dict) and isinstance(found.get("spec"), dict):
        # Take the spec that the user asked for: defaults that followed from it may not fit.
        asked = found.get("asked")
        found = asked if isinstance(asked, dict) else found["spec"]
    if not isinstance(found, dict):
        raise SpecError(f"{path} holds no spec, which is an object of fields")
    return ConversionSpec.from_json(found)
