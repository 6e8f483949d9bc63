"""Runs a converted model in a fresh process and finds out whether its saved engines serve it.

`fresh_check` runs given shapes: no engine may be built there, and no segment may run in TensorFlow
instead of TensorRT. TRTEngineOp logs each of these events, so nothing is guessed from times.

`engine_use` asks the same about the shapes that a verification compared. A request with a shape
that no engine serves runs in TensorFlow without an error. Its outputs agree with the native model's
whatever the engines do, so such a comparison proves nothing.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from converters.checks.runnable import FrozenGraph, Model, signature_specs
from converters.model.trt_graph import engine_nodes, load_graph
from converters.util.child import environment_variables, run_in_child
from converters.util.errors import ConverterError, CrashError, EngineError
from converters.util.shapes import Shape, format_shape_set

_MARK = "trt-convert:"
_EVENTS = (
    ("built", re.compile(r"Building a new TensorRT engine for (\S+)")),
    ("native", re.compile(r"Executing native segment: (\S+)")),
    ("engine", re.compile(r"Executing TRT engine: (\S+)")),
)
# With these environment variables TensorFlow logs what its engines do.
LOG_ENGINES = {
    "TF_CPP_MIN_LOG_LEVEL": "0",
    "TF_CPP_VMODULE": "trt_engine_op=1,trt_engine_resource_ops=1",
    # The process that converted may still hold memory of the GPU.
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
}


class Request(NamedTuple):
    """What to run; `file` holds a batch of these shapes, None takes random values."""

    signature: str
    shapes: Mapping[str, Shape]
    file: str | None = None


@dataclass(frozen=True)
class ShapeRun:
    """The first request with these shapes. The engines are named by their canonical names."""

    signature: str
    shapes: Mapping[str, Shape]
    seconds: float
    engines: tuple[str, ...]  # that ran
    built: tuple[str, ...]
    native: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.built and not self.native


@dataclass(frozen=True)
class FreshReport:
    """`load_seconds` is tf.saved_model.load, `import_seconds` importing TensorFlow before it."""

    import_seconds: float
    load_seconds: float
    runs: tuple[ShapeRun, ...]

    @property
    def passed(self) -> bool:
        return all(run.ok for run in self.runs)

    def raise_if_failed(self) -> None:
        """EngineError with every shape that built an engine or ran in TensorFlow."""
        lines = []
        for run in self.runs:
            where = f"signature {run.signature!r}, {format_shape_set(run.shapes)}"
            if run.built:
                lines.append(f"{where}: built {', '.join(run.built)} in {run.seconds:.1f} s")
            if run.native:
                lines.append(f"{where}: {', '.join(run.native)} ran in TensorFlow")
        if lines:
            raise EngineError(
                "in a fresh process the converted model does not run by its saved engines alone:"
                "\n  " + "\n  ".join(lines) + "\nDeclare these shapes (input_shapes, "
                "shape_ranges), or keep the op that TensorRT cannot build out of it (op_denylist)"
            )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def fresh_check(folder: Path, requests: Sequence[Request], tags: Sequence[str] = ()) -> FreshReport:
    """Runs the requests one after the other in a new process.

    Raises:
      ConverterError: the process crashed, or the model cannot be loaded or run.
    """
    with tempfile.TemporaryDirectory(prefix="trt-convert-") as work:
        log = Path(work) / "log"
        with environment_variables(LOG_ENGINES):
            times = run_in_child(
                run_requests,
                {
                    "folder": str(folder),
                    "requests": [[name, dict(shapes), file] for name, shapes, file in requests],
                    "tags": list(tags),
                },
                log,
            )
        parts = events(log.read_text(errors="replace"))
    if len(parts) != len(requests):
        raise EngineError(
            f"the fresh process ran {len(requests)} shapes, and its log shows {len(parts)}: what "
            "ran there is not known"
        )
    runs = [
        ShapeRun(
            name, dict(shapes), seconds, *(part[kind] for kind in ("engine", "built", "native"))
        )
        for (name, shapes, _), seconds, part in zip(requests, times["runs"], parts)
    ]
    return FreshReport(times["import"], times["load"], tuple(runs))


def events(log: str) -> list[dict[str, tuple[str, ...]]]:
    """For each request in the log: the engines that ran, were built, and ran natively."""
    found: list[dict[str, dict[str, None]]] = []
    for line in log.splitlines():
        if line.startswith(_MARK):
            found.append({kind: {} for kind, _ in _EVENTS})
        elif found:
            for kind, pattern in _EVENTS:
                if match := pattern.search(line):
                    found[-1][kind][match[1].split("/")[-1]] = None
    return [{kind: tuple(names) for kind, names in part.items()} for part in found]


def run_requests(folder: str, requests: list[list[Any]], tags: list[str]) -> dict[str, Any]:
    """The job of the fresh process; marks each request on stderr, where TensorFlow logs."""
    began = time.monotonic()
    import tensorflow as tf

    from converters.checks.runnable import load_signatures, signature_specs
    from converters.inputs.batch_files import read_batch
    from converters.inputs.random_inputs import random_batches

    imported = time.monotonic()
    tf.config.set_soft_device_placement(True)
    models = load_signatures(folder, tags or None)
    loaded = time.monotonic()
    specs = signature_specs(folder, tags or None)
    seconds = []
    for name, shapes, file in requests:
        given = {key: tuple(shape) for key, shape in shapes.items()}
        if file is None:
            batch = next(random_batches(specs[name], 1, given, error=EngineError))
        else:
            batch = read_batch(Path(file))
        print(_MARK, name, file=sys.stderr, flush=True)
        start = time.monotonic()
        models[name](batch)
        seconds.append(time.monotonic() - start)
    return {"import": imported - began, "load": loaded - imported, "runs": seconds}


# Each shape is one request. Data with ever new shapes is not run a second time as a whole.
MOST_SHAPES = 16

# Shapes by signature, each set once.
Shapes = Mapping[str, Sequence[Mapping[str, Shape]]]


@dataclass(frozen=True)
class EngineUse:
    """`native` has a sentence for each signature of which no shape ran in an engine. `notes` are
    about shapes that ran partly in TensorFlow, and about what could not be found out."""

    native: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def engine_use(
    model: Model, shapes: Shapes, tags: Sequence[str] | None = None, served: Shapes | None = None
) -> EngineUse:
    """How the converted model runs these shapes; `served` are shapes known to run in engines.

    CrashError, EngineError: the fresh process crashed, or its log does not tell what ran. If this
    machine cannot run the model at all, that is only a note.
    """
    if isinstance(model, FrozenGraph):
        if not engine_nodes(load_graph(os.fspath(model.path)).graph_def):
            return EngineUse()
        return _unknown("a frozen graph has no signature to run them by")
    if callable(model) or not engine_nodes(load_graph(os.fspath(model), tags).graph_def):
        return EngineUse()
    notes = []
    partly = set()
    requests: list[Request] = []
    specs = signature_specs(model, tags)
    for name, sets in shapes.items():
        known = (served or {}).get(name, ())
        new = [given for given in sets if given not in known]
        if len(new) < len(sets):
            partly.add(name)
        if new and any(spec.is_string for spec in specs.get(name, {}).values()):
            notes.append(f"signature {name!r} takes strings: whether its engines ran is not known")
            continue
        if len(new) > MOST_SHAPES:
            notes.append(
                f"signature {name!r}: of {len(new)} shapes, {MOST_SHAPES} were looked up in the "
                "engines"
            )
        requests += [Request(name, given) for given in new[:MOST_SHAPES]]
    if not requests:
        return EngineUse(notes=tuple(notes))
    try:
        report = fresh_check(Path(model), requests, tags or ())
    except (CrashError, EngineError):
        raise
    except ConverterError as error:
        return _unknown(str(error).splitlines()[0], notes)
    return _judged(report.runs, partly, notes)


def _judged(runs: Sequence[ShapeRun], partly: Set[str], notes: list[str]) -> EngineUse:
    """Judges the runs. `partly` are signatures that have other shapes which engines serve."""
    native = []
    for name in dict.fromkeys(run.signature for run in runs):
        own = [run for run in runs if run.signature == name]
        outside = [run for run in own if run.native]
        shown = "; ".join(format_shape_set(run.shapes) for run in outside)
        built = [format_shape_set(run.shapes) for run in own if run.built]
        if built:
            notes.append(f"signature {name!r}: engines were built for {'; '.join(built)}")
        if len(outside) == len(own) and not any(run.engines for run in own) and name not in partly:
            native.append(
                f"signature {name!r}: no engine serves {shown}, so that TensorFlow ran on both "
                "sides and nothing was compared"
            )
        elif outside:
            notes.append(f"signature {name!r}: TensorFlow ran instead of engines for {shown}")
    return EngineUse(tuple(native), tuple(notes))


def _unknown(why: str, notes: Sequence[str] = ()) -> EngineUse:
    text = f"whether engines serve the shapes compared was not checked: {why}"
    return EngineUse(notes=(*notes, text))
