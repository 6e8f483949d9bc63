"""What verification found: figures of every output, and whether they are within bounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from converters.spec.thresholds import OutputDifference, Thresholds
from converters.util.errors import VerificationDataError, VerificationError


@dataclasses.dataclass(frozen=True)
class OutputResult:
    """One output of one signature; `failures` is empty when it is within `thresholds`."""

    signature: str
    difference: OutputDifference
    thresholds: Thresholds
    failures: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.failures


@dataclasses.dataclass(frozen=True)
class VerificationReport:
    """The result of `verify`.

    `problems` are signatures and outputs that one of the models lacks. `native` are signatures of
    which only TensorFlow computed what was compared, and no engine. Either fails the check.
    `notes` are further remarks about the engines.
    """

    precision: str | None
    generated: bool  # some inputs were random
    seed: int
    batches: Mapping[str, int]  # by signature
    outputs: tuple[OutputResult, ...]
    problems: tuple[str, ...] = ()
    native: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        exact = not self.problems and not self.native
        return exact and all(output.passed for output in self.outputs)

    @property
    def uncompared(self) -> bool:
        """Whether both models gave nothing to compare for an output: it fails, whatever engines do,
        and other inputs are the cure."""
        return any(output.difference.uncompared for output in self.outputs)

    def failures(self) -> list[str]:
        """A sentence for each failure, naming the signature and the output."""
        found = [*self.problems, *self.native]
        for output in self.outputs:
            where = f"signature {output.signature!r}, output {output.difference.name!r}: "
            found += [where + failure for failure in output.failures]
        return found

    def raise_if_failed(self) -> None:
        """VerificationError with every failure and what to do about it. It is a
        VerificationDataError if nothing could be compared and nothing else is wrong."""
        if self.passed:
            return
        precision = f" at {self.precision}" if self.precision else ""
        lines = "\n  ".join(self.failures())
        if len(self.native) == len(self.failures()):
            raise VerificationError(
                f"the comparison proves nothing of the engines:\n  {lines}\nGive data of the "
                "shapes that engines were built for, or convert for the shapes of the data "
                "(input_shapes, shape_ranges)"
            )
        failed = [output for output in self.outputs if not output.passed]
        if len(failed) == len(self.failures()) and all(o.difference.uncompared for o in failed):
            raise VerificationDataError(f"the comparison does not cover all outputs:\n  {lines}")
        raise VerificationError(
            f"the converted model differs from the native one{precision}:\n  {lines}\n"
            f"{self._cure()}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "precision": self.precision,
            "generated_inputs": self.generated,
            "seed": self.seed,
            "batches": dict(self.batches),
            "problems": list(self.problems),
            "native": list(self.native),
            "notes": list(self.notes),
            "outputs": [
                {
                    "signature": output.signature,
                    **output.difference.to_json(),
                    "thresholds": output.thresholds.to_json(),
                    "failures": list(output.failures),
                }
                for output in self.outputs
            ],
        }

    def __str__(self) -> str:
        head = ("signature", "output", "max_abs", "mean_abs", "max_rel", "cosine", "top1", "top5")
        rows: list[tuple[str, ...]] = [(*head, "equal", "result")]
        for output in self.outputs:
            diff = output.difference
            cells = [_cell(getattr(diff, name)) for name in (*head[2:], "equal")]
            if diff.equal is not None:  # the others say nothing of exact outputs
                cells[:4] = ["-"] * 4
            if diff.uncompared:
                cells = ["-"] * len(cells)
            result = "ok" if output.passed else "FAILED"
            rows.append((output.signature, diff.name, *cells, result))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
        inputs = f"random inputs, seed {self.seed}" if self.generated else "the data given"
        counts = ", ".join(f"{name}: {count}" for name, count in self.batches.items())
        title = f"{self.precision or 'converted'} against native on {inputs} (batches {counts})"
        verdict = ["passed"] if self.passed else ["failed:", *("  " + f for f in self.failures())]
        notes = [f"note: {note}" for note in self.notes]
        return "\n".join([title, *lines, *notes, *verdict])

    def _cure(self) -> str:
        if self.precision == "FP32":
            return (
                "Look for inputs outside the model's domain, or ops that TF-TRT computes otherwise "
                "(--bisect finds them); or pass thresholds of your own."
            )
        return (
            "Run with --bisect to find the ops to keep out of TensorRT, use another precision, "
            "or pass thresholds of your own."
        )


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
