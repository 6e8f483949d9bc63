"""All signatures, converted and native, in one SavedModel, with what they need to load."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def save_converted(
    folder: Path,
    functions: Mapping[str, Any],
    engines: Mapping[str, Any],
    native: Any,
    kept: list[str],
    source: Path,
) -> None:
    """Writes the SavedModel `folder`.

    Args:
      functions: converted concrete functions by signature.
      engines: the trackable resources of their engines by name (tftrt_v2.serialize_engines).
      native: the loaded model; its signatures `kept` go along as they are, with its variables.
      source: the folder of the native model, whose assets.extra is copied.

    TF-TRT's own save keeps one signature and drops what a converted function captures, such as
    the lookup tables of a vocabulary; here they stay.
    """
    import tensorflow as tf

    module = tf.Module()
    module.trt_engine_resources = dict(engines)
    signatures = dict(functions)
    if kept:
        module.native = native
        signatures.update({name: native.signatures[name] for name in kept})
    else:
        module.resources = _captured_resources(functions, native)
    tf.saved_model.save(module, str(folder), signatures=signatures)
    extra = source / "assets.extra"
    if extra.is_dir():
        shutil.copytree(extra, folder / "assets.extra", dirs_exist_ok=True)


def _captured_resources(functions: Mapping[str, Any], native: Any) -> list[Any]:
    """The native model's objects (tables, not variables: those are frozen) whose handles the
    functions capture."""
    import tensorflow as tf

    handles = {id(outer) for function in functions.values() for outer, _ in function.graph.captures}
    if not handles:
        return []
    descendants = tf.train.TrackableView(native).descendants()
    return [item for item in descendants if id(getattr(item, "resource_handle", None)) in handles]
