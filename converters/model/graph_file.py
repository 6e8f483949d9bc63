"""Reads a model's protobufs from disk: SavedModel, frozen GraphDef, MetaGraph. Nothing is executed.

Only TensorFlow's protobuf classes are used, so that models with ops that this TensorFlow does not
have (TRTEngineOp, from 2.18 on) are read like any other.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from converters.util.errors import ModelError

# Protobuf refuses a message of 2 GiB or more.
_PROTOBUF_LIMIT = 2**31
KERAS_SUFFIXES = (".keras", ".h5", ".hdf5")
_TEXT = (".pbtxt", ".prototxt", ".textproto")


def read_saved_model(folder: Path) -> Any:
    """The SavedModel message of `folder`; ModelError says what is there instead."""
    binary, text = folder / "saved_model.pb", folder / "saved_model.pbtxt"
    if binary.is_file() or text.is_file():
        from tensorflow.core.protobuf import saved_model_pb2

        path = binary if binary.is_file() else text
        message = _parse(path, saved_model_pb2.SavedModel(), "SavedModel")
        if not message.meta_graphs:
            raise ModelError(
                f"{path} holds no MetaGraph ({_size(path)}): it is cut off or no SavedModel. "
                "Copy or export the model again."
            )
        return message
    raise ModelError(f"{folder} is no SavedModel: it has no saved_model.pb. {_instead(folder)}")


def meta_graph(message: Any, folder: Path, tags: Sequence[str] | None) -> Any:
    """The MetaGraphDef of `tags`; with None the one tagged "serve", or the only one there is."""
    sets = [tuple(sorted(graph.meta_info_def.tags)) for graph in message.meta_graphs]
    if tags is not None:
        wanted = tuple(sorted(set(tags)))
        found = [i for i, present in enumerate(sets) if present == wanted]
    else:
        found = [i for i, present in enumerate(sets) if present == ("serve",)]
        if not found and len(sets) == 1:
            found = [0]
    if not found:
        there = "; ".join(", ".join(present) or "(no tag)" for present in sets)
        asked = "no tags were given" if tags is None else f"the tags {', '.join(tags)} were asked"
        raise ModelError(
            f"{folder}: {asked}, but the SavedModel's tag sets are: {there}. Give one of those."
        )
    return message.meta_graphs[found[0]]


def read_graph_def(path: Path) -> Any:
    """The GraphDef of a frozen .pb or .pbtxt file."""
    from tensorflow.core.framework import graph_pb2

    message = _parse(path, graph_pb2.GraphDef(), "frozen GraphDef")
    if not message.node:
        raise ModelError(
            f"{path} holds no node ({_size(path)}): it is cut off or no frozen GraphDef. "
            "For a SavedModel give its folder."
        )
    return message


def read_meta_graph(path: Path) -> Any:
    """The MetaGraphDef of a checkpoint's .meta file."""
    from tensorflow.core.protobuf import meta_graph_pb2

    message = _parse(path, meta_graph_pb2.MetaGraphDef(), "MetaGraph")
    if not message.graph_def.node:
        raise ModelError(
            f"{path} holds no graph ({_size(path)}): it is cut off or no MetaGraph. "
            "Write it again with tf.compat.v1.train.Saver."
        )
    return message


def _parse(path: Path, message: Any, kind: str) -> Any:
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    try:
        _check_file(path)
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}.") from error
    try:
        if path.suffix in _TEXT:
            text_format.Parse(data.decode("utf-8"), message, allow_unknown_field=True)
        else:
            message.ParseFromString(data)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise ModelError(
            f"{path} is no {kind}, or is damaged ({len(data)} bytes): {error}. "
            "Copy or export the model again."
        ) from error
    return message


def _check_file(path: Path) -> None:
    """ModelError for a file that could not be read to its end, or would take all memory."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ModelError(f"{path} is no regular file. Give one.")
    if not found.st_size:
        raise ModelError(f"{path} is empty. Copy or export the model again.")
    if found.st_size >= _PROTOBUF_LIMIT:
        raise ModelError(
            f"{path} has {found.st_size} bytes; a protobuf of 2 GiB or more cannot be read. "
            "Save the model as a SavedModel, whose weights are in files of their own."
        )


def _size(path: Path) -> str:
    return f"{path.stat().st_size} bytes"


def _instead(folder: Path) -> str:
    """What `folder` holds, and what to give instead."""
    if (folder / "saved_model.cpb").is_file():
        return "It has a saved_model.cpb, a chunked model over 2 GiB, which TF-TRT cannot take."
    inner = sorted(path.parent.name for path in folder.glob("*/saved_model.pb*"))
    if inner:
        return f"Give the folder of one of its versions: {', '.join(inner)}."
    names = sorted(path.name for path in folder.iterdir())
    if not names:
        return "It is empty."
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"It holds: {shown}. Give a SavedModel folder, a frozen .pb or a .meta file."
