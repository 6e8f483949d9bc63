"""Top-1 and top-5 of two models on labelled data, and whether the converted one lost too much."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from converters.util.errors import VerificationError

# Points of top-1 and top-5 that a conversion may lose: FP32 and FP16 round, INT8 quantizes.
MAX_DROP: Mapping[str, float] = {"FP32": 0.1, "FP16": 0.1, "INT8": 1.0}


@dataclasses.dataclass(frozen=True)
class Hits:
    """How many of the examples a model recognised; top5 is None for five classes or fewer. For
    `silent` examples it gave no answer: all scores are equal, or one is NaN."""

    top1: int
    top5: int | None
    silent: int = 0


@dataclasses.dataclass(frozen=True)
class LabelReport:
    """The result of `verify_labels`. Shares are in percent, differences in points of percent.

    `lost` examples have the right best class in the native model only, `gained` in the converted
    one only. `native_ran` are signatures of which only TensorFlow computed the answers, and no
    engine: this fails the check, as in VerificationReport. So do a native model that is no better
    than chance, as then nothing can be lost, and more `silent` examples than in the native model.
    """

    native: str
    converted: str
    precision: str
    signature: str
    output: str
    examples: int
    native_hits: Hits
    converted_hits: Hits
    lost: int
    gained: int
    max_drop: float  # in points; inf allows any
    native_ran: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    classes: int | None = None

    @property
    def passed(self) -> bool:
        return not self.failures()

    def share(self, hits: int | None) -> float | None:
        return None if hits is None else 100 * hits / self.examples

    def difference(self, name: str) -> float | None:
        """Points that the converted model gained in "top1" or "top5"; negative: lost."""
        before, after = getattr(self.native_hits, name), getattr(self.converted_hits, name)
        # Counts are subtracted, so that equal shares differ by exactly 0.
        return None if before is None else 100 * (after - before) / self.examples

    def is_chance(self) -> bool:
        """Whether the native model recognises no more than chance would, and a drop matters."""
        if self.classes is None or math.isinf(self.max_drop):
            return False
        return self.native_hits.top1 * self.classes <= self.examples

    def failures(self) -> list[str]:
        found = list(self.native_ran)
        if self.is_chance():
            found.append(
                f"{self.native} recognises {self.share(self.native_hits.top1):.2f} % of "
                f"{self.examples} examples, no more than chance with {self.classes} classes"
            )
        silent = self.converted_hits.silent - self.native_hits.silent
        if silent > 0 and math.isfinite(self.max_drop):
            found.append(
                f"{silent} more of {self.examples} examples have no answer: all scores are equal, "
                "or one is NaN"
            )
        for name in ("top1", "top5"):
            gained = self.difference(name)
            if gained is not None and -gained > self.max_drop:
                before, after = (
                    self.share(getattr(hits, name))
                    for hits in (self.native_hits, self.converted_hits)
                )
                found.append(
                    f"{name} drops by {-gained:.4g} points, from {before:.2f} to {after:.2f} % of "
                    f"{self.examples} examples; {self.max_drop:g} are allowed"
                )
        return found

    def raise_if_failed(self) -> None:
        """VerificationError with every failure and what to do about it."""
        if self.passed:
            return
        lines = "\n  ".join(self.failures())
        if len(self.native_ran) == len(self.failures()):
            raise VerificationError(
                f"the examples prove nothing of the engines of {self.converted}:\n  {lines}\nGive "
                "a shape that engines were built for (shapes, --shape; batch_size, --batch-size), "
                "or convert for the shape of the requests (input_shapes, shape_ranges)"
            )
        if self.is_chance():
            raise VerificationError(
                f"the examples prove nothing of {self.converted}:\n  {lines}\nLabels and pictures "
                "must be as in training: the first class's number (label_offset, --label-offset), "
                "the values (value_range, mean, std; --value-range, --mean, --std) and the size"
            )
        raise VerificationError(
            f"{self.converted} recognises fewer examples than {self.native}:\n  {lines}\n"
            "Calibrate INT8 with more data or keep ops out of TensorRT (--bisect), use another "
            "precision, or allow a larger drop (max_drop)"
        )

    def to_json(self) -> dict[str, Any]:
        """Every figure, with shares in percent and differences in points."""
        return {
            "passed": self.passed,
            **dataclasses.asdict(self),
            "max_drop": self.max_drop if math.isfinite(self.max_drop) else None,
            **{
                f"{role}_{name}": self.share(getattr(hits, name))
                for role, hits in (
                    ("native", self.native_hits),
                    ("converted", self.converted_hits),
                )
                for name in ("top1", "top5")
            },
            "top1_difference": self.difference("top1"),
            "top5_difference": self.difference("top5"),
            "failures": self.failures(),
        }

    def __str__(self) -> str:
        head = ("model", "precision", "top-1, %", "top-5, %", "top-1, points", "top-5, points")
        rows: list[tuple[str, ...]] = [head]
        for model, precision, hits in (
            (self.native, "native", self.native_hits),
            (self.converted, self.precision, self.converted_hits),
        ):
            shares = [_cell(self.share(found), "") for found in (hits.top1, hits.top5)]
            points = ["", ""]
            if hits is self.converted_hits:
                points = [_cell(self.difference(name), "+") for name in ("top1", "top5")]
            rows.append((model, precision, *shares, *points))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
        return "\n".join(
            [
                f"signature {self.signature}, output {self.output}, {self.examples} examples",
                *lines,
                f"right in the native model only: {self.lost}, in the converted one only: "
                f"{self.gained}",
                *(f"note: {note}" for note in self.notes),
                *(["passed"] if self.passed else ["failed:", *("  " + f for f in self.failures())]),
            ]
        )


def _cell(value: float | None, sign: str) -> str:
    return "-" if value is None else f"{value:{sign}.2f}" if value else "0.00"
