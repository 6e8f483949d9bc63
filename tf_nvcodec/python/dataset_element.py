"""What an element of a VideoDataset looks like, to tf.data and to the op."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from tf_nvcodec.python import loader
from tf_nvcodec.python.dataset_source import Source

# The dataset's arguments that the decoding ops have too and that decide the shape of frames.
_DECODE_ARGUMENTS = ("size", "crop", "pixel_format", "dtype", "layout")


class Element(NamedTuple):
    """Attributes:
    spec: A dictionary of TensorSpecs.
    types, shapes: Those of the components in tf.data's order, which sorts names.
    order: For each of these components, its number in the op's order.
    """

    spec: dict[str, Any]
    types: list[tf.DType]
    shapes: list[tf.TensorShape]
    order: list[int]


def element_of(source: Source, arguments: dict[str, Any]) -> Element:
    """Returns the element of the dataset that the op makes with `arguments`."""
    length = arguments["clip_length"]
    scalar = tf.TensorSpec([], tf.int64)
    # The order is the op's.
    spec: dict[str, Any] = {
        **(
            {"frames": _frames_spec(length, arguments)}
            if arguments["decode"]
            else {"packets": tf.TensorSpec([], tf.string)}
        ),
        "pts": tf.TensorSpec([length], tf.float64),
        "mask": tf.TensorSpec([length], tf.bool),
        "video_index": scalar,
        "clip_index": scalar,
        "filename": tf.TensorSpec([], tf.string),
    }
    numbers: dict[str, Any] = {name: i for i, name in enumerate(spec)}
    rows = tf.nest.map_structure(lambda t: tf.TensorSpec(t.shape[1:], t.dtype), source.aligned)
    places = range(len(spec), len(spec) + len(tf.nest.flatten(rows)))
    spec.update(rows)
    if arguments["random_resized_crop"] or arguments["random_crop"] or arguments["flip"]:
        spec.update(crop=tf.TensorSpec([4], tf.int32), flipped=tf.TensorSpec([], tf.bool))
        numbers.update(crop=places.stop, flipped=places.stop + 1)
    numbers.update(tf.nest.pack_sequence_as(rows, list(places)))
    flat = tf.nest.flatten(spec)
    return Element(spec, [s.dtype for s in flat], [s.shape for s in flat], tf.nest.flatten(numbers))


def _frames_spec(length: int, arguments: dict[str, Any]) -> tf.TensorSpec:
    """Asks the decoding op's shape function."""
    if arguments["random_crop"]:
        crop = tf.constant([0, 0, *arguments["random_crop"]], tf.int32)
        arguments = {**arguments, "crop": crop}
    chosen = {name: arguments[name] for name in _DECODE_ARGUMENTS if name in arguments}
    with tf.Graph().as_default():
        for name in ("size", "crop"):
            value = tf.get_static_value(arguments[name])
            # The value is known only when the dataset is made. The rank and the channels of the
            # frames do not depend on it.
            chosen[name] = (
                tf.compat.v1.placeholder(tf.int32, arguments[name].shape)
                if value is None
                else value.tolist()
            )
        frames = loader.ops.video_decode_frames_at(
            contents="", positions=tf.zeros([length], tf.int64), **chosen
        ).frames
        return tf.TensorSpec(frames.shape, frames.dtype)
