"""`convert` turns any model into a SavedModel with TensorRT engines, and checks it first.

Its stages are in conversion_plan.py and conversion_stages.py. `calibrate` runs the first three.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from converters.conversion_plan import ConversionContext, ConversionPlan, make_plan
from converters.conversion_report import ConversionReport, report_of
from converters.conversion_stages import (
    Ranges,
    build,
    compare,
    ranges_of_the_graph,
    read_ranges,
    read_verify_data,
    run_fresh,
)
from converters.denylist_search import Denylist, find_denylist
from converters.inputs.data_sources import files_of
from converters.int8.calibration_table import CalibrationTable, check_table_path, write_tables
from converters.model.trt_graph import load_graph
from converters.spec.conversion_spec import ConversionSpec
from converters.util import record
from converters.util.errors import (
    CrashError,
    EngineError,
    NotInt8Error,
    SpecError,
    VerificationDataError,
    VerificationError,
)
from converters.util.outputs import check_new, is_full, new_output
from converters.util.paths import check_apart, check_outside
from converters.util.progress import Progress

DENYLIST = "denylist.json"
_WORK = "trt-convert-"


def convert(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    spec: ConversionSpec | None = None,
    *,
    build_data: Any = None,
    calibration_data: Any = None,
    verify: bool = True,
    verify_data: Any = None,
    bisect: bool = False,
    overwrite: bool = False,
    progress: bool | None = None,
    child: bool = True,
) -> ConversionReport:
    """Converts a model, proves the result, and leaves it in `output`, or leaves nothing.

    The result is a SavedModel with all signatures of the source, and engines that serve every
    declared shape. The folder also has conversion.json, repeat.sh, conversion.log, layers.json with
    the layers of each engine, and TF-TRT's reasons for what it left out. Before `output` appears, a
    fresh process has loaded the model and run each shape by the saved engines alone, and the
    outputs were compared with the native model's.

    Args:
      source: a SavedModel, a frozen graph (.pb), a MetaGraph (.meta) beside its checkpoint, or a
        Keras file. A graph is converted by TrtGraphConverter in static mode unless the spec says
        otherwise; everything else by TrtGraphConverterV2.
      output: a folder that does not exist yet, unless `overwrite`.
      spec: what to convert to; None is ConversionSpec().
      build_data: real values to build and check engines with, where random ones do not do, as for a
        signature that takes the bytes of videos; what converters.calibration_data.batches takes.
        The files of videos or images fit a signature with one input of strings. Each declared
        shape gets a batch of the data's rows; without declared shapes, engines serve the shapes of
        the data's own batches. It is for the signatures with strings, or for all if there
        is none, or a dict by signature.
      calibration_data: for INT8, what converters.calibration_data.batches takes; for several
        signatures a dict of such data by signature. The batches are kept in temporary files.
        Signatures with strings are also built with it if there is no build_data.
      verify: whether outputs are compared. The run in a fresh process always happens.
      verify_data: the inputs to compare on, like calibration_data; None takes those of build_data,
        or random inputs. Its first batch is read before engines are built. Data that can be read
        only once, such as a generator, is kept in temporary files.
      bisect: if outputs differ too much, finds the ops to keep out and converts without them. The
        report, conversion.json and denylist.json name them. This takes many conversions. If the
        spec's calibration table exists, engines get their ranges from it however they are cut,
        and calibration_data measures the ranges that it lacks.
      progress: True bars, False nothing, None bars on a terminal and lines elsewhere.
      child: whether to convert in a child process, so that a crash in TensorRT does no harm. False
        converts in this process: its TensorFlow then holds the GPU, and nothing proves that INT8
        kernels were taken (ConversionSpec.require_int8).

    Raises:
      ConverterError: SpecError, ModelError, UnavailableError, CalibrationError, EngineError,
        VerificationError or OutputError; nothing is left in `output` then.
    """
    began = time.monotonic()
    shown = Progress(progress)
    spec = spec or ConversionSpec()
    if not isinstance(spec, ConversionSpec):
        raise SpecError(
            f"spec is a {type(spec).__name__}: give a ConversionSpec (ConversionSpec.from_json "
            "makes one of a dict)"
        )
    if not verify:
        for argument, given in (("bisect", bisect), ("verify_data", verify_data is not None)):
            if given:
                raise SpecError(
                    f"{argument} has no effect with verify=False: leave out one of the two"
                )
    table = spec.calibration_table
    data = {
        "build_data": build_data,
        "calibration_data": calibration_data,
        "verify_data": verify_data,
    }
    check_apart(
        output,
        source,
        [
            *([("the calibration table", table)] if table is not None else ()),
            *((f"of {name}", file) for name, own in data.items() for file in files_of(own)),
        ],
    )
    with new_output(output, overwrite) as folder, tempfile.TemporaryDirectory(prefix=_WORK) as work:
        context = ConversionContext(Path(work), shown, child=child, shown=progress)
        plan = make_plan(source, spec, context, build_data, calibration_data)
        compared_on = read_verify_data(plan, verify_data, context) if verify else {}
        ranges = read_ranges(plan, calibration_data, context)
        used, denied = plan.spec, None
        built = build(plan, used, ranges, folder, context)
        fresh = run_fresh(plan, built, folder, context)
        compared = compare(plan, built, folder, compared_on, context, fresh) if verify else None
        if compared is not None and (compared.native or compared.uncompared):
            # No engine ran, or there is nothing to compare: a bisection would find nothing.
            compared.raise_if_failed()
        if compared is not None and not compared.passed and bisect:
            cut_again = ranges.tables is not None
            if cut_again:
                ranges = ranges_of_the_graph(plan, ranges, built, calibration_data, context)
            used, denied = _bisect(plan, ranges, folder, compared_on, context)
            _empty(folder)
            try:
                built = build(plan, used, ranges, folder, context)
            except EngineError as error:
                out = ", ".join((*denied.op_denylist, *denied.node_denylist))
                raise VerificationError(
                    f"outputs agree only without {out}, and then no engine is left: {error}"
                ) from error
            fresh = run_fresh(plan, built, folder, context)
            compared = compare(plan, built, folder, compared_on, context, fresh)
            if cut_again:
                # repeat.sh needs a table for these engines; the one that was read has others.
                write_tables(folder / record.TABLE, built.tables)
                table = os.path.abspath(Path(output) / record.TABLE)
                used = dataclasses.replace(used, calibration_table=table)
        if compared is not None:
            compared.raise_if_failed()
        data_files = {
            "build_data": files_of(build_data),
            "calibration_data": ranges.files,
            "verify_data": files_of(verify_data),
        }
        report = dataclasses.replace(
            report_of(plan, used, ranges, built, fresh, folder, Path(output), data_files, shown),
            verification=compared,
            denylist=denied.to_json() if denied else None,
            seconds=time.monotonic() - began,
        )
        if denied is not None:
            denied.write(folder / DENYLIST)
        has_table = used.calibration_table is not None
        arguments, missing = _repeated(data, verify, has_table)
        arguments += [] if child else ["--no-child"]
        record.write_repeat_script(folder, source, arguments, missing)
        record.write_record(folder, report.to_json())
        if plan.calibrates and plan.spec.calibration_table and ranges.tables is None:
            write_tables(plan.spec.calibration_table, built.tables)
    return report


@dataclasses.dataclass(frozen=True)
class CalibrationReport:
    """The calibration tables by engine, and the file that holds them."""

    path: str
    tables: dict[str, CalibrationTable]

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "engines": {n: dict(t.scales) for n, t in self.tables.items()}}

    def __str__(self) -> str:
        counts = ", ".join(f"{name}: {len(t.scales)} tensors" for name, t in self.tables.items())
        return f"{self.path}: {counts}"


def calibrate(
    source: str | os.PathLike[str],
    table: str | os.PathLike[str],
    spec: ConversionSpec | None = None,
    *,
    calibration_data: Any,
    overwrite: bool = False,
    progress: bool | None = None,
    child: bool = True,
) -> CalibrationReport:
    """Measures the ranges of a model's tensors and writes them to `table`, for conversions with
    calibration_table=table. Arguments and errors are those of `convert`."""
    data_files = [("of calibration_data", file) for file in files_of(calibration_data)]
    check_outside(table, source, data_files)
    check_new(Path(table), overwrite)
    check_table_path(table)
    asked = dataclasses.replace(spec or ConversionSpec(), calibration_table=None)
    if (asked.precision or "INT8").upper() != "INT8":
        raise SpecError(f"precision {asked.precision!r} has nothing to calibrate: use INT8")
    # Calibrating proves nothing about kernels.
    asked = dataclasses.replace(asked, precision="INT8", require_int8=None)
    with tempfile.TemporaryDirectory(prefix=_WORK) as work:
        context = ConversionContext(Path(work), Progress(progress), child=child, shown=progress)
        plan = make_plan(source, asked, context, None, calibration_data)
        ranges = read_ranges(plan, calibration_data, context)
        tables = build(plan, plan.spec, ranges, Path(work), context, save=False).tables
        write_tables(table, tables, overwrite)
    return CalibrationReport(os.fspath(table), tables)


def _bisect(
    plan: ConversionPlan,
    ranges: Ranges,
    folder: Path,
    data: Mapping[str, Any],
    context: ConversionContext,
) -> tuple[ConversionSpec, Denylist]:
    """The spec without what makes the outputs differ."""
    trials, spec = context.work / "trials", plan.spec

    def without(ops: Iterable[str], nodes: Iterable[str]) -> ConversionSpec:
        return dataclasses.replace(
            spec,
            op_denylist=(*spec.op_denylist, *sorted(ops)),
            node_denylist=(*spec.node_denylist, *sorted(nodes)),
        )

    def passes(ops: frozenset[str], nodes: frozenset[str]) -> bool:
        target = trials / "model"
        shutil.rmtree(trials, ignore_errors=True)
        target.mkdir(parents=True)
        try:
            tried = build(plan, without(ops, nodes), ranges, target, context, allow_none=True)
            compared = compare(plan, tried, target, data, context)
            if compared.uncompared:
                compared.raise_if_failed()
            return compared.passed
        except (EngineError, VerificationError, NotInt8Error, CrashError) as error:
            # A denylist can cause these. Any other error ends the search.
            if is_full(error) or isinstance(error, VerificationDataError):
                raise
            context.progress.say(f"bisection: {error}")
            return False

    graph = load_graph(folder, plan.source.tags).graph_def
    progress = context.progress
    found = find_denylist(passes, graph, progress=lambda trial: progress.say(str(trial)))
    return without(found.op_denylist, found.node_denylist), found


def _repeated(
    all_data: Mapping[str, Any], verify: bool, has_table: bool
) -> tuple[list[str], str | None]:
    """Arguments for repeat.sh, or why the conversion cannot be repeated. A calibration table
    replaces the data that it was measured on."""
    arguments = [] if verify else ["--no-verify"]
    for name, data in all_data.items():
        if data is None:
            continue
        paths = [data] if isinstance(data, (str, os.PathLike)) else data
        if not isinstance(paths, (list, tuple)) or not all(
            isinstance(path, (str, os.PathLike)) for path in paths
        ):
            if has_table and name == "calibration_data":
                continue
            return [], f"{name} was a Python object, not a file"
        for path in paths:
            arguments += [record.DATA_OPTIONS[name], os.path.abspath(path)]
    return arguments, None


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
