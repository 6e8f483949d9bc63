"""Whether the GPUs here are of the kind that built a converted model's engines.

TensorRT makes a plan for one compute capability. TensorFlow finds that out while it loads the model
or at a request, in a log line or by ending the process; the conversion's record tells before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from converters.environment.facts import cuda
from converters.model.trt_graph import LoadedGraph, engine_nodes
from converters.util.errors import PlanError
from converters.util.record import RECORD, read_record


def require_same_gpu(model: LoadedGraph) -> None:
    """PlanError where the record names other compute capabilities than the GPUs here have. Nothing
    where there is no record, no saved plan or no GPU: that is for others to say."""
    built = recorded_gpus(model)
    here = cuda().get("gpus") or []
    if not built or not here or not _has_plans(model):
        return
    if {gpu["compute_capability"] for gpu in built} & {gpu["compute_capability"] for gpu in here}:
        return
    raise PlanError(
        f"{model.path} has engines for {_text(built)}, as its {RECORD} says, and here is "
        f"{_text(here)}, which cannot run them: convert the model again on this kind of GPU"
    )


def recorded_gpus(model: LoadedGraph) -> list[Mapping[str, Any]]:
    """The GPUs of the machine that converted it; none where no readable record tells."""
    if model.kind != "saved_model":
        return []
    try:
        environment = read_record(model.path)["environment"]
        return [dict(gpu) for gpu in environment["gpus"] if "compute_capability" in gpu]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _has_plans(model: LoadedGraph) -> bool:
    return any(engine.plan or model.engine_file(engine) for engine in engine_nodes(model.graph_def))


def _text(gpus: list[Mapping[str, Any]]) -> str:
    """Each kind once: the GPUs of one machine are alike."""
    kinds = {f"{gpu['name']} (compute capability {gpu['compute_capability']})" for gpu in gpus}
    return ", ".join(sorted(kinds))
