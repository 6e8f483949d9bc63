"""Finds out what the network of an exported video model takes and gives."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf
from typing_extensions import TypeAlias

from tf_nvcodec.python.engine_batches import EngineBatches, engine_batches

Outputs: TypeAlias = "dict[str, tf.Tensor]"

_CHANNELS = (1, 3)


class Frame(NamedTuple):
    """A frame as the network takes it.

    Attributes:
      height: Its rows; None if the network takes any number.
      width: Its columns, likewise.
      channels: 1 or 3.
      channels_first: Whether the channels come before height and width.
      before_time: Whether they come before the frames of a clip, too: [N, C, T, H, W].
      dtype: What the network takes.
    """

    height: int | None
    width: int | None
    channels: int
    channels_first: bool
    before_time: bool
    dtype: tf.DType

    @property
    def decoded_dtype(self) -> tf.DType:
        """The dtype to decode to: that of the network if the decoder has it."""
        if self.dtype in (tf.uint8, tf.uint16, tf.float16, tf.float32):
            return self.dtype
        return tf.float32 if self.dtype.is_floating else tf.uint8

    def shape(self, size: Sequence[int], clip: Sequence[int]) -> list[int]:
        """The shape of an image (`clip` is empty) or of a clip of [T] frames, without N."""
        if self.before_time:
            return [self.channels, *clip, *size]
        if self.channels_first:
            return [*clip, self.channels, *size]
        return [*clip, *size, self.channels]

    def arranged(self, frames: tf.Tensor, of_images: bool) -> tf.Tensor:
        """Brings decoded images [N, H, W, C] or [N, C, H, W], or clips of them, to the network's
        order and dtype."""
        if self.before_time and not of_images:
            frames = tf.transpose(frames, [0, 2, 1, 3, 4])
        return tf.cast(frames, self.dtype)


class Network(NamedTuple):
    """A network on images or clips.

    Attributes:
      call: Takes a batch and returns the outputs by name.
      kept: What must be saved with it.
      frame: What a frame is.
      of_images: Whether it takes images; else it takes clips.
      length: The frames of a clip; None if it takes any number.
      batches: What its TensorRT engines take; None if it has none, or they are not known.
    """

    call: Callable[[tf.Tensor], Outputs]
    kept: Any
    frame: Frame
    of_images: bool
    length: int | None
    batches: EngineBatches | None = None


def network_from(network: Any, takes: tf.TensorSpec | None, signature: str) -> Network:
    """Returns the network for every form that `export_video_model` accepts.

    Raises:
      FileNotFoundError: There is no such SavedModel or file.
      TypeError: It is none of those forms.
      ValueError: Its input is not known, or is no batch of images or clips.
    """
    folder = None
    if isinstance(network, (str, os.PathLike)):
        folder = os.fspath(network)
        network = _loaded(folder)
    if _is_keras(network):
        found = takes or _keras_input(network)
        return _described(lambda batch: _by_name(network(batch, training=False)), network, found)
    signatures = getattr(network, "signatures", None)
    if signatures:
        found, argument = _of_signature(network, signatures, signature, takes)
        if folder is not None:
            found = found._replace(batches=engine_batches(folder, signature, argument))
        return found
    if not callable(network):
        raise TypeError(
            "network must be the folder of a SavedModel, a .keras file, a Keras model, a tf.Module "
            f"or a function of one tensor; got {type(network).__name__}"
        )
    spec = takes or _own_spec(network)
    # Plain Python may have an `if` or a loop over tensors.
    function = network if hasattr(network, "get_concrete_function") else tf.function(network)
    return _described(lambda batch: _by_name(function(batch)), network, spec)


def _loaded(path: str) -> Any:
    if path.endswith((".keras", ".h5")):
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path}: no such file here (a Keras file must be local)")
        return tf.keras.models.load_model(path, compile=False)
    if not tf.saved_model.contains_saved_model(path):
        raise FileNotFoundError(f"{path}: no SavedModel there (a folder with saved_model.pb)")
    return tf.saved_model.load(path)


def _is_keras(network: Any) -> bool:
    # Keras takes seconds to import. If nobody has imported it, nobody has a model of it.
    for name in ("keras", "tf_keras"):
        module = sys.modules.get(name)
        if module is not None and isinstance(network, module.Model):
            return True
    return False


def _keras_input(model: Any) -> tf.TensorSpec | None:
    inputs = getattr(model, "inputs", None)
    if not inputs:
        return None
    if len(inputs) != 1:
        raise ValueError(
            f"the network has {len(inputs)} inputs: wrap it in a function of the frames alone"
        )
    return tf.TensorSpec(inputs[0].shape, inputs[0].dtype)


def _of_signature(
    loaded: Any, signatures: Any, name: str, takes: tf.TensorSpec | None
) -> tuple[Network, str]:
    """Returns the network and the name of its input."""
    if name not in signatures:
        raise ValueError(f"the network has no signature {name!r}, only: {', '.join(signatures)}")
    function = signatures[name]
    inputs = function.structured_input_signature[1]
    if len(inputs) != 1:
        raise ValueError(
            f"signature {name!r} has the inputs {', '.join(inputs)}: wrap it in a tf.Module that "
            "keeps the loaded model as an attribute, and is called with the frames alone"
        )
    ((argument, spec),) = inputs.items()

    def call(batch: tf.Tensor) -> Outputs:
        return _by_name(function(**{argument: batch}))

    return _described(call, loaded, takes or spec), argument


def _own_spec(network: Any) -> tf.TensorSpec | None:
    function = network if hasattr(network, "input_signature") else type(network).__call__
    specs = getattr(function, "input_signature", None)
    return specs[0] if specs else None


def _by_name(outputs: Any) -> Outputs:
    """Returns outputs by name; tensors without one are called as TensorFlow calls them."""
    if isinstance(outputs, dict):
        return {str(name): tf.convert_to_tensor(output) for name, output in outputs.items()}
    if hasattr(outputs, "_asdict"):
        return _by_name(outputs._asdict())
    if isinstance(outputs, (list, tuple)):
        return {f"output_{i}": tf.convert_to_tensor(output) for i, output in enumerate(outputs)}
    return {"output_0": tf.convert_to_tensor(outputs)}


def _described(
    call: Callable[[tf.Tensor], Outputs], kept: Any, spec: tf.TensorSpec | None
) -> Network:
    if spec is None or spec.shape.rank is None:
        raise ValueError(
            "the network does not say what it takes: pass takes=tf.TensorSpec([None, 224, 224, 3])"
        )
    dims = spec.shape.as_list()
    dtype = tf.as_dtype(spec.dtype)
    if len(dims) not in (4, 5) or not (dtype.is_floating or dtype.is_integer):
        raise ValueError(
            f"the network takes {dtype.name} {dims}: it must take numbers, images [N, H, W, C] or "
            "clips [N, T, H, W, C]"
        )
    if dims[0] is not None:
        raise ValueError(
            f"the network takes batches of {dims[0]} only: export it with a batch dimension of None"
        )
    of_images = len(dims) == 4
    order = _order(dims)
    at = {axis: dims[place] for place, axis in enumerate(order)}
    frame = Frame(
        at["h"],
        at["w"],
        at["c"] or 3,
        order.index("c") < order.index("h"),
        not of_images and order.index("c") < order.index("t"),
        dtype,
    )
    return Network(call, kept, frame, of_images, at.get("t"))


def _order(dims: Sequence[int | None]) -> str:
    """Returns the order of the axes: the channels are where there are 1 or 3."""
    orders = ("nhwc", "nchw") if len(dims) == 4 else ("nthwc", "ntchw", "ncthw")
    for order in orders:
        if dims[order.index("c")] in _CHANNELS:
            return order
    if dims[-1] is None:
        return orders[0]
    raise ValueError(f"the network takes {list(dims)}: no dimension has 3 channels, or 1 for gray")
