"""What a SavedModel takes and gives, read from its file: the ops of the model need not be known."""

from __future__ import annotations

import os
from typing import NamedTuple

import tensorflow as tf


class ServedTensor(NamedTuple):
    """An input or output whose first dimension is the batch.

    Attributes:
      name: Its name in the signature.
      dtype: Its dtype.
      dims: Its other dimensions; None is unknown.
    """

    name: str
    dtype: tf.DType
    dims: tuple[int | None, ...]


class ServedSignature(NamedTuple):
    """The inputs and outputs of a signature, in the order of their names."""

    inputs: list[ServedTensor]
    outputs: list[ServedTensor]


def read_signature(model: str | os.PathLike[str], name: str) -> ServedSignature:
    """Reads a signature that servers can batch.

    Args:
      model: The folder of a SavedModel.
      name: The signature, such as "serving_default".

    Raises:
      FileNotFoundError: There is no SavedModel.
      ValueError: There is no such signature, or one of its tensors has no batch dimension of any
        size.
    """
    folder = os.fspath(model)
    path = os.path.join(folder, "saved_model.pb")
    if not tf.io.gfile.exists(path):
        raise FileNotFoundError(f"{folder}: no SavedModel there (a folder with saved_model.pb)")
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel()
    with tf.io.gfile.GFile(path, "rb") as file:
        saved.ParseFromString(file.read())
    found = next(
        (graph for graph in saved.meta_graphs if "serve" in graph.meta_info_def.tags), None
    )
    if found is None:
        raise ValueError(f"{folder} has no graph with the tag 'serve'")
    # TensorFlow's own, which runs the initializers.
    names = sorted(key for key in found.signature_def if not key.startswith("__"))
    if name not in names:
        raise ValueError(f"{folder} has no signature {name!r}, only: {', '.join(names)}")
    signature = found.signature_def[name]
    return ServedSignature(_tensors(signature.inputs), _tensors(signature.outputs))


def _tensors(infos: object) -> list[ServedTensor]:
    found = []
    for name, info in sorted(infos.items()):  # type: ignore[attr-defined]
        shape = tf.TensorShape(info.tensor_shape)
        if shape.rank is None or shape.rank == 0 or shape[0] is not None:
            raise ValueError(
                f"{name!r} has the shape {shape}: a server batches requests along a first "
                "dimension of any size. Export the model with [None, ...] for each input and output"
            )
        found.append(ServedTensor(name, tf.as_dtype(info.dtype), tuple(shape.as_list()[1:])))
    return found
