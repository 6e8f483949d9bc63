"""Runs the two models of a verification in child processes, one after the other.

The batches go to a temporary folder; each child reads them, writes its model's outputs beside
them and ends, which frees the GPU for the next. One batch is in memory at a time, in every
process; on disk are all inputs and outputs.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from converters.checks.runnable import FrozenGraph, Model, load_signatures, run_batch
from converters.inputs.batch_file import read_batch, write_batch
from converters.inputs.calibration_data import Batch
from converters.util.child import run_in_child
from converters.util.errors import VerificationError

_CURE = (
    "separate_processes keeps all inputs and outputs there; set TMPDIR to a folder with room, or "
    "give fewer batches"
)


class Children:
    """`models` by role; close() removes the temporary folder."""

    def __init__(self, models: Mapping[str, Model], tags: Sequence[str] | None) -> None:
        self._models = {role: _described(model) for role, model in models.items()}
        self._tags = None if tags is None else list(tags)
        self._folder = Path(tempfile.mkdtemp(prefix="verify-"))

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def outputs(
        self, sources: Mapping[str, Iterator[Batch]]
    ) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """The signature's name and the outputs of both models for every batch of `sources`."""
        counts = dict.fromkeys(sources, 0)
        for number, (signature, source) in enumerate(sources.items()):
            for batch in source:
                write_batch(self._file("input", number, counts[signature]), batch, _CURE)
                counts[signature] += 1
        for role, model in self._models.items():
            run_in_child(
                "converters.checks.model_pair:run_model",
                {
                    "model": model,
                    "tags": self._tags,
                    "role": role,
                    "counts": counts,
                    "folder": str(self._folder),
                },
            )
        for number, (signature, count) in enumerate(counts.items()):
            for index in range(count):
                files = [self._file(role, number, index) for role in self._models]
                left, right = (read_batch(file) for file in files)
                for file in (*files, self._file("input", number, index)):
                    file.unlink()
                yield signature, left, right

    def _file(self, role: str, signature: int, index: int) -> Path:
        return _batch_file(self._folder, role, signature, index)


def run_model(
    model: dict[str, Any],
    tags: list[str] | None,
    role: str,
    counts: dict[str, int],
    folder: str,
) -> None:
    """The child's side: reads each signature's batches and writes the model's outputs."""
    loaded = load_signatures(FrozenGraph(**model) if "outputs" in model else model["path"], tags)
    for number, (signature, count) in enumerate(counts.items()):
        for index in range(count):
            batch = read_batch(_batch_file(Path(folder), "input", number, index))
            outputs = run_batch(loaded[signature], batch, role, index)
            write_batch(_batch_file(Path(folder), role, number, index), outputs, _CURE)


def _batch_file(folder: Path, role: str, signature: int, index: int) -> Path:
    return folder / f"{role}-{signature}-{index}"


def _described(model: Model) -> dict[str, Any]:
    if isinstance(model, FrozenGraph):
        inputs = None if model.inputs is None else list(model.inputs)
        path = os.path.abspath(os.fspath(model.path))
        outputs = None if model.outputs is None else list(model.outputs)
        keys = model.as_arguments
        return {"path": path, "outputs": outputs, "inputs": inputs, "as_arguments": keys}
    if callable(model):
        raise VerificationError(
            f"the function {model!r} cannot run in another process; give a SavedModel or a "
            "FrozenGraph, or leave separate_processes out"
        )
    return {"path": os.path.abspath(os.fspath(model))}
