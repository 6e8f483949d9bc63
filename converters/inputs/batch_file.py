"""Named arrays in a file, on their way between this package's own processes."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from converters.util.errors import OutputError


def write_batch(path: Path, arrays: Mapping[str, Any], cure: str) -> None:
    """OutputError with the cure when the file cannot be written.

    Pickle, since numpy's files hold neither TensorFlow's bfloat16 nor strings; both ends are ours.
    """
    try:
        with open(path, "wb") as file:
            pickle.dump(dict(arrays), file, protocol=5)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error}. {cure}") from error


def read_batch(path: Path) -> dict[str, Any]:
    """What write_batch wrote."""
    with open(path, "rb") as file:
        found: dict[str, Any] = pickle.load(file)
    return found
