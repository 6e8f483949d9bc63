"""What is measured: one signature of a model, or a plan."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

import numpy as np

from converters.checks.runnable import signature_specs
from converters.checks.verify import export
from converters.inputs.calibration_data import InputSpec
from converters.model.engine_file import MAGIC
from converters.model.model_source import DEFAULT_SIGNATURE, kind_of
from converters.model.trt_graph import engine_nodes, load_graph
from converters.plans.extract_plan import PLANS_FILE
from converters.plans.plan_runner import PlanRunner
from converters.util.child import run_in_child
from converters.util.errors import MeasureError, ModelError

PathLike = Union[str, "os.PathLike[str]"]
_PLAN_SUFFIXES = (".plan", ".engine", ".trt")


@dataclass(frozen=True)
class Subject:
    """`given` is the user's path; `path` the SavedModel that is loaded, or the plan. `specs` are
    the inputs by name. `names` maps a plan's bindings to the names of its signature."""

    given: str
    kind: str  # "model" or "plan"
    path: str
    signature: str
    specs: Mapping[str, InputSpec]
    tags: tuple[str, ...] | None = None
    has_engines: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    def job(self) -> dict[str, Any]:
        """What the child needs to load it, as JSON."""
        if self.kind == "plan":
            return {"kind": "plan", "path": self.path, "names": dict(self.names)}
        tags = None if self.tags is None else list(self.tags)
        return {"kind": "model", "path": self.path, "tags": tags, "signature": self.signature}


def open_subject(
    path: PathLike,
    work: Path,
    signature: str | None = None,
    tags: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
) -> Subject:
    """The model or plan at `path`. What is no SavedModel is exported as one into `work`.

    Raises:
      ModelError: the model is missing or damaged, or has no such signature.
      PlanError: TensorRT cannot load the plan.
      UnavailableError: the plan needs TensorRT's Python package and a GPU, and one is missing.
    """
    if is_plan(path):
        return _plan(Path(path), signature)
    folder = os.path.abspath(path)
    if kind_of(path) != "saved_model":
        work.mkdir()
        chosen = None if outputs is None else list(outputs)
        folder = run_in_child(export, {"path": folder, "work": str(work), "outputs": chosen})
    elif not os.path.isdir(folder):
        folder = os.path.dirname(folder)  # the user named saved_model.pb
    specs = signature_specs(folder, tags)
    name = _signature(path, signature, specs)
    engines = engine_nodes(load_graph(folder, tags).graph_def)
    own_tags = None if tags is None else tuple(tags)
    return Subject(str(path), "model", folder, name, specs[name], own_tags, bool(engines))


def check_same_inputs(model: Subject, original: Subject) -> None:
    """MeasureError if the two cannot get the same batches."""
    if set(model.specs) != set(original.specs):
        raise MeasureError(
            f"{model.given} takes {', '.join(model.specs)}, and {original.given} takes "
            f"{', '.join(original.specs)}: they get the same batches, so their inputs need the "
            "same names. Name another signature (signature=, --signature), or keep plans.json "
            "beside a plan, which has the signature's names"
        )


def is_plan(path: PathLike) -> bool:
    """Whether the file is a TensorRT plan, by its name or its first bytes."""
    path = Path(path)
    if path.is_dir():
        return False
    if path.suffix in _PLAN_SUFFIXES:
        return True
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _signature(path: PathLike, wanted: str | None, specs: Mapping[str, Any]) -> str:
    there = ", ".join(specs)
    if wanted is not None:
        if wanted not in specs:
            raise ModelError(f"{path} has no signature {wanted!r}; it has: {there}")
        return wanted
    if DEFAULT_SIGNATURE in specs or len(specs) == 1:
        return DEFAULT_SIGNATURE if DEFAULT_SIGNATURE in specs else next(iter(specs))
    raise ModelError(
        f"{path} has several signatures: say which to measure (signature=, --signature): {there}"
    )


def _plan(path: Path, signature: str | None) -> Subject:
    names, signatures = _recorded(path)
    if signature is not None and signature not in signatures:
        raise MeasureError(
            f"{path}: the signature {signature!r} was asked for, and {PLANS_FILE} beside the plan "
            f"names {', '.join(signatures) or 'none'}. A plan needs no signature: leave it out"
        )
    found = run_in_child(plan_inputs, {"plan": os.path.abspath(path), "names": names})
    specs = {
        name: InputSpec(tuple(shape), np.dtype(dtype)) for name, (dtype, shape) in found.items()
    }
    chosen = signature or (signatures[0] if len(signatures) == 1 else "")
    return Subject(str(path), "plan", os.path.abspath(path), chosen, specs, names=names)


def _recorded(plan: Path) -> tuple[dict[str, str], list[str]]:
    """The signature's names by binding, and the plan's signatures, where `extract-plan` left
    them. A tensor that is not the signature's, or has several names, keeps the plan's name."""
    try:
        record = json.loads((plan.parent / PLANS_FILE).read_text(encoding="utf-8"))
        (own,) = (found for found in record["plans"] if found["file"] == plan.name)
        names = {
            binding["name"]: binding["signature_names"][0]
            for binding in own["bindings"]
            if binding["signature_names"]
        }
        unique = len(set(names.values())) == len(names)
        return names if unique else {}, list(own["signatures"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}, []


def plan_inputs(plan: str, names: dict[str, str]) -> dict[str, list[Any]]:
    """Job of a child: [dtype, shape] of each input; a dimension that may differ is None."""
    with PlanRunner(plan, names=names) as runner:
        profiles = runner.profiles()
        return {
            name: [runner.dtype(name).name, _open_shape(runner, name, profiles)]
            for name in runner.inputs
        }


def _open_shape(runner: PlanRunner, name: str, profiles: Sequence[Mapping[str, Any]]) -> list[Any]:
    if not profiles:
        return [None, *runner.shape(name)]
    taken = [shape for profile in profiles for shape in (profile[name][0], profile[name][2])]
    return [dims[0] if len(set(dims)) == 1 else None for dims in zip(*taken)]
