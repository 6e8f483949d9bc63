"""The tensors that a VideoDataset passes through: labels and aligned, a row for each video."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

RESERVED = (
    "clip_index",
    "crop",
    "filename",
    "flipped",
    "frames",
    "mask",
    "packets",
    "pts",
    "video_index",
)
_INSTEAD = "or pass row numbers and look them up in a map"
_CURES = {
    "RaggedTensor": f"pad it (x.to_tensor()), {_INSTEAD}",
    "SparseTensor": f"make it dense (tf.sparse.to_dense(x)), {_INSTEAD}",
}


def rows_from(labels: Any, aligned: Any) -> dict[str, Any]:
    """Returns nested structures of tensors by name.

    Raises:
      TypeError, ValueError: An argument cannot become tensors; the message names it.
    """
    if aligned is not None and not isinstance(aligned, Mapping):
        raise TypeError(
            f"aligned must be a dictionary of names and tensors; got {type(aligned).__name__}"
        )
    named: dict[str, Any] = {}
    for name, value in (aligned or {}).items():
        if not isinstance(name, str):
            raise TypeError(f"aligned has the name {name!r}; names must be strings")
        named[name] = _to_tensors(value, f"aligned[{name!r}]")
    if labels is not None:
        add_row(named, "label", _to_tensors(labels, "labels"))
    return named


def add_row(named: dict[str, Any], name: str, value: Any) -> None:
    if name in named:
        raise ValueError(f"{name!r} is passed through twice")
    named[name] = value


def check_rows(named: dict[str, Any], videos: tf.Tensor) -> None:
    """Raises ValueError if a name is reserved or a tensor lacks a row for each of `videos`."""
    for name, value in named.items():
        if name in RESERVED:
            raise ValueError(
                f"{name!r} is a name of VideoDataset's own ({', '.join(RESERVED)}); "
                "give what is passed through another one"
            )
        for tensor in tf.nest.flatten(value):
            if tensor.shape.rank == 0 or not videos.shape[:1].is_compatible_with(tensor.shape[:1]):
                raise ValueError(
                    f"labels and aligned need a row for each of the {videos.shape[0]} videos, "
                    f"got shape {tensor.shape} for {name!r}"
                )


def check_dense(value: Any, where: str) -> None:
    """Raises ValueError for a ragged or sparse tensor or its spec; the message shows no values."""
    kind = type(value).__name__.removesuffix("Spec")
    if kind in _CURES:
        raise ValueError(f"{where} is a {kind}, no tensor: {_CURES[kind]}")


def _to_tensors(value: Any, where: str) -> Any:
    """Converts as tf.data does: dictionaries and tuples are structure, a list is a tensor."""
    if isinstance(value, Mapping):
        return {name: _to_tensors(value[name], f"{where}[{name!r}]") for name in value}
    if isinstance(value, tuple):
        return tuple(_to_tensors(item, f"{where}[{i}]") for i, item in enumerate(value))
    check_dense(value, where)
    try:
        return tf.convert_to_tensor(value)
    except (TypeError, ValueError) as error:
        if "non-rectangular" in str(error):
            raise ValueError(
                f"{where} has rows of several lengths: pad them "
                f"(tf.ragged.constant(rows).to_tensor()), {_INSTEAD}"
            ) from None
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{where} can't be a tensor: {str(error)[:200]}") from None
