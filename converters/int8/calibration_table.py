"""TensorRT's INT8 calibration tables as text: read, written, and kept for the next conversion.

One table is what TensorRT itself writes (and trtexec, Polygraphy and DeepStream read):

    TRT-8600-EntropyCalibration2
    input: 3c010a14
    block1/Relu: 3caa54fc

The first line has TensorRT's version (8600 is 8.6.0, 101401 is 10.14.1) and the algorithm. A
tensor's line ends with its scale, the bits of a float32 in hexadecimal, the highest first and
without leading zeros (1.0 is 3f800000): scale = amax / 127, where the range is [-amax, amax].
Tensor names may themselves contain ": ".

A file with one engine's table is exactly that text. With several engines each table follows a
line "# engine NAME", NAME being the last part of the TRTEngineOp's name; no other tool reads such
a file, but each part between the "# engine" lines is again TensorRT's own text.

`match_tables` finds the table for each engine of a new conversion. Engine names do not last: in
TRTEngineOp_000_001_0a1b2c3d the first number counts the conversions of a process, the second the
engines, and the suffix is random. Tensor names do last, because TF-TRT names tensors after the
graph's nodes. So a table fits an engine if every node that it names is in the engine's segment. If
several fit, the one that names most tensors is taken, then the first in the order of the engines.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from converters.model.trt_graph import EngineNode
from converters.util.errors import CalibrationError, OutputError
from converters.util.outputs import write_new
from converters.util.paths import require_local

# The algorithm of TF-TRT's calibrator; TensorRT ignores a table of another one.
TFTRT_ALGORITHM = "EntropyCalibration2"
# Steps on each side of zero: TensorRT quantises symmetrically.
STEPS = 127

_HEADER = re.compile(r"TRT-(\d{4,6})-([A-Za-z0-9]+)")
_ENGINE = "# engine "


@dataclasses.dataclass(frozen=True)
class CalibrationTable:
    """One engine's scales, by TensorRT's tensor name, in the file's order."""

    header: str
    scales: Mapping[str, float]
    ends_with_newline: bool = dataclasses.field(default=True, compare=False)

    def __post_init__(self) -> None:
        _parse_header(self.header, "calibration table")
        for name, scale in self.scales.items():
            if not name or "\n" in name or "\r" in name:
                raise CalibrationError(f"calibration table: {name!r} cannot be a tensor's name")
            _check_scale(scale, f"calibration table: tensor {name!r}")

    @property
    def version(self) -> tuple[int, int, int]:
        """TensorRT's version that made the table."""
        return _parse_header(self.header, "calibration table")[0]

    @property
    def algorithm(self) -> str:
        return _parse_header(self.header, "calibration table")[1]

    def ranges(self) -> dict[str, float]:
        """amax by tensor: values in [-amax, amax] are represented, others cut off."""
        return {name: scale * STEPS for name, scale in self.scales.items()}

    def without_scale(self) -> list[str]:
        """Tensors that TensorRT could not calibrate; layers run without INT8 there. TensorRT
        writes 0 for a tensor that was always 0, and infinity for one that is no float."""
        return [name for name, scale in self.scales.items() if scale == 0 or math.isinf(scale)]

    def serialize(self) -> str:
        """TensorRT's text; of a table that TensorRT wrote, the same bytes."""
        lines = [self.header, *(f"{name}: {_bits(scale):x}" for name, scale in self.scales.items())]
        return "\n".join(lines) + ("\n" if self.ends_with_newline else "")

    @classmethod
    def parse(cls, text: str | bytes, where: str = "calibration table") -> CalibrationTable:
        """The table of TensorRT's text; CalibrationError names `where` and the line."""
        return _parse(_lines(text, where), 1, where)


def usable_table(
    table: CalibrationTable, version: str | tuple[int, ...], any_version: bool = False
) -> CalibrationTable:
    """The table, if the loaded TensorRT `version` ("8.6.0" or its parts) takes it.

    TensorRT skips a table with another version in its first line and asks for batches. TF-TRT has
    no batches at that point and fails to build the engine. So another version is an error here,
    even another patch level. `any_version` changes the first line instead, since scales belong to
    tensors. Tensors without a name of their own can be lost then: TensorRT numbers them while it
    parses, and runs those that it does not find without INT8.
    """
    parts: list[str | int] = [*(version.split(".") if isinstance(version, str) else version)]
    wanted = tuple(int(part) for part in parts[:3])
    if table.algorithm != TFTRT_ALGORITHM:
        raise CalibrationError(
            f"the calibration table was made with {table.algorithm}; TF-TRT takes only "
            f"{TFTRT_ALGORITHM}. Calibrate again"
        )
    if not table.scales:
        raise CalibrationError("the calibration table is empty; calibrate again")
    if table.version == wanted:
        return table
    if not any_version:
        raise CalibrationError(
            f"the calibration table was made by TensorRT {_dotted(table.version)}, and "
            f"{_dotted(wanted)} is loaded, which would skip it. Calibrate again, or accept tables "
            "of any version"
        )
    return dataclasses.replace(table, header=f"TRT-{_number(wanted)}-{table.algorithm}")


