"""Saves all signatures, converted and native, in one SavedModel."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from converters.model.graph_file import read_saved_model
from converters.tftrt.graph_edits import with_signature_names


def save_converted(
    folder: Path,
    functions: Mapping[str, Any],
    engines: Mapping[str, Any],
    natives: Sequence[Any],
    kept: list[str],
    source: Path,
    tags: Sequence[str],
) -> None:
    """Writes the SavedModel `folder`.

    Args:
      functions: converted concrete functions by signature.
      engines: the trackable resources of their engines by name (signature_v2.serialize_engines).
      natives: the loaded copies of the native model that the functions come from. The signatures
        `kept` are saved from the first copy, unchanged and with its variables.
      source: the folder of the native model, whose assets.extra is copied.
      tags: the tags of the SavedModel; tf.saved_model.save itself knows only "serve".

    TF-TRT's own save keeps one signature and drops what a converted function captures, such as
    the lookup tables of a vocabulary; here they stay.
    """
    import tensorflow as tf

    module = tf.Module()
    module.trt_engine_resources = dict(engines)
    # The first copy's names: those of further copies are the same.
    signatures = {
        name: with_signature_names(function, natives[0].signatures[name])
        for name, function in functions.items()
    }
    module.resources = _captured_resources(functions, natives)
    if kept:
        module.native = natives[0]
        signatures.update({name: natives[0].signatures[name] for name in kept})
    tf.saved_model.save(module, str(folder), signatures=signatures)
    if tuple(tags) != ("serve",):
        message = read_saved_model(folder)
        del message.meta_graphs[0].meta_info_def.tags[:]
        message.meta_graphs[0].meta_info_def.tags.extend(tags)
        (folder / "saved_model.pb").write_bytes(message.SerializeToString())
    extra = source / "assets.extra"
    if extra.is_dir():
        shutil.copytree(extra, folder / "assets.extra", dirs_exist_ok=True)
        for copied in (folder / "assets.extra").rglob("*"):
            _let_owner_write(copied)
        _let_owner_write(folder / "assets.extra")


def _let_owner_write(path: Path) -> None:
    """Makes a copied folder writable: a copy keeps the mode, and a read-only folder could not be
    removed."""
    if path.is_dir() and not path.is_symlink():
        path.chmod(path.stat().st_mode | stat.S_IRWXU)


def _captured_resources(functions: Mapping[str, Any], natives: Sequence[Any]) -> list[Any]:
    """The native models' objects (tables, not variables: those are frozen) whose handles the
    functions capture."""
    import tensorflow as tf

    handles = {id(outer) for function in functions.values() for outer, _ in function.graph.captures}
    if not handles:
        return []
    return [
        item
        for native in natives
        for item in tf.train.TrackableView(native).descendants()
        if id(getattr(item, "resource_handle", None)) in handles
    ]
