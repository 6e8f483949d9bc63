"""Runs one reader of readers.py under Atheris: `python fuzz_reader.py NAME [libFuzzer's options]`."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["converters", "readers"]):
    import converters.cli.spec_options
    import converters.report.inspect_model
    import readers

if __name__ == "__main__":
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, lambda data: readers.take(name, data))
    atheris.Fuzz()
