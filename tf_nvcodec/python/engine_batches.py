"""Which batches the TensorRT engines of a converted model take."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

# What `trt-convert convert` leaves beside the model.
_RECORD = "conversion.json"
# What `export_video_model` leaves in the model for `tf-nvcodec deploy`.
BATCHES_FILE = os.path.join("assets.extra", "tf_nvcodec_batches.json")


class EngineBatches(NamedTuple):
    """The sizes of the batch that engines were built for.

    Attributes:
      sizes: In ascending order.
      between: Whether they serve every size from the smallest to the largest of `sizes`, not these
        alone.
    """

    sizes: tuple[int, ...]
    between: bool

    @property
    def largest(self) -> int:
        return self.sizes[-1]

    def filled(self, size: tf.Tensor) -> tf.Tensor:
        """Returns the size, int32, to which a batch of `size` has to be filled for an engine: the
        same where no filling helps."""
        steps = tf.constant(self.sizes[:1] if self.between else self.sizes)
        fitting = steps >= size
        enough = tf.reduce_min(tf.where(fitting, steps, self.largest))
        return tf.where(tf.reduce_any(fitting), enough, size)


def engine_batches(
    model: str | os.PathLike[str], signature: str, argument: str
) -> EngineBatches | None:
    """Reads from the record of the conversion which batches of an input the engines take.

    Args:
      model: The folder of a SavedModel.
      signature: The name of the signature.
      argument: The name of its input.

    Returns:
      The batches; None if `trt-convert convert` did not write the model, or no engine was built.

    Raises:
      ValueError: The record can't be read.
    """
    path = os.path.join(os.fspath(model), _RECORD)
    if not tf.io.gfile.exists(path):
        return None
    try:
        record = _read(path)
        found = [one for one in record["signatures"] if one["name"] == signature]
        shapes = [shapes[argument] for one in found for shapes in one["shapes"]]
        return _batches(record["spec"], [int(dims[0]) for dims in shapes])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(
            f"{path} is no record of a conversion ({error!r}): convert the model again"
        ) from None


def _read(path: str) -> Any:
    with tf.io.gfile.GFile(path) as file:
        return json.load(file)


def _batches(spec: Mapping[str, Any], built: Sequence[int]) -> EngineBatches | None:
    if not built:
        return None
    sizes = tuple(sorted(set(built)))
    if not spec["explicit_batch"]:
        # An engine with an implicit batch serves the smaller ones, too.
        return EngineBatches((1, *sizes) if sizes[0] > 1 else sizes, True)
    # A profile is made for each of the shapes, from the smallest to the largest, or both.
    return EngineBatches(sizes, spec["profile_strategy"] != "Optimal")


def largest_batch(model: str | os.PathLike[str], signature: str, argument: str) -> int | None:
    """Returns the largest batch that suits a model for videos; None if any does.

    Raises:
      ValueError: The model's own notes on this can't be read.
    """
    # A conversion after the export has the last word.
    known = engine_batches(model, signature, argument)
    if known is not None:
        return known.largest
    path = os.path.join(os.fspath(model), BATCHES_FILE)
    if not tf.io.gfile.exists(path):
        return None
    try:
        return int(_read(path)["largest_batch"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} can't be read ({error!r}): export the model again") from None