def parse_tables(
    text: str | bytes, where: str = "calibration table"
) -> dict[str, CalibrationTable]:
    """Tables by engine name; the one table of a file without "# engine" lines goes by ""."""
    lines = _lines(text, where)
    if not lines:
        raise CalibrationError(f"{where}: is empty")
    starts = [index for index, line in enumerate(lines) if line.startswith(_ENGINE)]
    if not starts:
        return {"": _parse(lines, 1, where)}
    if starts[0] != 0:
        raise CalibrationError(f"{where}: line 1 comes before the first {_ENGINE.strip()!r} line")
    tables: dict[str, CalibrationTable] = {}
    for start, stop in zip(starts, [*starts[1:], len(lines)]):
        name = lines[start][len(_ENGINE) :].strip()
        if not name or name in tables:
            raise CalibrationError(f"{where}: line {start + 1} names no engine, or one twice")
        tables[name] = _parse(lines[start + 1 : stop], start + 2, where)
    return tables


def serialize_tables(tables: Mapping[str, CalibrationTable]) -> str:
    """The text that parse_tables reads. A single table is TensorRT's own text, without its
    engine's name."""
    if not tables:
        raise CalibrationError("there is no calibration table to write")
    if len(tables) == 1:
        return next(iter(tables.values())).serialize()
    parts = []
    for name, table in tables.items():
        if not name or name != name.strip() or "\n" in name:
            raise CalibrationError(f"{name!r} cannot be an engine's name in a calibration table")
        parts.append(f"{_ENGINE}{name}\n{table.serialize().rstrip()}\n")
    return "".join(parts)


def read_tables(path: str | os.PathLike[str]) -> dict[str, CalibrationTable]:
    """parse_tables of a file; CalibrationError names it."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise CalibrationError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from error
    return parse_tables(data, os.fspath(path))


def check_table_path(path: str | os.PathLike[str]) -> None:
    """OutputError if a table could be neither written to `path` nor read from it. Checking first
    saves hours of work."""
    require_local(path, OutputError)
    path = Path(path)
    if path.is_dir():
        raise OutputError(f"{path}: is a folder: name a file for the calibration table")
    if path.exists():
        return
    folder = path.parent
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise OutputError(f"{path}: its folder {folder} {what}: make it, or name another file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: its folder {folder} cannot be written: name another file")


def write_tables(
    path: str | os.PathLike[str], tables: Mapping[str, CalibrationTable], overwrite: bool = False
) -> None:
    """Writes a complete file or none. OutputError: `path` exists, or cannot be written."""
    write_new(path, serialize_tables(tables).encode(), overwrite)


def _lines(text: str | bytes, where: str) -> list[str]:
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise CalibrationError(f"{where}: is no calibration table: {error}") from error
    # str.splitlines would also split at characters that a name may have.
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _parse(lines: list[str], first: int, where: str) -> CalibrationTable:
    if not lines:
        raise CalibrationError(f"{where}: line {first}: a table's first line is missing")
    header = lines[0].rstrip("\r\n")
    _parse_header(header, f"{where}: line {first}")
    scales: dict[str, float] = {}
    for number, line in enumerate(lines[1:], first + 1):
        place = f"{where}: line {number}"
        if not line.strip():
            continue
        name, colon, digits = line.rstrip("\r\n").rpartition(": ")
        if not colon or not name or not re.fullmatch(r"[0-9A-Fa-f]{1,8}", digits):
            raise CalibrationError(
                f"{place} is {line.strip()[:80]!r}; it is TENSOR: SCALE with up to 8 hexadecimal "
                "digits"
            )
        if name in scales:
            raise CalibrationError(f"{place} has the tensor {name!r} a second time")
        scales[name] = struct.unpack(">f", bytes.fromhex(digits.zfill(8)))[0]
        _check_scale(scales[name], f"{place}: tensor {name!r}")
    return CalibrationTable(header, scales, lines[-1].endswith("\n"))


def _parse_header(header: str, where: str) -> tuple[tuple[int, int, int], str]:
    match = _HEADER.fullmatch(header)
    if not match:
        raise CalibrationError(
            f"{where} is {header[:80]!r}; a TensorRT calibration table begins with a line such as "
            f"TRT-8600-{TFTRT_ALGORITHM}"
        )
    number = int(match[1])
    # Up to 9 TensorRT counts by the thousand, from 10 by ten thousand.
    unit = 1000 if number < 10000 else 10000
    return (number // unit, number % unit // 100, number % 100), match[2]


def _number(version: tuple[int, ...]) -> int:
    major, minor, patch = version
    return major * (1000 if major < 10 else 10000) + minor * 100 + patch


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _check_scale(scale: float, where: str) -> None:
    if math.isnan(scale) or scale < 0:
        raise CalibrationError(
            f"{where} has the scale {scale}; a scale is at least 0. A NaN comes from calibration "
            "data or activations that overflow: look for them and calibrate again"
        )


def _bits(scale: float) -> int:
    return int.from_bytes(struct.pack(">f", scale), "big")


# Bindings, and tensors that TensorRT numbers itself: every engine has them.
_ANONYMOUS = re.compile(r"TensorRT(Input|Output)PH_\d+|\(Unnamed Layer\* \d+\).*")
_ENGINE_PREFIX = re.compile(r"TRTEngineOp_\d+_\d+(_[0-9a-f]{8})?/")


class TablesBySignature:
    """Shares one file's tables among signatures that are converted one after the other.

    A table that one signature has taken is not for the others: their nodes may have the same
    names. `alone`: there is only one signature.
    """

    def __init__(self, tables: Mapping[str, CalibrationTable], alone: bool) -> None:
        self._tables = tables
        self._alone = alone
        self._taken: dict[str, list[CalibrationTable]] = {}

    def of(self, signature: str, engines: Sequence[EngineNode]) -> dict[str, CalibrationTable]:
        """match_tables, with the tables that no other signature has taken. May be called again."""
        others = [found for name, found in self._taken.items() if name != signature]
        gone = {id(table) for found in others for table in found}
        free = {key: table for key, table in self._tables.items() if id(table) not in gone}
        found = match_tables(free, engines, all_tables=self._alone)
        self._taken[signature] = list(found.values())
        return found


def match_tables(
    tables: Mapping[str, CalibrationTable],
    engines: Sequence[EngineNode],
    where: str = "the calibration table",
    all_tables: bool = True,
) -> dict[str, CalibrationTable]:
    """The table of each INT8 engine of `engines`, by the engine's canonical name.

    `all_tables`: a table that no engine takes is an error. False if the file also has the tables
    of other signatures.

    CalibrationError: no table fits an engine (the message names the tensors of the nearest table
    that the engine does not have), or a table is left over.
    """
    wanted = [engine for engine in engines if engine.precision == "INT8"]
    free = dict(tables)
    found: dict[str, CalibrationTable] = {}

    def take(engine: EngineNode, key: str) -> None:
        found[engine.canonical_name] = free.pop(key)

    if len(wanted) == len(free):
        ordered = sorted(wanted, key=lambda engine: _order(engine.canonical_name))
        for engine, key in zip(ordered, sorted(free, key=_order)):
            if not unknown_tensors(free[key], engine):
                take(engine, key)
    for engine in wanted:
        if engine.canonical_name in found:
            continue
        fitting = [key for key, table in free.items() if not unknown_tensors(table, engine)]
        if not fitting:
            raise CalibrationError(_no_table(engine, tables, free, where))
        # Another signature's table may name a part of the tensors.
        take(engine, min(fitting, key=lambda key: (-len(free[key].scales), _order(key))))
    if free and all_tables:
        names = ", ".join(key or "without a name" for key in free)
        raise CalibrationError(
            f"{where} has {len(tables)} tables and the conversion {len(wanted)} INT8 engines: "
            f"{names} is left over. The model or the spec changed; calibrate again"
        )
    return found


def renamed(table: CalibrationTable, engine: str) -> CalibrationTable:
    """The table with `engine` in place of the engine that its layers' names begin with."""
    scales = {
        _ENGINE_PREFIX.sub(f"{engine}/", name, count=1): scale
        for name, scale in table.scales.items()
    }
    return dataclasses.replace(table, scales=scales)


