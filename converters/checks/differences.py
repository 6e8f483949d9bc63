"""Measures how far a converted model's output is from the native model's.

spec/thresholds.py defines the figures. Only one batch is in memory at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.spec.thresholds import OutputDifference

# The floor of max_rel's denominator, as a fraction of the batch's scale.
RELATIVE_FLOOR = 1e-3
# Elements converted to float64 at a time: 8 MB for each temporary.
CHUNK = 1 << 20

Array = npt.NDArray[Any]


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
        problem, nothing = self._problem, ""
        if not problem and not self._count:
            nothing = "the output is empty"
        elif not problem and self._equal is None and not (self._used or self._not_finite):
            nothing = "all elements are NaN or infinite"
        if nothing:
            problem = (
                f"nothing was compared: {nothing} in both models. Give real inputs for which it is "
                "not so (--verify-data of convert, --data of verify)"
            )
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
            uncompared=bool(nothing),
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
