"""Two models that are to be compared: each batch of inputs goes through both.

`InOneProcess` holds both models at once. `InChildren` runs them in child processes, one after the
other, so that the GPU holds one model at a time: the batches go to a temporary folder, each child
reads them, writes its model's outputs beside them, and ends. Every process holds one batch at a
time; all inputs and outputs are on disk.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from converters.checks.runnable import (
    FrozenGraph,
    Model,
    load_signatures,
    run_batch,
    signature_specs,
)
from converters.inputs.batch_files import read_batch, write_batch
from converters.inputs.calibration_data import Batch, InputSpec
from converters.model.model_source import argument_names
from converters.util.child import run_in_child
from converters.util.errors import ModelError, VerificationError
from converters.util.shapes import ShapeSet, input_name

Outputs = Mapping[str, Any]
Sources = Mapping[str, Iterator[Batch]]  # by signature
# A signature's inputs by name; None where a function does not tell them.
Specs = Optional[Mapping[str, InputSpec]]

_CURE = (
    "separate_processes keeps all inputs and outputs there; set TMPDIR to a folder with room, or "
    "give fewer batches"
)


class ModelPair(contextlib.AbstractContextManager["ModelPair"]):
    """The signatures of both models; the subclasses run them."""

    native_specs: Mapping[str, Specs]
    converted_specs: Mapping[str, Specs]

    def __exit__(self, *exc: object) -> None:
        pass

    def signatures(self, wanted: Sequence[str] | None) -> list[str]:
        """The native model's signatures, or those wanted; ModelError where it lacks one."""
        there = ", ".join(self.native_specs)
        for name in wanted or ():
            if name not in self.native_specs:
                raise ModelError(f"the native model has no signature {name!r}; it has: {there}")
        return list(dict.fromkeys(wanted)) if wanted else list(self.native_specs)

    def specs(self, name: str) -> dict[str, InputSpec] | None:
        """The inputs of a signature of the native model, which may be a function that does not tell
        them; None if the converted model does not tell them either."""
        found = self.native_specs[name] or self.converted_specs.get(name)
        return None if found is None else dict(found)

    def inputs(self) -> dict[str, dict[str, InputSpec]]:
        """The inputs of each signature of the native model, where they are known."""
        found = {name: self.specs(name) for name in self.native_specs}
        return {name: specs for name, specs in found.items() if specs}

    def outputs(self, sources: Sources) -> Iterator[tuple[str, Outputs, Outputs]]:
        """The signature's name and both models' outputs, batch by batch."""
        raise NotImplementedError


class InOneProcess(ModelPair):
    def __init__(self, native: Model, converted: Model, tags: Sequence[str] | None) -> None:
        self.native = load_signatures(native, tags)
        self.converted = load_signatures(converted, tags)
        # A function has no signature name. It takes the name of the other model's only signature.
        if callable(native) and len(self.converted) == 1:
            self.native = dict.fromkeys(self.converted, *self.native.values())
        elif callable(converted) and len(self.native) == 1:
            self.converted = dict.fromkeys(self.native, *self.converted.values())
        self.native_specs = {name: model.specs for name, model in self.native.items()}
        self.converted_specs = {name: model.specs for name, model in self.converted.items()}

    def outputs(self, sources: Sources) -> Iterator[tuple[str, Outputs, Outputs]]:
        for name, source in sources.items():
            for index, batch in enumerate(source):
                left = run_batch(self.native[name], batch, "native", index)
                yield name, left, run_batch(self.converted[name], batch, "converted", index)


class InChildren(ModelPair):
    """Leaving its `with` block removes the temporary folder."""

    def __init__(self, native: Model, converted: Model, tags: Sequence[str] | None) -> None:
        self.native_specs = dict(signature_specs(native, tags))
        self.converted_specs = dict(signature_specs(converted, tags))
        models = {"native": native, "converted": converted}
        self._models = {role: described(model) for role, model in models.items()}
        self._tags = None if tags is None else list(tags)
        self._folder = Path(tempfile.mkdtemp(prefix="verify-"))

    def __exit__(self, *exc: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def outputs(self, sources: Sources) -> Iterator[tuple[str, Outputs, Outputs]]:
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
    loaded = load_signatures(model_of(model), tags)
    for number, (signature, count) in enumerate(counts.items()):
        for index in range(count):
            batch = read_batch(_batch_file(Path(folder), "input", number, index))
            outputs = run_batch(loaded[signature], batch, role, index)
            write_batch(_batch_file(Path(folder), role, number, index), outputs, _CURE)


def _batch_file(folder: Path, role: str, signature: int, index: int) -> Path:
    return folder / f"{role}-{signature}-{index}"


def model_of(described: Mapping[str, Any]) -> Model:
    """The model that `described` has made JSON of, in a child process."""
    return FrozenGraph(**described) if "outputs" in described else described["path"]


def described(model: Model) -> dict[str, Any]:
    """The model as JSON, for the job of a child process."""
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


def with_same_names(
    native: Model, converted: Model, tags: Sequence[str] | None
) -> tuple[Model, Model, dict[str, str]]:
    """Both models with the same input names, so that one batch fits both.

    Exporting a frozen graph renames inputs ("import/x" becomes "import_x"). Where one model is a
    frozen graph and the other its export, the graph gets the export's names. The last result is
    these names, by those of the graph.
    """
    names = _export_names(native, converted, tags)
    if names:
        return _as_arguments(native), converted, names
    names = _export_names(converted, native, tags)
    return native, _as_arguments(converted) if names else converted, names


def _export_names(graph: Model, other: Model, tags: Sequence[str] | None) -> dict[str, str]:
    """Empty unless `graph` is a frozen graph and `other` has the names of its export."""
    if not isinstance(graph, FrozenGraph) or isinstance(other, FrozenGraph) or callable(other):
        return {}
    (own,) = signature_specs(graph).values()
    names = argument_names(own)
    export = set(names.values())
    others = signature_specs(other, tags).values()
    return names if set(own) != export and export in map(set, others) else {}


def _as_arguments(model: Model) -> Model:
    assert isinstance(model, FrozenGraph)
    return dataclasses.replace(model, as_arguments=True)


def renamed(shapes: ShapeSet, names: Mapping[str, str]) -> ShapeSet:
    """The shapes by the inputs' new names; `shapes` may have the new names already."""
    return {names.get(input_name(name), name): shape for name, shape in shapes.items()}


@contextlib.contextmanager
def naming_other_inputs(pair: ModelPair) -> Iterator[None]:
    """If the block fails and the two models take different inputs, the error says so.

    Different names alone are no error: TensorFlow writes some names in another way when it saves a
    function again, and takes either.
    """
    try:
        yield
    except VerificationError as error:
        for signature, specs in pair.native_specs.items():
            others = pair.converted_specs.get(signature)
            if specs is None or others is None or _written(specs) == _written(others):
                continue
            raise VerificationError(
                f"signature {signature!r}: the native model takes {', '.join(specs) or 'nothing'}, "
                f"the converted one {', '.join(others) or 'nothing'}: they are not the same model, "
                f"or another signature is meant (--signature). {error}"
            ) from error
        raise


def _written(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in argument_names(names).values()}