def unknown_tensors(table: CalibrationTable, engine: EngineNode) -> list[str]:
    """Tensors of the table that are none of the engine's; empty where the segment is not known."""
    if not engine.has_segment:
        return []
    nodes = set(engine.node_names)
    return [name for name in table.scales if not in_segment(name, nodes)]


def in_segment(name: str, nodes: set[str]) -> bool:
    """Whether a table's line names a tensor of a segment with these nodes, or one without a name of
    its own."""
    if _ANONYMOUS.fullmatch(name):
        return True
    # Layers that a converter adds beside the node's own are named engine/node-part, and their
    # outputs layer_output; further outputs of a node are node:1.
    name = _ENGINE_PREFIX.sub("", name, count=1)
    if _ANONYMOUS.fullmatch(name):
        return True
    for form in (name, name.removesuffix("_output")):
        base = form
        while True:
            if base in nodes:
                return True
            shorter = re.sub(r"(:\d+|-[^-/]*)$", "", base)
            if shorter == base:
                break
            base = shorter
    return False


def _order(name: str) -> tuple[tuple[int, ...], str]:
    return tuple(map(int, re.findall(r"\d+", name))), name


def _no_table(
    engine: EngineNode,
    tables: Mapping[str, CalibrationTable],
    free: Mapping[str, CalibrationTable],
    where: str,
) -> str:
    text = f"{where} has no table for engine {engine.canonical_name}"
    if not free:
        return (
            f"{text}: it has {len(tables)} and all are taken by other engines. The model or the "
            "spec changed; calibrate again"
        )
    nearest = min(free.values(), key=lambda table: len(unknown_tensors(table, engine)))
    unknown = unknown_tensors(nearest, engine)
    shown = ", ".join(map(repr, unknown[:3])) + (", ..." if len(unknown) > 3 else "")
    return (
        f"{text}: the nearest names {len(unknown)} tensors that the engine does not have ({shown})."
        " The model or the spec changed; calibrate again"
    )
