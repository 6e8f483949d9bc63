"""The fuzz targets of converters: readers of files that may come from anyone.

Each takes any bytes and may raise a ConverterError, and nothing else. fuzz_reader.py feeds them
under Atheris; test_fuzz_regressions.py feeds them what it found.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from converters.int8.calibration_table import CalibrationTable, parse_tables, serialize_tables
from converters.model.engine_file import plan_header, read_engine_file, tfrecord
from converters.util.errors import ConverterError

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


def record(data: bytes) -> None:
    """A conversion.json: as a spec, and beside a model."""
    from converters.cli.spec_options import _read
    from converters.segments.reasons import find_record, options_of

    path = _file("record/conversion.json", data)
    spec = None
    try:
        spec = _read(path)
    except ConverterError:
        pass
    if spec is not None:
        try:
            spec.resolved()
        except ConverterError:
            pass
    options_of(find_record(path.parent, None), None)


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
