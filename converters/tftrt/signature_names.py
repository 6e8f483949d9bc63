"""Names of a signature's inputs. What TF-TRT makes of a signature calls them as the placeholders of
the graph are called: in a model of TensorFlow 1, "images" may be "image_tensor"."""

from __future__ import annotations

from typing import Any

from converters.util.shapes import input_name


def placeholders(native: Any) -> dict[str, str]:
    """The graph's names of the inputs, by the signature's; `native` is a SavedModel's signature."""
    names = native._arg_keywords
    return {name: input_name(tensor.name) for name, tensor in zip(names, native.inputs)}


def keywords(native: Any) -> dict[str, str]:
    """What a function that was made from the signature's graph is to be called with, by the
    signature's names; empty where it takes those."""
    names = placeholders(native)
    taken = native.function_type.parameters
    if all(name == placeholder or _keyword(name) in taken for name, placeholder in names.items()):
        return {}
    return {name: _keyword(placeholder) for name, placeholder in names.items()}


def with_signature_names(function: Any, native: Any) -> Any:
    """The function as it is to be saved: with the inputs' names of the signature that it was made
    from, for which clients have them."""
    import tensorflow as tf

    names = list(native._arg_keywords)
    if names == list(function._arg_keywords):
        return function
    called = [_keyword(name) for name in function._arg_keywords]
    specs = [
        tf.TensorSpec(tensor.shape, tensor.dtype, name=name)
        for name, tensor in zip(names, function.inputs)
    ]

    @tf.function(input_signature=specs, autograph=False)
    def serve(*tensors: Any) -> Any:
        results = tf.nest.flatten(function(**dict(zip(called, tensors))))
        return tf.nest.pack_sequence_as(function.structured_outputs, results)

    return serve.get_concrete_function()


def _keyword(name: str) -> str:
    from tensorflow.core.function.polymorphism.function_type import sanitize_arg_name

    return str(sanitize_arg_name(name))
