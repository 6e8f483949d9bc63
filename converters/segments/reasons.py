"""Finds the best reason known for each node that a conversion left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from converters.model.flat_graph import FlatNode
from converters.segments import exclusions
from converters.segments.exclusions import ReportRow, SegmenterLog
from converters.segments.segment_rules import Forecast
from converters.segments.segmenter import SegmenterOptions
from converters.util.errors import ModelError
from converters.util.paths import as_file_name, signature_of
from converters.util.record import LOG, RECORD, read_json

# TF-TRT's detailed report for each signature. A conversion leaves it beside its record and its log;
# the log has more details if it was written with segmenter.SEGMENTER_LOG.
DETAILED_REPORTS = re.compile(r"left_out\.(?P<signature>.*)\.csv")

_CALL = re.compile(r"^(?:Stateful)?PartitionedCall(?:_\d+)?/")


@dataclass(frozen=True)
class Record:
    """What the conversion kept: its conversion.json, and TF-TRT's own reports by signature."""

    values: Mapping[str, Any] = field(default_factory=dict)
    log: SegmenterLog = field(default_factory=SegmenterLog)
    rows: Mapping[str, Sequence[ReportRow]] = field(default_factory=dict)

    @property
    def spec(self) -> Mapping[str, Any]:
        found = self.values.get("spec")
        return found if isinstance(found, Mapping) else {}


def find_record(model: Path, record: str | Path | Mapping[str, Any] | None) -> Record:
    """Reads conversion.json (given, or that in a SavedModel's folder) and the reports beside it."""
    folder = model
    values: Mapping[str, Any] = {}
    if record is None and not model.is_dir():
        return Record()  # the files beside a graph's file may belong to another model
    if isinstance(record, Mapping):
        values = record
        if not model.is_dir():
            return Record(values)
    else:
        path = folder / RECORD if record is None else Path(record)
        path = path / RECORD if path.is_dir() else path
        folder = path.parent
        if path.is_file():
            values = _read_json(path)
        elif record is not None:
            raise ModelError(f"{path} does not exist. Give the conversion.json of a conversion.")
    log = folder / LOG
    names = [DETAILED_REPORTS.fullmatch(path.name) for path in sorted(folder.iterdir())]
    return Record(
        values,
        exclusions.read_segmenter_log(log.read_text("utf-8", "replace"))
        if log.is_file()
        else SegmenterLog(),
        {
            signature_of(name["signature"]): exclusions.read_detailed_report(folder / name[0])
            for name in names
            if name is not None
        },
    )


def options_of(record: Record, given: SegmenterOptions | None) -> SegmenterOptions:
    """The options that cut the graph: given, else the record's, else the defaults."""
    if given is not None:
        return given
    spec = record.spec
    size = spec.get("minimum_segment_size") or 3
    if not isinstance(size, int):
        raise _unreadable("minimum_segment_size", size, "a number")
    return SegmenterOptions(
        precision=str(spec.get("precision") or "FP32").upper(),
        implicit_batch=bool(spec) and not spec.get("explicit_batch"),
        minimum_segment_size=size,
        op_denylist=_names(spec, "op_denylist"),
        node_denylist=_names(spec, "node_denylist"),
    )


def _names(spec: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = spec.get(name) or []
    if not isinstance(found, (list, tuple)) or not all(isinstance(item, str) for item in found):
        raise _unreadable(name, found, "a list of names")
    return tuple(found)


def _unreadable(name: str, found: Any, wanted: str) -> ModelError:
    return ModelError(
        f"the record of the conversion has {str(found)[:80]!r} as {name}, not {wanted}: it was "
        f"changed. Copy {RECORD} again, or give the options."
    )


class Reasons:
    """Answers why a node is out: from the record, from the segmenter asked now, or by rule."""

    def __init__(
        self,
        record: Record,
        asked: SegmenterLog | None,
        options: SegmenterOptions,
        engines: int,
    ) -> None:
        self._rows = record.rows
        self._recorded = record.log
        self._asked = asked
        self._options = options
        self._engines = engines

    def of(
        self,
        node: FlatNode,
        signature: str,
        rules: Forecast,
        asked: SegmenterLog | None = None,
    ) -> tuple[str, str, str]:
        """Category, reason and source for a node of `signature` that is in no engine; `rules` and
        `asked` are of its graph."""
        logs = (
            (exclusions.RECORDED, self._recorded),
            (exclusions.ASKED, asked),
            (exclusions.ASKED, self._asked),
        )
        for source, log in logs:
            found = self._logged(node, log) if log else None
            if found is not None:
                return (*found, source)
        by_rule = rules.left_out.get(node.name)
        reported = self._rows.get(signature_of(as_file_name(signature)), ())
        rows = [row for row in reported if row.op == node.op]
        if rows:
            return (*_of_rows(rows, by_rule), exclusions.RECORDED)
        if by_rule is not None:
            return (*by_rule, exclusions.RULE)
        limit = self._options.max_engines or exclusions.ENGINE_LIMIT
        if self._engines >= limit:
            text = f"there are {self._engines} engines, TF-TRT's limit (TF_TRT_MAX_ALLOWED_ENGINES)"
            return exclusions.ENGINE_CAP, text, exclusions.RULE
        text = (
            "no rule known here excludes it: TF-TRT's converter refused an attribute or a shape, "
            "or its segment could not become an engine"
        )
        return exclusions.UNKNOWN, text, exclusions.RULE

    def _logged(self, node: FlatNode, log: SegmenterLog) -> tuple[str, str] | None:
        for name in names_of(node.name):
            if name in log.excluded:
                reason = log.excluded[name]
                category = exclusions.category_of(reason)
                if category == exclusions.OUTPUT and name in self._options.node_denylist:
                    return exclusions.DENYLISTED, "it is on the node denylist"
                return category, reason
            if name in log.too_small:
                size, least = log.too_small[name], self._options.minimum_segment_size
                text = f"its segment has {size} nodes; minimum_segment_size asks for {least}"
                return exclusions.TOO_SMALL, text
            if name in log.over_limit:
                text = f"its segment of {log.over_limit[name]} nodes is not among the largest"
                return exclusions.ENGINE_CAP, text
        if log.failed:
            engine, reason = next(iter(log.failed.items()))
            return exclusions.FAILED, f"an engine ({engine}) could not be made: {reason}"
        return None


def names_of(name: str) -> list[str]:
    """The names that a node can have had before: each time a model is saved, a call's name is put
    in front."""
    names = [name]
    while (shorter := _CALL.sub("", names[-1])) != names[-1]:
        names.append(shorter)
    return names


def _of_rows(rows: Sequence[ReportRow], by_rule: tuple[str, str] | None) -> tuple[str, str]:
    """The detailed report has reasons by op type only; the rules help to choose among several."""
    fitting = [row for row in rows if by_rule and exclusions.category_of(row.reason) == by_rule[0]]
    chosen = fitting or list(rows)
    category = exclusions.category_of(chosen[0].reason)
    return category, "; or: ".join(row.reason for row in chosen)


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        found = read_json(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} is no readable record of a conversion: {error}.") from error
    if not isinstance(found, dict):
        raise ModelError(f"{path} is no record of a conversion: it is not a JSON object.")
    return found
