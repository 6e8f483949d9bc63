"""layers.json: what TensorRT made of each engine, which `convert` leaves beside the model.

It comes from TensorRT's build log, which TensorFlow's process writes anyway. A finished plan has
only the names of its layers. The file has these keys:

schema                1; raised when a key changes its meaning or goes
plans                 list, one for each plan of each engine: engine, precision (of the engine),
                      input_shapes, sha256 (of the plan), layers
  layers              list in TensorRT's order, see LayerReport in report_data.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from converters.model.engine_file import plan_hash
from converters.model.engine_layers import (
    Layer,
    LayerTensor,
    built_layers,
    layers_of_plan,
    nodes_of,
)
from converters.model.trt_graph import EngineNode, LoadedGraph
from converters.report.engine_reports import stored_plans
from converters.report.report_data import LayerReport, PlanLayers
from converters.util.errors import ModelError
from converters.util.record import read_json

LAYERS_FILE = "layers.json"
LAYERS_SCHEMA = 1


def layers_of_log(
    build_log: str, loaded: LoadedGraph, engines: Iterable[EngineNode]
) -> tuple[PlanLayers, ...]:
    """The layers of each plan of the engines whose build the log shows."""
    built = built_layers(build_log)
    found = []
    for engine in engines if built else ():
        for stored in stored_plans(loaded, engine):
            name, shapes = engine.canonical_name, stored.input_shapes
            layers = layers_of_plan(built, name, shapes, stored.plan)
            if layers:
                reports = tuple(_reported(layer, engine.node_ops) for layer in layers)
                digest = plan_hash(stored.plan)
                found.append(PlanLayers(name, engine.precision, shapes, digest, reports))
    return tuple(found)


def _reported(layer: Layer, node_ops: Mapping[str, str]) -> LayerReport:
    nodes = nodes_of(layer.name, node_ops)
    return LayerReport(
        name=layer.name,
        kind=layer.kind,
        precision=layer.precision,
        changes_format=layer.changes_format,
        nodes=nodes,
        ops=tuple(node_ops[node] for node in nodes),
        tactic=layer.tactic,
        inputs=layer.inputs,
        outputs=layer.outputs,
    )


def write_layers(folder: Path, plans: Iterable[PlanLayers]) -> None:
    """Writes layers.json into the folder; nothing without plans."""
    kept = [asdict(plan) for plan in plans]
    if kept:
        text = json.dumps({"schema": LAYERS_SCHEMA, "plans": kept}, indent=1) + "\n"
        (folder / LAYERS_FILE).write_text(text, encoding="utf-8")


def read_layers(model: Path) -> tuple[PlanLayers, ...]:
    """What layers.json has, in the folder that is the model, or beside a file; empty without it.

    ModelError: it is damaged, or of a later version.
    """
    path = (model if model.is_dir() else model.parent) / LAYERS_FILE
    try:
        found = read_json(path)
        if found["schema"] != LAYERS_SCHEMA:
            raise ValueError(f"its schema is {found['schema']}, not {LAYERS_SCHEMA}")
        return tuple(_plan(plan) for plan in found["plans"])
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{path} cannot be read: {type(error).__name__}: {error}. Copy it again from the "
            "folder that `trt-convert convert` wrote, or convert the model again"
        ) from error


def _plan(values: Mapping[str, Any]) -> PlanLayers:
    shapes = tuple(tuple(shape) for shape in values["input_shapes"])
    layers = tuple(_layer(layer) for layer in values["layers"])
    return PlanLayers(**{**values, "input_shapes": shapes, "layers": layers})


def _layer(values: Mapping[str, Any]) -> LayerReport:
    tensors = {
        way: tuple(LayerTensor(**tensor) for tensor in values[way]) for way in ("inputs", "outputs")
    }
    names = {key: tuple(values[key]) for key in ("nodes", "ops")}
    return LayerReport(**{**values, **tensors, **names})


def require_layers(loaded: LoadedGraph) -> tuple[PlanLayers, ...]:
    """The layers of a converted model. ModelError says how to get them if the model has none."""
    found = read_layers(loaded.path)
    if not found:
        raise ModelError(
            f"{loaded.path} has no {LAYERS_FILE}, so that the layers of its engines are not known: "
            "a plan keeps only their names. Convert the model again with `trt-convert convert` "
            "(without --no-child, in which case TensorRT's build log cannot be read), or measure "
            "its layers with `trt-convert profile`"
        )
    return found
