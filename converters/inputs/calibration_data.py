"""Calibration batches from whatever the user has, each checked before TensorRT sees it.

TF-TRT needs all batches in one shape. It answers a bad batch with a line in the log and an empty
table; this module raises an error that names the batch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from converters.inputs.data_sources import (
    SourceError,
    VideoFiles,
    eagerly,
    known_count,
    raw_batches,
)
from converters.util.errors import CalibrationError, ConverterError
from converters.util.shapes import format_shape, input_name

__all__ = ["Batch", "InputSpec", "VideoFiles", "batches", "known_count"]

Batch = dict[str, npt.NDArray[Any]]


@dataclasses.dataclass(frozen=True)
class InputSpec:
    """What a signature says of one input: a shape with None for unknown dimensions (None: the
    rank is unknown too) and a numpy dtype (object for strings)."""

    shape: tuple[int | None, ...] | None
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, spec: Any) -> InputSpec:
        """From a tf.TensorSpec, or anything with a shape and a dtype."""
        dtype = np.dtype(getattr(spec.dtype, "as_numpy_dtype", spec.dtype))
        if spec.shape is None or getattr(spec.shape, "rank", 0) is None:
            return cls(None, dtype)
        return cls(tuple(None if dim in (None, -1) else int(dim) for dim in spec.shape), dtype)

    @property
    def is_string(self) -> bool:
        return self.dtype.kind in "OSU"

    def takes(self, shape: Sequence[int]) -> bool:
        return self.shape is None or (
            len(self.shape) == len(shape)
            and all(want in (None, have) for want, have in zip(self.shape, shape))
        )

    def text(self) -> str:
        """The shape as "?x224x224x3", or "unknown"."""
        if self.shape is None:
            return "unknown"
        return "x".join("?" if dim is None else str(dim) for dim in self.shape) or "scalar"


def batches(
    data: Any,
    input_names: Sequence[str],
    num_batches: int | None = None,
    *,
    specs: Mapping[str, Any] | None = None,
    batch_size: int | None = None,
    same_shape: bool = True,
    check_finite: bool = True,
    progress: Callable[[], Any] | None = None,
    error: type[ConverterError] = CalibrationError,
    purpose: str = "calibration",
) -> Iterator[Batch]:
    """Batches of `data` as {input name: array}; what `data` may be is in data_sources.

    A batch is an array (a model with one input), a sequence in the order of `input_names`, or a
    dict by name. `num_batches` are taken (None: all); it is an error if there are fewer.
    `specs`: tf.TensorSpec or InputSpec by input name; with them shapes are checked, and dtypes are
    cast if no value changes. `progress` is called after each batch. Verification uses this function
    too, with its own `purpose` and `error`.

    CalibrationError: no data, an infinite dataset without `num_batches`, the source raised
    (named by batch, the original as __cause__), an input missing or unknown, a shape or dtype
    that changes between batches or does not fit, an empty batch, a NaN or infinity.
    """
    names = [input_name(name) for name in input_names]
    known = {input_name(name): InputSpec.of(spec) for name, spec in (specs or {}).items()}
    if num_batches is not None and num_batches < 1:
        raise error(f"{purpose}: {num_batches} batches were asked for; ask for at least 1, or None")
    try:
        source = raw_batches(
            data,
            names,
            batch_size,
            drop_remainder=same_shape,
            limited=num_batches is not None,
            strings=bool(known) and all(spec.is_string for spec in known.values()),
        )
    except SourceError as cause:
        raise error(f"{purpose}: {cause}") from cause.__cause__
    checks = _Checks(names, known, same_shape, check_finite, error)
    return _checked(source, checks, num_batches, progress, error, purpose)


def _checked(
    source: Iterator[Any],
    checks: _Checks,
    num_batches: int | None,
    progress: Callable[[], Any] | None,
    error: type[ConverterError],
    purpose: str,
) -> Iterator[Batch]:
    count = 0
    while num_batches is None or count < num_batches:
        where = f"{purpose} batch {count + 1}"
        try:
            raw = eagerly(source.__next__)
        except StopIteration:
            break
        except SourceError as cause:
            raise error(f"{where}: {cause}") from (cause.__cause__ or cause)
        except Exception as cause:
            raise error(
                f"{where}: the data raised {type(cause).__name__}: {cause}. Mend the generator or "
                "dataset; nothing was kept of this run"
            ) from cause
        yield checks.batch(raw, where)
        count += 1
        if progress is not None:
            progress()
    if not count:
        raise error(
            f"{purpose}: the data is empty. A generator can be read only once: pass a function "
            "that makes it"
        )
    if num_batches is not None and count < num_batches:
        raise error(
            f"{purpose}: the data has {count} batches and {num_batches} were asked for; ask for "
            f"{count} or give more data"
        )


class _Checks:
    """Checks each batch against the specs and against the first batch."""

    def __init__(
        self,
        names: list[str],
        specs: dict[str, InputSpec],
        same_shape: bool,
        check_finite: bool,
        error: type[ConverterError],
    ) -> None:
        self.names = names
        self.specs = specs
        self.same_shape = same_shape
        self.check_finite = check_finite
        self.error = error
        self.first: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}

    def batch(self, raw: Any, where: str) -> Batch:
        named = self._named(raw, where)
        return {name: self._input(name, named[name], where) for name in self.names}

    def _named(self, raw: Any, where: str) -> dict[str, Any]:
        wanted = ", ".join(self.names)
        if isinstance(raw, Mapping):
            named = {input_name(str(name)): value for name, value in raw.items()}
            unknown = [name for name in named if name not in self.names]
            if unknown:
                raise self.error(
                    f"{where}: has the unknown input {', '.join(unknown)}; the model's are {wanted}"
                )
            missing = [name for name in self.names if name not in named]
            if missing:
                raise self.error(
                    f"{where}: lacks the input {', '.join(missing)}; the model's are {wanted}"
                )
            return named
        if isinstance(raw, (tuple, list)):
            if len(raw) != len(self.names):
                raise self.error(
                    f"{where}: is a {type(raw).__name__} of {len(raw)}; the model has "
                    f"{len(self.names)} inputs ({wanted}). Drop labels with "
                    "dataset.map(lambda x, y: x)"
                )
            return dict(zip(self.names, raw))
        if len(self.names) != 1:
            raise self.error(
                f"{where}: is one array; the model has {len(self.names)} inputs ({wanted}). "
                "Give a tuple in this order, or a dict by name"
            )
        return {self.names[0]: raw}

    def _input(self, name: str, value: Any, where: str) -> npt.NDArray[Any]:
        place = f"{where}: input {name!r}"
        array = self._array(value, place)
        spec = self.specs.get(name)
        if spec is not None:
            array = self._cast(array, spec.dtype, place)
            self._fits(array, spec, place)
        if array.ndim and array.size == 0:
            raise self.error(f"{place} is empty, its shape is {list(array.shape)}")
        shape, dtype = self.first.setdefault(name, (array.shape, array.dtype))
        if dtype != array.dtype:
            raise self.error(f"{place} is {array.dtype}; the batches before were {dtype}")
        if self.same_shape and shape != array.shape:
            raise self.error(
                f"{place} has shape {list(array.shape)}; the batches before had {list(shape)}. "
                "All must agree: batch with drop_remainder=True, resize or crop"
            )
        if self.check_finite and array.dtype.kind in "fcV":
            bad = array.size - int(np.count_nonzero(np.isfinite(array)))
            if bad:
                raise self.error(f"{place} has {bad} elements that are NaN or infinite")
        return array

    def _array(self, value: Any, place: str) -> npt.NDArray[Any]:
        try:
            array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
        except Exception as cause:
            raise self.error(
                f"{place} is a {type(value).__name__}, which is no array ({cause})"
            ) from cause
        if array.dtype.kind in "SU":
            array = np.array(
                [
                    item.encode() if isinstance(item, str) else item
                    for item in array.ravel().tolist()
                ],
                dtype=object,
            ).reshape(array.shape)
        if array.dtype.kind == "O" and not all(
            isinstance(item, (bytes, str)) for item in array.ravel()
        ):
            raise self.error(
                f"{place} is a {type(value).__name__} and becomes no array of numbers or strings; "
                "sparse and ragged tensors and lists of unequal length do not"
            )
        return array

    def _cast(self, array: npt.NDArray[Any], dtype: np.dtype[Any], place: str) -> Any:
        if array.dtype == dtype:
            return array
        strings = "O" in (array.dtype.kind, dtype.kind)
        if not strings and np.can_cast(array.dtype, dtype, "safe"):
            return array.astype(dtype)
        if not strings and array.dtype.kind in "iu" and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if array.size and limits.min <= array.min() and array.max() <= limits.max:
                return array.astype(dtype)
        wanted, cure = dtype.name, f'; convert it with .astype("{dtype.name}")'
        if strings:
            wanted, cure = ("string", "") if dtype.kind == "O" else (dtype.name, "")
        raise self.error(
            f"{place} is {'string' if array.dtype.kind == 'O' else array.dtype}, the model takes "
            f"{wanted}{cure}"
        )

    def _fits(self, array: npt.NDArray[Any], spec: InputSpec, place: str) -> None:
        if spec.shape is None:
            return
        if len(spec.shape) == array.ndim and all(
            want in (None, have) for want, have in zip(spec.shape, array.shape)
        ):
            return
        hint = ""
        if array.ndim + 1 == len(spec.shape):
            hint = "; the batch dimension may be missing: add it, as in array[None] or .batch(n)"
        raise self.error(
            f"{place} has shape {format_shape(array.shape)}, the model takes {spec.text()}{hint}"
        )
