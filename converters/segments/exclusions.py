"""Why TF-TRT left a node out: read from what TF-TRT itself reported, or by rule.

TF-TRT reports in two ways. With TF_TRT_SHOW_DETAILED_REPORT=/path/file.csv it writes a row
`OP Name|Reason|Count` for each op type and reason, without node names. With
TF_CPP_VMODULE=segment=1 it logs each node, and each segment that it drops because the segment is
too small or the limit of engines is reached. The rules are for models without either report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from converters.util.errors import ModelError

# Categories of reasons.
UNSUPPORTED_OP = "unsupported op"
DTYPE = "dtype"
SHAPE = "shape"
ATTRIBUTE = "attribute or input"
TOO_SMALL = "segment too small"
ENGINE_CAP = "engine limit"
DENYLISTED = "denylisted"
DEVICE = "device"
OUTPUT = "model input or output"
FAILED = "engine failed"
UNKNOWN = "unknown"

# Where a reason comes from.
RECORDED = "recorded"  # TF-TRT said so when it converted this model
ASKED = "segmenter"  # TF-TRT's segmenter says so when asked now
RULE = "rule"  # the tables and rules of this package say so

# Nodes that hold, pass on or order values: leaving them out costs nothing.
PLUMBING = frozenset(
    (
        *("Arg", "Const", "Identity", "IdentityN", "NoOp", "Placeholder", "PlaceholderV2"),
        *("PlaceholderWithDefault", "PreventGradient", "ReadVariableOp", "Retval", "Snapshot"),
        *("StopGradient", "VarHandleOp", "VarIsInitializedOp", "Variable", "VariableV2"),
        *("_Arg", "_HostRecv", "_HostSend", "_Recv", "_Retval", "_Send"),
    )
)
# TF-TRT does not count these when it measures a segment.
NOT_EFFECTIVE = frozenset(("Identity", "Snapshot", "StopGradient"))
# Taken in INT8 mode only.
QUANTIZE = frozenset(
    (
        *("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3"),
        *("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs"),
    )
)
ENGINE_LIMIT = 20

_TABLE = Path(__file__).with_name("tftrt_ops_2_17.txt")
_MAPPED_TYPES = ("float32", "float16", "int32", "bool")


@dataclass(frozen=True)
class OpRule:
    """What TF-TRT's converter of an op type takes."""

    types: tuple[str, ...]
    explicit_only: bool


@dataclass(frozen=True)
class ReportRow:
    """A row of TF-TRT's detailed report: `count` nodes of `op` were left out for `reason`."""

    op: str
    reason: str
    count: int


@dataclass(frozen=True)
class SegmenterLog:
    """What TF-TRT's segmenter logged, by node name."""

    excluded: Mapping[str, str] = field(default_factory=dict)  # node -> TF-TRT's reason
    too_small: Mapping[str, int] = field(default_factory=dict)  # node -> its segment's size
    over_limit: Mapping[str, int] = field(default_factory=dict)  # node -> its segment's size
    failed: Mapping[str, str] = field(default_factory=dict)  # engine -> TF-TRT's reason

    def __bool__(self) -> bool:
        return bool(self.excluded or self.too_small or self.over_limit or self.failed)


def compute_count(ops: Mapping[str, int]) -> int:
    """How many of these nodes, counted by op type, compute something."""
    return sum(count for op, count in ops.items() if op not in PLUMBING)


@lru_cache(maxsize=1)
def op_rules() -> Mapping[str, OpRule]:
    """The op types that TF-TRT 2.17 converts, from the checked-in table."""
    rules = {}
    for line in _TABLE.read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        op, *words = line.split()
        types = tuple(word for word in words if word != "explicit")
        rules[op] = OpRule(_MAPPED_TYPES if types == ("?",) else types, "explicit" in words)
    return rules


