"""Random inputs for a signature, the same for the same seed.

Floats are uniform in [-1, 1), which half precision can hold. Booleans are fair. uint8 covers 0 to
255, because it usually holds images. Other integers are uniform in `int_range`, which must suit the
model: ids, for example, must be below the size of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.inputs.calibration_data import Batch, InputSpec
from converters.util.errors import ConverterError, VerificationError
from converters.util.shapes import Shape, ShapeSet, format_shape, input_name

INT_RANGE = (0, 8)


def random_batches(
    specs: Mapping[str, Any],
    num_batches: int,
    shapes: ShapeSet | Sequence[ShapeSet] | None = None,
    *,
    seed: int = 0,
    int_range: tuple[int, int] = INT_RANGE,
    error: type[ConverterError] = VerificationError,
) -> Iterator[Batch]:
    """`num_batches` batches as {input name: array}, made one at a time.

    `specs`: tf.TensorSpec or InputSpec by input name. `shapes` fills in unknown dimensions: one
    set of full shapes, or several, which take turns (every set is used at least once, whatever
    `num_batches` says). An unknown first dimension without a shape is a batch of 1. `int_range`
    is (lowest, highest + 1).

    `error` is raised at once for an input of strings, a shape that does not fit its input, and an
    unknown dimension without a shape.
    """
    known = {input_name(name): InputSpec.of(spec) for name, spec in specs.items()}
    if int_range[0] >= int_range[1]:
        raise error(f"int_range is {int_range}; the first is lower than the second")
    for name, spec in known.items():
        if spec.is_string:
            raise error(
                f"input {name!r} takes strings, of which there are no sensible random ones: pass "
                "data (a dataset, a generator or a .npz file), or leave its signature out "
                "(signatures=, --signature)"
            )
    sets = [shapes] if shapes is None or isinstance(shapes, Mapping) else list(shapes)
    full = [_full_shapes(known, given, error) for given in sets or [None]]
    count = max(num_batches, len(full))
    return _generate(known, full, count, seed, int_range)


def _generate(
    specs: Mapping[str, InputSpec],
    full: list[dict[str, Shape]],
    count: int,
    seed: int,
    int_range: tuple[int, int],
) -> Iterator[Batch]:
    for index in range(count):
        batch = {}
        for place, (name, spec) in enumerate(specs.items()):
            # Each array has its own random stream and does not depend on the other inputs.
            rng = np.random.default_rng([seed, index, place])
            batch[name] = _values(rng, full[index % len(full)][name], spec.dtype, int_range)
        yield batch


def _values(
    rng: np.random.Generator, shape: Shape, dtype: np.dtype[Any], int_range: tuple[int, int]
) -> npt.NDArray[Any]:
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        if dtype == np.uint8:
            return rng.integers(0, 256, shape, np.uint8)
        limits = np.iinfo(dtype)
        low, high = max(int_range[0], limits.min), min(int_range[1], limits.max + 1)
        return rng.integers(low, high, shape).astype(dtype)
    values = rng.uniform(-1, 1, shape)
    if dtype.kind == "c":
        return (values + 1j * rng.uniform(-1, 1, shape)).astype(dtype)
    return np.asarray(values).astype(dtype)


def _full_shapes(
    specs: Mapping[str, InputSpec], given: ShapeSet | None, error: type[ConverterError]
) -> dict[str, Shape]:
    shapes = {input_name(name): tuple(shape) for name, shape in (given or {}).items()}
    for name in shapes:
        if name not in specs:
            raise error(f"a shape was given for {name!r}; the inputs are {', '.join(specs)}")
    return {name: _full_shape(name, spec, shapes.get(name), error) for name, spec in specs.items()}


def _full_shape(
    name: str, spec: InputSpec, given: Shape | None, error: type[ConverterError]
) -> Shape:
    if given is not None:
        if not spec.takes(given):
            raise error(
                f"input {name!r}: the shape {format_shape(given)} does not fit the model's "
                f"{spec.text()}"
            )
        return given
    if spec.shape is None or None in spec.shape[1:]:
        raise error(
            f"input {name!r} has the shape {spec.text()}: say the unknown dimensions with shapes "
            "(--shape on the command line), or pass data"
        )
    return tuple(1 if dim is None else dim for dim in spec.shape)
