"""What of a spec fits this model: the shapes to build engines for, signature by signature, and the
nodes to keep out of TensorRT."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from converters.model.trt_graph import Signature
from converters.spec.conversion_spec import ConversionSpec
from converters.util.errors import SpecError
from converters.util.shapes import Shape, ShapeSet, batch_of, format_shape

# TensorFlow's types of which numpy has no random values.
_NO_NUMBERS = ("string", "resource", "variant")


def declared_shapes(
    spec: ConversionSpec, signature: Signature, calibration: Mapping[str, Shape] | None = None
) -> list[dict[str, Shape]]:
    """Full shape sets for one signature, the largest first.

    They are the spec's shapes that have the signature's inputs and fit them; else the shapes of the
    calibration batches; else the signature's own, if it leaves no dimension open. The list may be
    empty only if the model may build engines at runtime.

    Raises:
      SpecError: nothing says which to build.
    """
    found = _sets(spec, signature, calibration)
    if found is None:
        raise SpecError(_undeclared(spec, signature))
    return found


def cannot_convert(
    spec: ConversionSpec, signature: Signature, *, calibrated: bool, has_values: bool = False
) -> str | None:
    """Why the signature must stay native, with the cure; None if it can be converted.

    `calibrated`: the signature has calibration batches, which also give it shapes. `has_values`: it
    has batches to build with.
    """
    if has_values:
        return None
    odd = [name for name, info in signature.inputs.items() if info.dtype in _NO_NUMBERS]
    if odd:
        dtype = signature.inputs[odd[0]].dtype
        return (
            f"signature {signature.name!r} has the input {odd[0]!r} of type {dtype}. Such "
            "values cannot be generated to build and check engines: pass some as build_data "
            "(--build-data clip.mp4), or convert other signatures (--signature)"
        )
    if calibrated or _sets(spec, signature, None) is not None:
        return None
    return _undeclared(spec, signature)


def with_largest_batch(
    spec: ConversionSpec,
    asked: int | None,
    signatures: Iterable[Signature],
    building: Mapping[str, Sequence[ShapeSet]],
) -> ConversionSpec:
    """The spec with a max_batch_size that suits graphs and data, in static mode: at least the batch
    that all inputs of a signature fix, and the largest one to build with. `building` are the shapes
    of the data to build with, by signature. SpecError if `asked`, the user's, is less."""
    if spec.mode != "static":
        return spec
    largest = spec.max_batch_size or 1
    for signature in signatures:
        batches = [info.shape[0] if info.shape else None for info in signature.inputs.values()]
        fixed = [batch for batch in batches if batch is not None]
        needed = {"in its graph": max(fixed) if fixed and len(fixed) == len(batches) else 1}
        needed["in build_data"] = max(map(batch_of, building.get(signature.name, ())), default=1)
        for where, batch in needed.items():
            if asked is not None and asked < batch:
                raise SpecError(
                    f"max_batch_size={asked}: signature {signature.name!r} has the batch {batch} "
                    f"{where}, which would run in TensorFlow; leave max_batch_size out, or give "
                    f"{batch} and more"
                )
            largest = max(largest, batch)
    return dataclasses.replace(spec, max_batch_size=largest)


def with_room_for_data(
    spec: ConversionSpec, asked: int | None, building: Mapping[str, Sequence[ShapeSet]]
) -> ConversionSpec:
    """The spec with a place in the engines' cache for each shape of the data to build with, which
    nobody declared. `building` are these shapes by signature. SpecError if `asked`, the user's
    maximum_cached_engines, is less."""
    if spec.explicit_batch or spec.mode == "static":
        return spec  # one engine serves all shapes
    needed = max(map(len, building.values()), default=0)
    if asked is not None and asked < needed:
        raise SpecError(
            f"maximum_cached_engines={asked}: build_data has {needed} shapes, which may need an "
            "engine each, and a full cache throws engines away; leave maximum_cached_engines out, "
            f"or give {needed} and more"
        )
    declared = max(len(spec.input_shapes or ()), 1)
    if asked is not None or needed <= declared:
        return spec
    room = (spec.maximum_cached_engines or 0) + needed - declared
    return dataclasses.replace(spec, maximum_cached_engines=room)


def _sets(
    spec: ConversionSpec, signature: Signature, calibration: Mapping[str, Shape] | None
) -> list[dict[str, Shape]] | None:
    """Like declared_shapes, but None if nothing says which shapes to build."""
    if sets := fitting_shapes(spec, signature):
        return sets
    if calibration is not None:
        return [dict(calibration)]
    own = {name: info.shape for name, info in signature.inputs.items()}
    if all(shape is not None and None not in shape for shape in own.values()):
        return [
            {name: tuple(d for d in shape or () if d is not None) for name, shape in own.items()}
        ]
    if spec.mode == "static" and all(s is not None and None not in s[1:] for s in own.values()):
        batch = spec.max_batch_size or 1
        return [
            {name: (batch, *(d or 1 for d in (shape or ())[1:])) for name, shape in own.items()}
        ]
    return [] if spec.allow_build_at_runtime else None