def read_detailed_report(path: str | Path) -> list[ReportRow]:
    """The rows of the file that TF_TRT_SHOW_DETAILED_REPORT=PATH made.

    A reason can hold line breaks and the separator: a row ends where a line ends with |number.
    """
    path = Path(path)
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not lines or lines[0] != "OP Name|Reason|Count":
        raise ModelError(
            f"{path} is no detailed report of TF-TRT: its first line is not "
            "'OP Name|Reason|Count'. Convert with TF_TRT_SHOW_DETAILED_REPORT set to a .csv path."
        )
    rows, begun = [], ""
    for line in lines[1:]:
        begun = f"{begun}\n{line}" if begun else line
        match = re.fullmatch(r"([^|\n]*)\|(.*)\|(\d+)", begun, re.DOTALL)
        if match:
            rows.append(ReportRow(match[1], match[2], int(match[3])))
            begun = ""
    if begun:
        raise ModelError(f"{path} is cut off in the row {begun.splitlines()[0]!r}.")
    return rows


_LINE = re.compile(r"^\S+ [\d:.]+: [IWEF] \S+\] (.*)$")
_EXCLUDED = re.compile(
    r"Not a TF-TRT candidate, \(Op type: [^)]*\), \(Op name: (.*?)\), \(Reason: (.*)\)$", re.DOTALL
)
_NODES = re.compile(r"Nodes in segment (\d+) with parent=")
_NODE = re.compile(r"^\[Op type: [^\]]*\] (.*)$", re.MULTILINE)
_SMALL = re.compile(r"Segment (\d+) has only (\d+) effective nodes, dropping")
_REJECTED = re.compile(r"\[\*\] Segment (\d+) \[node count: (\d+)\] rejected")
_CANNOT = re.compile(
    r"Cannot replace segment \d+ consisting of \d+ nodes by (\S+) reason: (.*)", re.S
)


def read_segmenter_log(text: str) -> SegmenterLog:
    """Reads a log made with TF_CPP_VMODULE=segment=1; other programs' lines may be in it."""
    excluded: dict[str, str] = {}
    too_small: dict[str, int] = {}
    over_limit: dict[str, int] = {}
    failed: dict[str, str] = {}
    kept: list[list[str]] = []  # segments that were large enough, in TF-TRT's order
    listed = ""
    for message in _messages(text):
        if match := _EXCLUDED.match(message):
            if match[1] == "_SOURCE":  # another graph begins
                kept, listed = [], ""
            elif match[1] != "_SINK":
                excluded[match[1]] = match[2]
        elif match := _NODES.match(message):
            listed = match[1]
            kept.append(_NODE.findall(message))
        elif match := _SMALL.match(message):
            # A segment without nodes is dropped without being listed, under the next number.
            if match[1] == listed:
                too_small.update(dict.fromkeys(kept.pop(), int(match[2])))
            listed = ""
        elif match := _REJECTED.match(message):
            segment = kept[int(match[1])] if int(match[1]) < len(kept) else []
            over_limit.update(dict.fromkeys(segment, int(match[2])))
        elif match := _CANNOT.match(message):
            failed[match[1]] = match[2].strip()
    return SegmenterLog(excluded, too_small, over_limit, failed)


def _messages(text: str) -> list[str]:
    """Log messages, each with its further lines, which begin without a time."""
    messages: list[list[str]] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            messages.append([match[1]])
        elif messages:
            messages[-1].append(line)
    return ["\n".join(lines).strip() for lines in messages]


_PATTERNS = (
    (DENYLISTED, re.compile("Denylisted|denylist")),
    (OUTPUT, re.compile("excluded by segmenter option")),
    (UNSUPPORTED_OP, re.compile(r"^Op type \S+ is not supported")),
    (DEVICE, re.compile("placed on GPU")),
    (DTYPE, re.compile("[Dd]ata type|dtype|type \\S+ is not supported|Output type")),
    (SHAPE, re.compile("dimension|[Ss]hape|rank|batch|[Bb]roadcast|size")),
)


def category_of(reason: str) -> str:
    """The category of a reason in TF-TRT's words."""
    for category, pattern in _PATTERNS:
        if pattern.search(reason):
            return category
    return ATTRIBUTE
