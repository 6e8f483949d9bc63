"""The names of the inputs of two models that are compared: one batch is for both."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from converters.checks.runnable import FrozenGraph, Model, signature_specs
from converters.model.model_source import argument_names
from converters.util.errors import VerificationError
from converters.util.shapes import ShapeSet, input_name

Specs = Mapping[str, Any]  # by input


def with_same_names(
    native: Model, converted: Model, tags: Sequence[str] | None
) -> tuple[Model, Model, dict[str, str]]:
    """The models; a frozen graph beside its export has the names that exporting gave its inputs
    ("import_x" for "import/x"). The last are these names, by those of the graph."""
    names = _export_names(native, converted, tags)
    if names:
        return _as_arguments(native), converted, names
    names = _export_names(converted, native, tags)
    return native, _as_arguments(converted) if names else converted, names


def _export_names(graph: Model, other: Model, tags: Sequence[str] | None) -> dict[str, str]:
    """Empty where the models' names are the same, or differ otherwise."""
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
    """The shapes by the inputs' new names; those may be given already."""
    return {names.get(input_name(name), name): shape for name, shape in shapes.items()}


@contextlib.contextmanager
def told_names(
    native: Mapping[str, Specs | None], converted: Mapping[str, Specs | None]
) -> Iterator[None]:
    """What fails because the models take other inputs says so, by the first signature of which
    they do; None is not known. Not before: TensorFlow writes some names in another way when it
    saves a function again, and takes either."""
    try:
        yield
    except VerificationError as error:
        for signature, specs in native.items():
            others = converted.get(signature)
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
