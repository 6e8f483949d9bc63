"""How far a converted model's outputs may be from the native model's.

checks/differences.py measures the figures; this module holds them and their bounds.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from converters.util.errors import SpecError


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


def _plain(value: Any) -> Any:
    """A value that strict JSON can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
