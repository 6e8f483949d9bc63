"""Tables of videos: dictionaries of columns, data frames and CSV files."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tf_nvcodec.python.arguments import file_name

_MISSING = ("", "None", "nan", "NaN", "<NA>")  # of CSV files, lists, NumPy and pandas


def arguments_from(table: Any, root: str | os.PathLike[str] | None) -> dict[str, Any]:
    """Returns the arguments of VideoDataset that the columns of `table` are.

    Raises:
      TypeError: `table` is no table.
      ValueError: It has no names of files, or a cell is no number of seconds.
    """
    if isinstance(table, (str, os.PathLike)):
        columns = _read_csv(os.fspath(table))
        root = os.path.dirname(os.fspath(table)) if root is None else root
    elif isinstance(table, Mapping):
        # VideoDataset takes a tuple for structure.
        columns = {n: list(c) if isinstance(c, tuple) else c for n, c in table.items()}
    elif hasattr(table, "columns"):
        columns = {name: np.asarray(table[name]) for name in table.columns}
    else:
        raise TypeError(
            "the table must be a dictionary of columns, a DataFrame or the name of a CSV file; got "
            f"{type(table).__name__}"
        )
    names = np.asarray(columns.pop("filename", None), object)
    if names.ndim != 1:
        raise ValueError(
            "the table needs a column 'filename' with a name for each row; its other columns are: "
            f"{', '.join(map(str, columns))}"
        )
    arguments: dict[str, Any] = {"filenames": [_under(root, name) for name in names.tolist()]}
    if "start" in columns or "end" in columns:
        times = [_seconds(columns, "start", 0.0, names), _seconds(columns, "end", math.inf, names)]
        arguments["segments"] = np.stack(times, axis=1)
    if "label" in columns:
        arguments["labels"] = columns.pop("label")
    if columns:
        arguments["aligned"] = columns
    return arguments


def _under(root: str | os.PathLike[str] | None, name: Any) -> Any:
    if root is None or not isinstance(name, (str, bytes, os.PathLike)):
        return name
    own = file_name(name)
    return own if b"://" in own else os.path.join(file_name(root), own)


def _seconds(columns: dict[str, Any], name: str, missing: float, names: np.ndarray) -> np.ndarray:
    """Removes and returns a column of times. A cell without a number is `missing`."""
    times = np.full(len(names), missing)
    column = np.asarray(columns.pop(name, times))
    if column.shape != times.shape:
        raise ValueError(f"column {name!r} has shape {column.shape}; there are {len(names)} names")
    for row, cell in enumerate(column):
        text = str(cell)  # A float32 time is the decimal number that it was.
        try:
            if text not in _MISSING:
                times[row] = float(text)
        except ValueError:
            raise ValueError(
                f"column {name!r} has {text!r} in row {row}, of {names[row]}: it must be a number "
                "of seconds, or empty"
            ) from None
    return times


def _read_csv(name: str) -> dict[str, Any]:
    with tf.io.gfile.GFile(name, "rb") as file:
        text = file.read().decode("utf-8-sig", "surrogateescape")
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    header = [column.strip() for column in next(reader, [])]
    rows = []
    for row in filter(None, reader):
        if len(row) != len(header):
            raise ValueError(
                f"{name}, line {reader.line_num}, has {len(row)} cells, but the header has "
                f"{len(header)}"
            )
        rows.append(row)
    cells = {column: [row[i] for row in rows] for i, column in enumerate(header)}
    return {
        column: cells[column] if column == "filename" else _typed(cells[column]) for column in cells
    }


def _typed(cells: list[str]) -> Any:
    """Returns numbers if all cells are numbers, else the cells."""
    if not any("_" in cell for cell in cells):  # Python reads 1_0 as 10.
        for kind, read in ((np.int64, int), (np.float64, float)):
            with contextlib.suppress(ValueError, OverflowError):
                return np.array([read(cell) for cell in cells], kind)
    return cells