def fitting_shapes(spec: ConversionSpec, signature: Signature) -> list[dict[str, Shape]]:
    """The spec's sets that fit the signature. Other sets may be for another signature whose inputs
    have the same names. Ranges fit as a whole or not at all."""
    sets = spec.build_order(signature.inputs)
    found = [shapes for shapes in sets if _misfit(signature, shapes) is None]
    return found if spec.shape_ranges is None or len(found) == len(sets) else []


def _undeclared(spec: ConversionSpec, signature: Signature) -> str:
    own = {name: info.shape for name, info in signature.inputs.items()}
    named = ",".join(f"{name}:{_open(shape)}" for name, shape in own.items())
    mode = "mode='dynamic' with " if spec.mode == "static" else ""
    return (
        f"signature {signature.name!r} has open shapes ({named}) and no declared shapes: give "
        f"input_shapes (--shape input:32x224x224x3), or {mode}shape_ranges, to build engines for; "
        f"or {mode}allow_build_at_runtime=True, to build at the first request"
        + _others(spec, signature)
    )


def check_all_used(spec: ConversionSpec, signatures: Mapping[str, Signature]) -> None:
    """SpecError for declared shapes that no signature can use. A set of shapes must name exactly
    the inputs of a signature and fit them. Ranges must name all inputs of one or more signatures.
    """
    known = [set(signature.inputs) for signature in signatures.values()]
    given = [set(shapes) for shapes in spec.build_order()]
    if spec.shape_ranges is not None:
        given = [set(spec.shape_ranges)]
        known.append(set().union(*(names for names in known if names <= given[0])))
    lost = [names for names in given if names not in known]
    if lost:
        has = "; ".join(f"{name}: {sorted(s.inputs)}" for name, s in signatures.items())
        raise SpecError(
            f"{'input_shapes' if spec.shape_ranges is None else 'shape_ranges'}: "
            f"{sorted(lost[0])} are not the inputs of a signature to convert ({has})"
        )
    for shapes in spec.build_order():
        names = set(shapes)
        if spec.shape_ranges is None:
            named = [s for s in signatures.values() if set(s.inputs) == names]
            fitting = [s for s in named if _misfit(s, shapes) is None]
        else:
            named = [s for s in signatures.values() if set(s.inputs) <= names]
            fitting = [s for s in named if fitting_shapes(spec, s)]
        if names - set().union(*(s.inputs for s in fitting)):
            misfits = [misfit for s in named if (misfit := _misfit(s, shapes)) is not None]
            if misfits:
                raise SpecError("; ".join(misfits))


def _misfit(signature: Signature, shapes: Mapping[str, Shape]) -> str | None:
    """The first of the signature's inputs that `shapes` do not fit."""
    for name, info in signature.inputs.items():
        known, shape = info.shape, shapes[name]
        if known is None:
            continue
        if len(known) != len(shape) or any(k not in (None, d) for k, d in zip(known, shape)):
            return (
                f"input_shapes: {name}:{format_shape(shape)} does not fit signature "
                f"{signature.name!r}, whose input is {_open(known)}"
            )
    return None


def _open(shape: tuple[int | None, ...] | None) -> str:
    if shape is None:
        return "unknown"
    return "x".join("?" if dim is None else str(dim) for dim in shape) or "scalar"


def _others(spec: ConversionSpec, signature: Signature) -> str:
    if not spec.build_order():
        return ""
    if spec.build_order(signature.inputs):
        return ". Those given do not fit it"
    return f". The shapes given name other inputs than its {sorted(signature.inputs)}"


def nodes_to_keep_out(graph_def: Any, spec: ConversionSpec) -> list[str]:
    """Names of the nodes of `graph_def` that op_denylist and node_denylist name."""
    ops, names = set(spec.op_denylist), set(spec.node_denylist)
    return [node.name for node in graph_def.node if node.op in ops or node.name in names]


def check_denied_ops(spec: ConversionSpec, graph_def: Any) -> None:
    """SpecError for a type in op_denylist that neither the graph nor TensorFlow knows: it would
    keep nothing out."""
    if not spec.op_denylist:
        return
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    bodies = [graph_def.node, *(function.node_def for function in graph_def.library.function)]
    there = {node.op for nodes in bodies for node in nodes}
    for name in spec.op_denylist:
        if name in there or op_def_registry.get(name) is not None:
            continue
        near = difflib.get_close_matches(name, sorted({*there, *dir(tf.raw_ops)}), n=1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise SpecError(
            f"op_denylist: neither the model nor TensorFlow has an op type {name!r}{hint}. "
            "`trt-convert inspect` lists the model's"
        )


def check_denied_nodes(spec: ConversionSpec, node_names: Collection[str]) -> None:
    """SpecError for a node in node_denylist that no signature's frozen graph has; it suggests
    similar names. `node_names` are the nodes of all frozen graphs."""
    for name in spec.node_denylist:
        if name in node_names:
            continue
        near = difflib.get_close_matches(name, node_names, n=3, cutoff=0.4)
        hint = f"; near it are {', '.join(map(repr, near))}" if near else ""
        raise SpecError(
            f"node_denylist: the frozen graph has no node {name!r}{hint}. `trt-convert inspect` "
            "lists the nodes"
        )
