"""What the first bytes of a TensorRT plan say, without TensorRT.

Known of plans since TensorRT 8.6: they begin with "ftrt"; the next four bytes are the version of
this layout; where that is 0, bytes 24 to 27 are the TensorRT version (major, minor, patch, build).
That is what NVIDIA's own trtexec --getPlanVersionOnly goes by. Not known from outside: the GPU, the
precision, the shapes and the bindings. TensorRT's runtime knows them: converters.plans.plan_runner.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

MAGIC = b"ftrt"
_SIZE = 28
# Versions that make sense; other bytes mean that the layout is not the one known.
_MAJORS = range(8, 30)


@dataclass(frozen=True)
class PlanHeader:
    """`tensorrt_version` ("8.6.0.12") is None where the bytes do not tell; `note` then says why."""

    size: int
    tensorrt_version: str | None
    note: str


def plan_header(plan: bytes) -> PlanHeader:
    """Reads what can be read of `plan`; any bytes are taken, none raises."""
    size = len(plan)
    if size < _SIZE:
        return PlanHeader(size, None, f"{size} bytes are too few for a plan")
    if plan[:4] != MAGIC:
        return PlanHeader(
            size,
            None,
            f"it begins with {plan[:4].hex()}, not with {MAGIC.hex()} as plans since TensorRT 8.6 "
            "do: it is older, or no plan",
        )
    (layout,) = struct.unpack_from("<I", plan, 4)
    major, minor, patch, build = plan[24:28]
    if layout != 0 or major not in _MAJORS:
        return PlanHeader(size, None, f"its layout {layout} is not one whose version is known")
    return PlanHeader(size, f"{major}.{minor}.{patch}.{build}", "")


def plan_hash(plan: bytes) -> str:
    """The SHA-256 of a plan, in hexadecimal."""
    return hashlib.sha256(plan).hexdigest()
