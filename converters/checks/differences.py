"""How far a converted model's output is from the native model's, and how far it may be.

Figures over all elements of an output, in float64, where n is native's value and c the
converted model's, and S = max |n| is the output's scale (1 when native gives only zeros):

    max_abs  = max |c - n|          mean_abs = mean |c - n|
    max_rel  = max |c - n| / max(|n|, 0.001 * S of the batch)
    cosine   = sum(n * c) / sqrt(sum(n * n) * sum(c * c))

Thresholds of max_abs and mean_abs are fractions of S, so that one number fits probabilities and
logits alike. max_rel has a floor under its denominator: without one the elements near zero,
which carry no signal, would rule it. Only one batch is held at a time.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.util.errors import SpecError

# The floor of max_rel's denominator, as a fraction of the batch's scale.
RELATIVE_FLOOR = 1e-3
# Elements converted to float64 at a time: 8 MB for each temporary.
CHUNK = 1 << 20

Array = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True)
class OutputDifference:
    """One output's figures (see the module). None: not defined for this output.

    `top1` is the share of examples (rows of a rank 2 float output) whose best class is native's,
    `top5` the share whose five best hold native's best; equal scores count as agreement.
    `equal` is the share of equal elements of integer, bool and string outputs. `finite` is False
    when any NaN or infinity stands on one side only; those elements are in no other figure.
    `problem` says why the arrays could not be compared at all.
    """

    name: str
    max_abs: float = 0.0
    mean_abs: float = 0.0
    max_rel: float = 0.0
    cosine: float = 1.0
    top1: float | None = None
    top5: float | None = None
    finite: bool = True
    scale: float = 1.0
    count: int = 0
    dtype: str = ""
    equal: float | None = None
    not_finite: int = 0  # elements that are NaN or infinite on one side only
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        return {name: _plain(value) for name, value in dataclasses.asdict(self).items()}


@dataclasses.dataclass(frozen=True)
class Thresholds:
    """Bounds on an output's figures; None leaves a figure unchecked.

    max_abs, mean_abs: at most, as a fraction of the native output's scale S.
    max_rel: at most. cosine, top1, top5: at least. equal: least share of equal elements of
    integer, bool and string outputs (1 = exact). A NaN or infinity that only one side has always
    fails.
    """

    max_abs: float | None = None
    mean_abs: float | None = None
    max_rel: float | None = None
    cosine: float | None = None
    top1: float | None = None
    top5: float | None = None
    equal: float | None = 1.0

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise SpecError(f"thresholds: {name} is {value!r}; it is a number or None")
            if not math.isfinite(value) or value < 0:
                raise SpecError(
                    f"thresholds: {name} is {value!r}; it is finite and at least 0, or None (none) "
                    "to leave it unchecked"
                )
            if name in ("cosine", "top1", "top5", "equal") and value > 1:
                raise SpecError(f"thresholds: {name} is {value!r}; it is a share, at most 1")

    def failures(self, diff: OutputDifference) -> list[str]:
        """Each figure of `diff` beyond its bound, as a phrase; empty when all hold."""
        if diff.problem:
            return [diff.problem]
        failed = []
        if not diff.finite:
            failed.append(
                f"{diff.not_finite} elements are NaN or infinite in one model and not in the other"
            )
        if diff.equal is not None:
            if self.equal is not None and diff.equal < self.equal:
                failed.append(
                    f"only {diff.equal:.6g} of its {diff.dtype} elements are equal, "
                    f"threshold {self.equal:g}"
                )
            return failed
        for name in ("max_abs", "mean_abs"):
            bound, figure = getattr(self, name), getattr(diff, name)
            if bound is not None and not figure <= bound * diff.scale:
                failed.append(
                    f"{name} {figure:.4g} is {figure / diff.scale:.4g} of the output's scale "
                    f"{diff.scale:.4g}, threshold {bound:g}"
                )
        if self.max_rel is not None and not diff.max_rel <= self.max_rel:
            failed.append(f"max_rel {diff.max_rel:.4g}, threshold {self.max_rel:g}")
        for name in ("cosine", "top1", "top5"):
            bound, figure = getattr(self, name), getattr(diff, name)
            if bound is not None and figure is not None and not figure >= bound:
                failed.append(f"{name} {figure:.6g}, threshold {bound:g}")
        return failed

    def to_json(self) -> dict[str, float | None]:
        return dataclasses.asdict(self)

    def replaced(self, named: Mapping[str, Any]) -> Thresholds:
        """These with the bounds `named` in place of theirs; SpecError as from_json."""
        return Thresholds.from_json({**self.to_json(), **named})

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Thresholds:
        """The inverse of to_json; SpecError names a field that there is not."""
        fields = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            if name not in fields:
                raise SpecError(f"thresholds: no figure {name!r}; there are {', '.join(fields)}")
        return cls(**values)


# The bounds say "as good as the format can be", not "good enough for your task": pass your own for
# that. u is the largest relative error of one rounding.
_DEFAULTS = {
    # Both sides may compute in TF32 (TensorFlow's default, and TF-TRT follows it): u = 2^-11, on
    # the inputs of each product only, so errors average out over long sums: some 1e-3 of the scale
    # after fifty layers, and 1.2e-3 was seen after few.
    "FP32": Thresholds(max_abs=5e-3, mean_abs=2e-3, cosine=0.9999, top1=0.99, top5=0.999),
    # u = 2^-11 again, but activations between layers are rounded too, and large sums may be
    # accumulated in half precision.
    "FP16": Thresholds(max_abs=2e-2, mean_abs=5e-3, cosine=0.999, top1=0.98, top5=0.99),
    # 127 steps to each side, so half a step is u = 0.4 % of a tensor's range at each layer, plus
    # what entropy calibration cuts off the tails.
    "INT8": Thresholds(max_abs=0.2, mean_abs=5e-2, cosine=0.98, top1=0.9, top5=0.95),
}


def default_thresholds(precision: str, generated: bool = False) -> Thresholds:
    """The bounds for "FP32", "FP16" or "INT8" (any case).

    `generated`: the inputs are random numbers. Class agreement is not bounded then: noise has no
    class, so the best scores nearly tie and any rounding swaps them.
    """
    found = _DEFAULTS.get(str(precision).upper())
    if found is None:
        raise SpecError(f"precision {precision!r} is none of {', '.join(_DEFAULTS)}")
    return dataclasses.replace(found, top1=None, top5=None) if generated else found


class DifferenceMeter:
    """Collects one output's figures over batches, holding no batch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._dtype = ""
        self._problem = ""
        self._count = self._used = self._not_finite = 0
        self._equal: int | None = None
        self._max_abs = self._max_rel = self._sum_abs = self._peak = 0.0
        self._nc = self._nn = self._cc = 0.0
        self._rows: int | None = None
        self._top1 = 0
        self._top5: int | None = None

    def add(self, native: Any, converted: Any) -> None:
        """One batch of this output from both models; shapes and dtypes must agree."""
        native, converted = np.asarray(native), np.asarray(converted)
        if self._problem:
            return
        self._problem = _mismatch(native, converted, self._dtype)
        if self._problem:
            return
        self._dtype = self._dtype or _dtype_name(native.dtype)
        self._count += native.size
        if not _is_float(native.dtype):
            self._equal = (self._equal or 0) + int(np.count_nonzero(native == converted))
            return
        self._add_floats(native, converted)
        if native.ndim == 2 and native.shape[1] > 1 and native.dtype.kind != "c":
            self._add_classes(native, converted)

    def result(self) -> OutputDifference:
        problem = self._problem
        if not problem and not self._count:
            problem = "no element was compared: the outputs are empty"
        elif not problem and self._equal is None and not (self._used or self._not_finite):
            problem = "no element was compared: all are NaN or infinite in both models"
        norm = math.sqrt(self._nn) * math.sqrt(self._cc)
        cosine = self._nc / norm if norm > 0 else float(self._nn == self._cc)
        return OutputDifference(
            name=self.name,
            max_abs=self._max_abs,
            mean_abs=self._sum_abs / self._used if self._used else 0.0,
            max_rel=self._max_rel,
            cosine=max(-1.0, min(1.0, cosine)),
            top1=self._top1 / self._rows if self._rows else None,
            top5=self._top5 / self._rows if self._rows and self._top5 is not None else None,
            finite=self._not_finite == 0,
            scale=self._peak or 1.0,
            count=self._count,
            dtype=self._dtype,
            equal=self._equal / self._count if self._equal is not None and self._count else None,
            not_finite=self._not_finite,
            problem=problem,
        )

    def _add_floats(self, native: Array, converted: Array) -> None:
        peak = 0.0
        for n, _ in _chunks(native, native):
            peak = max(peak, float(np.max(np.abs(n[np.isfinite(n)]), initial=0.0)))
        self._peak = max(self._peak, peak)
        floor = RELATIVE_FLOOR * peak or 1.0
        for n, c in _chunks(native, converted):
            both = np.isfinite(n) & np.isfinite(c)
            # The same NaN or the same infinity on both sides is agreement.
            same = (n == c) | (np.isnan(n) & np.isnan(c))
            self._not_finite += int(np.count_nonzero(~both & ~same))
            self._add_finite(n[both], c[both], floor)

    def _add_finite(self, n: Array, c: Array, floor: float) -> None:
        error = np.abs(c - n)
        self._used += n.size
        self._sum_abs += float(error.sum())
        self._max_abs = max(self._max_abs, float(error.max(initial=0.0)))
        relative = error / np.maximum(np.abs(n), floor)
        self._max_rel = max(self._max_rel, float(relative.max(initial=0.0)))
        self._nc += float(n @ c)
        self._nn += float(n @ n)
        self._cc += float(c @ c)

    def _add_classes(self, native: Array, converted: Array) -> None:
        """Rows are examples, columns scores; rows with a NaN are counted as disagreement."""
        rows, classes = native.shape
        self._rows = (self._rows or 0) + rows
        if not rows:
            return
        index = np.arange(rows)
        valid = ~(np.isnan(native).any(axis=1) | np.isnan(converted).any(axis=1))
        chosen = np.argmax(converted, axis=1)
        best = np.argmax(native, axis=1)
        agrees = native[index, chosen] >= native[index, best]
        self._top1 += int(np.count_nonzero(agrees & valid))
        if classes > 5:
            fifth = np.partition(converted, classes - 5, axis=1)[:, classes - 5]
            agrees = converted[index, best] >= fifth
            self._top5 = (self._top5 or 0) + int(np.count_nonzero(agrees & valid))


