"""Ops that are not TensorFlow's own: loads them here and in every child process.

A model with such ops can be loaded only where they are registered, by importing a Python module
(`import tf_nvcodec`) or by loading an op library (`tf.load_op_library`).
"""

from __future__ import annotations

import importlib
import os
import re
import time
from collections.abc import Iterable
from typing import Any

from converters.util.errors import SpecError

_UNKNOWN = re.compile(r"Op type not registered '([^']+)'")
# What this process has loaded, in order. A child process loads the same.
_imports: list[str] = []
_libraries: list[str] = []
_seconds = [0.0]


def load_custom_ops(imports: Iterable[str] = (), op_libraries: Iterable[str] = ()) -> None:
    """Registers the ops of Python modules and of op libraries, here and in later child processes.

    Raises:
      SpecError: a module cannot be imported, or a library cannot be loaded.
    """
    began = time.perf_counter()
    for name in imports:
        if name not in _imports:
            try:
                importlib.import_module(name)
            except Exception as error:
                raise SpecError(
                    f"imports={name!r} (--import {name}) cannot be imported: "
                    f"{type(error).__name__}: {error}"
                ) from error
            _imports.append(name)
    for library in map(os.path.abspath, op_libraries):
        if library not in _libraries:
            import tensorflow as tf

            try:
                tf.load_op_library(library)
            except Exception as error:
                raise SpecError(
                    f"op_libraries={library!r} (--op-library) cannot be loaded: {error}"
                ) from error
            _libraries.append(library)
    _seconds[0] += time.perf_counter() - began


def seconds_of_loading() -> float:
    """The time that `load_custom_ops` took in this process; it imports TensorFlow."""
    return _seconds[0]


def loaded_custom_ops() -> dict[str, Any]:
    """The arguments with which a child process calls `load_custom_ops`."""
    return {"imports": list(_imports), "op_libraries": list(_libraries)}


def unknown_op(path: str | os.PathLike[str], said: str) -> str | None:
    """What to tell the user if `said`, TensorFlow's error, is about an op it does not know."""
    found = _UNKNOWN.search(said)
    if found is None:
        return None
    return (
        f"{path} has the op {found[1]!r}, which TensorFlow does not know. Name the Python module "
        'that registers it, imports=["module"] (--import module), or its op library, '
        'op_libraries=["ops.so"] (--op-library ops.so)'
    )
