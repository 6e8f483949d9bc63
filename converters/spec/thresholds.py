"""How far a converted model's outputs may be from the native model's.

The figures cover all elements of an output, in float64. n is an element of the native output, c
of the converted one, and S = max |n| is the output's scale (1 if the native output is all zeros):

    max_abs  = max |c - n|          mean_abs = mean |c - n|
    max_rel  = max |c - n| / max(|n|, 0.001 * S of the batch)
    cosine   = sum(n * c) / sqrt(sum(n * n) * sum(c * c))

Bounds on max_abs and mean_abs are fractions of S, so that one number suits probabilities and
logits. The denominator of max_rel has a floor: otherwise the elements near zero, which carry no
signal, would decide it. checks/differences.py measures the figures.
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

    `top1` is the share of examples (rows of a float output of rank 2) with the same best class in
    both models; `top5` is the share where the native best class is among the converted model's
    five best. Equal scores count as agreement. `equal` is the share of equal elements of integer,
    bool and string outputs. `finite` is False if an element is NaN or infinite in one model only;
    such elements are in no other figure. `problem` says why arrays could not be compared at all;
    `uncompared` says that both models gave nothing to compare.
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
    uncompared: bool = False

    def to_json(self) -> dict[str, Any]:
        return {name: _plain(value) for name, value in dataclasses.asdict(self).items()}


@dataclasses.dataclass(frozen=True)
class Thresholds:
    """Bounds on an output's figures; None leaves a figure unchecked.

    max_abs, mean_abs: at most, as a fraction of the native output's scale S.
    max_rel: at most. cosine, top1, top5: at least. equal: the least share of equal elements of
    integer, bool and string outputs (1 = exact). A NaN or infinity in one model only always fails.
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
        """The inverse of to_json; SpecError names a field that does not exist."""
        fields = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            if name not in fields:
                raise SpecError(f"thresholds: no figure {name!r}; there are {', '.join(fields)}")
        return cls(**values)


# These bounds mean "as good as the number format allows", not "good enough for your task": give
# your own bounds for that. u is the largest relative error of one rounding.
_DEFAULTS = {
    # Both models may compute in TF32, TensorFlow's default: u = 2^-11. It rounds only the inputs of
    # each product, so errors average out over long sums: they are about 1e-3 of the scale, in deep
    # networks and in shallow ones.
    "FP32": Thresholds(max_abs=5e-3, mean_abs=2e-3, cosine=0.9999, top1=0.99, top5=0.999),
    # u = 2^-11 again, but activations between layers are rounded too, and large sums may be
    # accumulated in half precision.
    "FP16": Thresholds(max_abs=2e-2, mean_abs=5e-3, cosine=0.999, top1=0.98, top5=0.99),
    # 127 steps on each side of zero: half a step is u = 0.4 % of a tensor's range at each layer.
    # Entropy calibration also cuts off the tails.
    "INT8": Thresholds(max_abs=0.2, mean_abs=5e-2, cosine=0.98, top1=0.9, top5=0.95),
}


def default_thresholds(precision: str, generated: bool = False) -> Thresholds:
    """The bounds for "FP32", "FP16" or "INT8" (any case).

    `generated`: the inputs are random numbers. Then top1 and top5 have no bound: the best scores of
    noise nearly tie, and any rounding swaps them.
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