def compare_arrays(native: Any, converted: Any, name: str = "output") -> OutputDifference:
    """The figures of one array against the other: same shape and dtype, anything numpy takes."""
    meter = DifferenceMeter(name)
    meter.add(native, converted)
    return meter.result()


def _mismatch(native: Array, converted: Array, dtype: str) -> str:
    names = _dtype_name(native.dtype), _dtype_name(converted.dtype)
    if names[0] != names[1]:
        return f"the native output is {names[0]}, the converted one {names[1]}"
    if dtype and dtype != names[0]:
        return f"the output was {dtype} and became {names[0]}"
    if native.shape != converted.shape:
        return (
            f"the native output has shape {list(native.shape)}, "
            f"the converted one {list(converted.shape)}"
        )
    return ""


def _dtype_name(dtype: np.dtype[Any]) -> str:
    # TensorFlow gives strings as objects, numpy files as fixed widths.
    return "string" if dtype.kind in "OSU" else dtype.name


def _is_float(dtype: np.dtype[Any]) -> bool:
    # TensorFlow's bfloat16 and float8 have kind V; numpy's records, which have names, never come.
    return dtype.kind in "fcV"


def _chunks(first: Array, second: Array) -> Iterator[tuple[Array, Array]]:
    """Both flattened, in pieces of float64; complex numbers as pairs."""
    one, two = first.reshape(-1), second.reshape(-1)
    for start in range(0, one.size, CHUNK):
        yield _float64(one[start : start + CHUNK]), _float64(two[start : start + CHUNK])


def _float64(piece: Array) -> Array:
    if piece.dtype.kind == "c":
        return np.ascontiguousarray(piece).astype(np.complex128).view(np.float64)
    return piece.astype(np.float64)


def _plain(value: Any) -> Any:
    """A value that strict JSON can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
