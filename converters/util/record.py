"""What a conversion leaves beside the model: conversion.json, and a script that repeats it."""

from __future__ import annotations

import dataclasses
import glob
import hashlib
import json
import os
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

RECORD = "conversion.json"
SCRIPT = "repeat.sh"
LOG = "conversion.log"
TABLE = "calibration.calib_table"
# The options of `trt-convert convert` that name data, by the argument of `convert`.
DATA_OPTIONS = {
    "build_data": "--build-data",
    "calibration_data": "--calibrate",
    "verify_data": "--verify-data",
}
# The files and folders that make up a SavedModel; TensorFlow reads nothing else in its folder.
SAVED_MODEL_NAMES = (
    *("saved_model.pb", "saved_model.pbtxt", "fingerprint.pb", "keras_metadata.pb"),
    *("variables", "assets", "assets.extra"),
)


def file_hashes(
    folder: str | os.PathLike[str], leave_out: Collection[str] = (RECORD, SCRIPT)
) -> dict[str, str]:
    """The SHA-256 of every file below `folder`, by its path within it. `leave_out` names files and
    folders of `folder` to skip."""
    root = Path(folder)
    hashes = {}
    for path in sorted(_files(root, leave_out)):
        if path.is_file():
            hashes[path.relative_to(root).as_posix()] = file_hash(path)
    return hashes


def _files(root: Path, leave_out: Collection[str]) -> Iterator[Path]:
    """Every file below `root`. Links to folders are followed as TensorFlow does, each once."""
    seen = set()
    for top, folders, files in os.walk(root, followlinks=True):
        real = os.path.realpath(top)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        out = leave_out if Path(top) == root else ()
        folders[:] = [name for name in folders if name not in out]
        yield from (Path(top, name) for name in files if name not in out)


def source_hashes(source: Path) -> dict[str, str]:
    """The SHA-256 of each file that a model is made of, by its name. A MetaGraph's checkpoint
    belongs to it."""
    if source.name in ("saved_model.pb", "saved_model.pbtxt"):
        source = source.parent
    if source.is_dir():
        other = [file.name for file in source.iterdir() if file.name not in SAVED_MODEL_NAMES]
        return file_hashes(source, other)
    files = [source]
    if source.suffix == ".meta":
        prefix = glob.escape(source.stem)
        files += [p for end in ("index", "data-*") for p in source.parent.glob(f"{prefix}.{end}")]
    return {path.name: file_hash(path) for path in sorted(files)}


def settings() -> dict[str, str]:
    """The environment variables that TF-TRT's C++ code reads; a repeated run needs the same."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("TF_TRT_")}


def file_hash(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file. It is read in pieces, because models have gigabytes."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def write_record(folder: str | os.PathLike[str], record: Mapping[str, Any]) -> Path:
    """Writes `record` as conversion.json; "files" gets the hashes of the folder's files.

    Objects with a to_json, dataclasses, paths and numpy's numbers become JSON values.
    """
    values = {**record, "files": record.get("files") or file_hashes(folder)}
    path = Path(folder) / RECORD
    path.write_text(json.dumps(values, indent=2, default=_plain) + "\n", encoding="utf-8")
    return path


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The record of a converted model's folder, or of the file itself."""
    found = Path(path)
    record: dict[str, Any] = read_json(found / RECORD if found.is_dir() else found)
    return record


def read_json(path: Path) -> Any:
    """The value of a JSON file that may come from anyone; ValueError if it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write_repeat_script(
    folder: str | os.PathLike[str],
    source: str | os.PathLike[str],
    arguments: Sequence[str] = (),
    missing: str | None = None,
) -> Path:
    """Writes repeat.sh, which converts `source` again by the spec in conversion.json.

    The script first checks that source and data have not changed (repeat_check.py). If `folder`
    has a calibration table, the repeated conversion reads it, even when the folder was moved.

    `arguments` are options of `trt-convert convert` that the spec does not hold, such as
    ["--calibrate", "/data/batches.npz"]. `missing` says why the conversion cannot be repeated, for
    example because the data was a Python object. The script then prints that and stops.
    """
    package = str(Path(__file__).resolve().parents[2])
    lines = [
        "#!/bin/sh",
        "# Repeats the conversion that made this folder, by the spec in conversion.json.",
        "# PYTHON names another interpreter, with TensorFlow and TensorRT.",
        "set -eu",
        'if [ $# -ne 1 ]; then echo "usage: $0 OUT (a new folder)" >&2; exit 2; fi',
    ]
    if missing is not None:
        lines.append(
            f"echo {shlex.quote(f'error: this cannot be repeated: {missing}')} >&2; exit 1"
        )
    else:
        model = shlex.quote(os.path.abspath(source))
        own_table = (Path(folder) / TABLE).exists()
        given = "".join(f" {shlex.quote(text)}" for text in arguments)
        lines += [
            'here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)',
            f"PYTHONPATH={shlex.quote(package)}${{PYTHONPATH:+:$PYTHONPATH}}",
            "export PYTHONPATH",
            *(f"export {name}={shlex.quote(value)}" for name, value in settings().items()),
            f'python="${{PYTHON:-{_in_double_quotes(sys.executable)}}}"',
            f'"$python" -m converters.repeat_check "$here/{RECORD}" {model}{given}',
            'exec "$python" -m converters convert \\',
            f'  {model} "$1" \\',
            f'  --spec "$here/{RECORD}"{given}'
            + (f' --calibration-table "$here/{TABLE}"' if own_table else ""),
        ]
    path = Path(folder) / SCRIPT
    # A file's name need not be UTF-8.
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
    path.chmod(path.stat().st_mode | 0o111)
    return path


def _in_double_quotes(text: str) -> str:
    return "".join(f"\\{letter}" if letter in '\\"$`}' else letter for letter in text)


def _plain(value: Any) -> Any:
    """Turns a value that json cannot write into one that it can."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} has no place in {RECORD}: {value!r}")
