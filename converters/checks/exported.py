"""A model that TensorFlow does not load as it is, exported for as long as it is compared."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from converters.checks.runnable import FrozenGraph, Model
from converters.model.model_source import kind_by_name, open_source
from converters.util.child import run_in_child


@contextlib.contextmanager
def exported(model: Model, outputs: Sequence[str] | None, child: bool) -> Iterator[Model]:
    """The model, or where it is a Keras file or a MetaGraph, a SavedModel of it as `convert` makes.

    `child` exports in a child process, which leaves no memory of the GPU taken.
    """
    if isinstance(model, FrozenGraph) or callable(model):
        yield model
        return
    kind = kind_by_name(Path(model))
    if kind not in ("meta_graph", "keras"):
        yield model
        return
    with tempfile.TemporaryDirectory(prefix="trt-convert-") as work:
        chosen = None if outputs is None or kind != "meta_graph" else list(outputs)
        arguments: dict[str, Any] = {"path": os.path.abspath(model), "work": work}
        arguments["outputs"] = chosen
        yield run_in_child(export, arguments) if child else export(**arguments)


def export(path: str, work: str, outputs: list[str] | None) -> str:
    """Exports into `work`; the SavedModel's folder. May be the job of a child."""
    return str(open_source(path, Path(work), outputs=outputs).saved_model)
