"""The shapes to build engines for, signature by signature."""

from __future__ import annotations

from collections.abc import Mapping

from converters.errors import SpecError
from converters.shapes import Shape, format_shape
from converters.spec import ConversionSpec
from converters.trt_graph import Signature


def declared_shapes(
    spec: ConversionSpec, signature: Signature, calibration: Mapping[str, Shape] | None = None
) -> list[dict[str, Shape]]:
    """Full shape sets for one signature, the largest first.

    Those of the spec whose names are the signature's inputs; else the shapes of the calibration
    batches; else the signature's own, when it leaves none open. None at all is fine only where
    the model may build engines when it runs.

    Raises:
      SpecError: a shape that does not fit the signature, or nothing that says which to build.
    """
    sets = spec.build_order(signature.inputs)
    for shapes in sets:
        for name, shape in shapes.items():
            _check_fits(signature, name, shape)
    if sets:
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
    if spec.allow_build_at_runtime:
        return []
    named = ",".join(f"{name}:{_open(shape)}" for name, shape in own.items())
    raise SpecError(
        f"signature {signature.name!r} has open shapes ({named}) and no declared shapes: give "
        "input_shapes (--shape input:32x224x224x3) or shape_ranges, to build engines for; or "
        "allow_build_at_runtime=True, to build at the first request" + _others(spec, signature)
    )


def check_all_used(spec: ConversionSpec, signatures: Mapping[str, Signature]) -> None:
    """SpecError for declared shapes whose names are no signature's inputs."""
    known = [set(signature.inputs) for signature in signatures.values()]
    given = [set(shapes) for shapes in spec.build_order()]
    if spec.shape_ranges is not None:
        given = [set(spec.shape_ranges)]
        known.append(set().union(*known))
    lost = [names for names in given if names not in known]
    if lost:
        has = "; ".join(f"{name}: {sorted(s.inputs)}" for name, s in signatures.items())
        raise SpecError(
            f"input_shapes: {sorted(lost[0])} are not the inputs of a signature to convert ({has})"
        )


def _check_fits(signature: Signature, name: str, shape: Shape) -> None:
    known = signature.inputs[name].shape
    if known is None:
        return
    if len(known) != len(shape) or any(k not in (None, d) for k, d in zip(known, shape)):
        raise SpecError(
            f"input_shapes: {name}:{format_shape(shape)} does not fit signature "
            f"{signature.name!r}, whose input is {_open(known)}"
        )


def _open(shape: tuple[int | None, ...] | None) -> str:
    if shape is None:
        return "unknown"
    return "x".join("?" if dim is None else str(dim) for dim in shape) or "scalar"


def _others(spec: ConversionSpec, signature: Signature) -> str:
    if not spec.build_order():
        return ""
    return f". The shapes given name other inputs than its {sorted(signature.inputs)}"
