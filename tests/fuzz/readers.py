"""The fuzz targets of converters: readers of files that may come from anyone.

Each takes any bytes and may raise a ConverterError, and nothing else. fuzz_reader.py feeds them
under Atheris; test_fuzz_regressions.py feeds them what it found.
"""

from __future__ import annotations

import contextlib
import copy
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from converters.int8.calibration_table import CalibrationTable, parse_tables, serialize_tables
from converters.model.engine_file import plan_header, read_engine_file, tfrecord
from converters.util.errors import ConverterError

_GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "converted"
_FOLDER = tempfile.TemporaryDirectory(prefix="tf_nvcodec_fuzz_")


def _file(name: str, data: bytes) -> Path:
    path = Path(_FOLDER.name, name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def engine_file(data: bytes) -> None:
    """The first byte says whether the rest is a TFRecord, or the message inside one."""
    plan_header(data[1:])
    rest = data[1:] if data[:1] > b"\x7f" else tfrecord(data[1:])
    for engine in read_engine_file(_file("engines", rest)):
        plan_header(engine.plan)
        str(engine)


def calibration_table(data: bytes) -> None:
    tables = parse_tables(data)
    for table in tables.values():
        CalibrationTable.parse(table.serialize())
        table.ranges()
    assert parse_tables(serialize_tables(tables))


def model(data: bytes) -> None:
    """The first byte says which kind of file the rest is. `inspect` reads what is in it."""
    from converters.report.inspect_model import inspect_model

    kinds = ("saved/saved_model.pb", "graph.pb", "graph.meta", "graph.pbtxt")
    kind = kinds[data[0] % len(kinds)] if data else kinds[0]
    path = _file(kind, data[1:])
    inspect_model(path.parent if kind == kinds[0] else path, ask=False)


# What a field of a JSON file is replaced by.
_VALUES = (None, "x", "[", "", -1, 0, 2**70, 1e300, True, [], {}, [[1]], ["x", 1], {"a": [1]})


def record(data: bytes) -> None:
    """A conversion.json or a denylist: as a spec, and beside a model. If the first byte is no
    bracket, each pair of bytes replaces a field of a conversion's own record."""
    from converters.cli.spec_options import _read
    from converters.denylist_search import Denylist
    from converters.segments.reasons import find_record, options_of

    if data[:1] not in (b"{", b"["):
        data = json.dumps(_edited(data)).encode()
    path = _file("record/conversion.json", data)

    def spec() -> None:
        _read(path).resolved()

    for read in (
        spec,
        lambda: Denylist.read(path),
        lambda: options_of(find_record(path.parent, None), None),
    ):
        with contextlib.suppress(ConverterError):
            read()


def _edited(edits: bytes) -> Any:
    found = json.loads((_GOLDEN / "int8" / "conversion.json").read_text())
    for which, value in zip(edits[:40:2], edits[1:40:2]):
        fields = list(_fields(found))
        holder, name = fields[which % len(fields)]
        holder[name] = copy.deepcopy(_VALUES[value % len(_VALUES)])
    return found


def _fields(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place in a JSON value where another value can be put."""
    for name in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, name
        if isinstance(value[name], (dict, list)):
            yield from _fields(value[name])


READERS: dict[str, Callable[[bytes], None]] = {
    "engine_file": engine_file,
    "calibration_table": calibration_table,
    "model": model,
    "record": record,
}


def take(name: str, data: bytes) -> None:
    """Gives `data` to a reader. A ConverterError is the right answer to a bad file."""
    try:
        READERS[name](data)
    except ConverterError as error:
        assert str(error)
