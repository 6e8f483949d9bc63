"""Whether engines computed what a verification compared, or TensorFlow did on both sides.

A request with a shape that no engine serves runs in TensorFlow without an error, and then agrees
with the native model whatever the engines do. Which shapes these are is read from TensorFlow's log
in a fresh process (fresh_check): it needs no record of the conversion, and holds for each of
TF-TRT's ways to choose an engine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from converters.checks.fresh_check import ShapeRun, fresh_check
from converters.checks.runnable import FrozenGraph, Model, signature_specs
from converters.model.trt_graph import engine_nodes, load_graph
from converters.util.errors import ConverterError, CrashError, EngineError
from converters.util.shapes import Shape, format_shape_set

# Each shape is a request; data of ever new shapes is not run twice as a whole.
MOST_SHAPES = 16

# Shapes by signature, each set once.
Shapes = Mapping[str, Sequence[Mapping[str, Shape]]]


@dataclass(frozen=True)
class EngineUse:
    """`native` names the signatures of which no shape ran in an engine; `notes` the shapes that
    did not wholly, and what could not be found out."""

    native: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def engine_use(
    model: Model, shapes: Shapes, tags: Sequence[str] | None = None, served: Shapes | None = None
) -> EngineUse:
    """How the converted model runs these shapes; `served` are known to run in engines.

    CrashError and EngineError: the fresh process crashed, or does not say what ran. What keeps
    this machine from running the model at all is a note.
    """
    if isinstance(model, FrozenGraph):
        if not engine_nodes(load_graph(os.fspath(model.path)).graph_def):
            return EngineUse()
        return _unknown("a frozen graph has no signature to run them by")
    if callable(model) or not engine_nodes(load_graph(os.fspath(model), tags).graph_def):
        return EngineUse()
    notes = []
    partly = set()
    requests: list[tuple[str, Mapping[str, Shape]]] = []
    specs = signature_specs(model, tags)
    for name, sets in shapes.items():
        known = (served or {}).get(name, ())
        new = [given for given in sets if given not in known]
        if len(new) < len(sets):
            partly.add(name)
        if any(spec.dtype.kind in "OSU" for spec in specs.get(name, {}).values()):
            notes.append(f"signature {name!r} takes strings: whether its engines ran is not known")
            continue
        if len(new) > MOST_SHAPES:
            notes.append(
                f"signature {name!r}: of {len(new)} shapes, {MOST_SHAPES} were looked up in the "
                "engines"
            )
        requests += [(name, given) for given in new[:MOST_SHAPES]]
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
    """`partly` are signatures with other shapes that engines serve."""
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
