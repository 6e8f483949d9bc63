"""Checks that a conversion's source and data have not changed since its record was written.

Each repeat.sh runs this module before it repeats a conversion.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from converters.inputs.data_sources import files_of
from converters.util.errors import ConverterError, ModelError
from converters.util.record import DATA_OPTIONS, file_hash, read_record, source_hashes


def check_unchanged(
    record: Mapping[str, Any], source: str | Path, data: Mapping[str, Sequence[str]]
) -> None:
    """ModelError names the first file that has changed, with both hashes.

    `data` is what the repeated conversion is given, by the names of DATA_OPTIONS: files, folders
    and patterns. If a calibration table or data is missing, the conversion itself reports it.
    """
    if not Path(source).exists():
        raise ModelError(f"{source} is not there any more")
    before = dict(record.get("source_hash", {}))
    now = source_hashes(Path(source)) if before else {}
    hashes = record.get("data_hash", {})
    table = hashes.get("calibration_table", {})
    there = {name: was for name, was in table.items() if os.path.isabs(name)}
    current = {"calibration_table": [Path(name) for name in there if Path(name).is_file()]}
    current.update({name: files_of(list(paths)) for name, paths in data.items()})
    for name, files in current.items():
        if files and name in hashes:
            before.update(hashes[name])
            now.update({str(file): file_hash(file) for file in files})
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if changed:
        name = changed[0]
        more = f", and {len(changed) - 1} more files have changed" if changed[1:] else ""
        raise ModelError(
            f"{source} or its data has changed since it was converted: {name} had the SHA-256 "
            f"{before.get(name, '(no such file)')} and has {now.get(name, '(no such file)')}{more}"
        )


def main(argv: Sequence[str]) -> int:
    """`python -m converters.repeat_check conversion.json SOURCE`, with the options of `convert`
    that name data; 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("record")
    parser.add_argument("source")
    for name, option in DATA_OPTIONS.items():
        parser.add_argument(option, dest=name, action="append", default=[])
    args, _ = parser.parse_known_args(argv)
    try:
        data = {name: getattr(args, name) for name in DATA_OPTIONS}
        check_unchanged(read_record(args.record), args.source, data)
    except (ConverterError, OSError, ValueError) as error:
        print(
            f"error: the conversion is not repeated: {error}. To convert the model as it is now, "
            f"run trt-convert convert with --spec {args.record}",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
