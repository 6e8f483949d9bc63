"""Runs one reader of readers.py under Atheris: `python fuzz_reader.py NAME [OPTION...]`.

The options are libFuzzer's.
"""

from __future__ import annotations

import sys

import atheris

# The readers import these inside functions; Atheris instruments what is imported here.
with atheris.instrument_imports(include=["converters", "readers"]):
    import readers

    import converters.cli.spec_options
    import converters.denylist_search
    import converters.report.inspect_model  # noqa: F401

if __name__ == "__main__":
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, lambda data: readers.take(name, data))
    atheris.Fuzz()
