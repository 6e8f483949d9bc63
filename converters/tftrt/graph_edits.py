"""What changes in a converted graph before it is saved: the names of its engines and inputs, and
its native segments.
"""

from __future__ import annotations

import secrets
from typing import Any

from converters.model.trt_graph import LEFT_OUT_NODES, engine_nodes, segment_nodes, trt_nodes
from converters.util.shapes import input_name


def with_unique_names(graph_def: Any) -> Any:
    """The graph with engine names that no other conversion has.

    In every process TF-TRT counts engines from TRTEngineOp_000_000, and it keeps them by name. If
    two models in one process have the same names, the second fails or takes the first one's
    engines.
    """
    names = {node.name for node in trt_nodes(graph_def)}
    suffix = secrets.token_hex(4)
    for node in graph_def.node:
        if node.name in names:
            node.name = f"{node.name}_{suffix}"
        for index, tensor in enumerate(node.input):
            name, colon, output = tensor.partition(":")
            if name.removeprefix("^") in names:
                node.input[index] = f"{name}_{suffix}{colon}{output}"
    return graph_def


_NO_ENGINE = (
    "{} has no engine for these shapes, or lost it, and the model was converted with "
    "native_segments=False. For other shapes convert it again with input_shapes or shape_ranges "
    "that include them; engines are there while the object that tf.saved_model.load returned is "
    "kept, the model is loaded once in the process, and GPU and TensorRT are those that built it"
)


def without_native_segments(graph_def: Any) -> Any:
    """A copy of the graph in which each native segment only raises InvalidArgumentError.

    A native segment is TensorFlow's own copy of what an engine replaces, for shapes that no engine
    serves. It holds all weights as constants, which TensorFlow copies some sixty times before the
    first request is answered. Without it a graph loads faster, and answers other shapes with an
    error instead of slowly. The new segment lists the nodes of the old one, for `engine_nodes`.
    """
    from tensorflow.core.framework import graph_pb2

    engines = {
        engine.segment_func: engine.canonical_name
        for engine in engine_nodes(graph_def)
        if engine.has_segment
    }
    left = graph_pb2.GraphDef()
    left.node.extend(graph_def.node)
    left.versions.CopyFrom(graph_def.versions)
    left.library.gradient.extend(graph_def.library.gradient)
    for function in graph_def.library.function:
        engine = engines.get(function.signature.name)
        left.library.function.append(function if engine is None else _raising(function, engine))
    return left


def _raising(function: Any, engine: str) -> Any:
    """A function with the same signature that raises the error."""
    import tensorflow as tf
    from tensorflow.core.framework import function_pb2

    made = function_pb2.FunctionDef()
    made.signature.CopyFrom(function.signature)
    for name, value in function.attr.items():
        made.attr[name].CopyFrom(value)
    for index, attributes in function.arg_attr.items():
        made.arg_attr[index].CopyFrom(attributes)
    # CheckNumerics, not Assert: an Assert has strings, which cannot be on a GPU.
    float32 = tf.float32.as_datatype_enum
    nan = made.node_def.add(name="nan", op="Const")
    nan.attr["dtype"].type = float32
    nan.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(float("nan"), tf.float32))
    check = made.node_def.add(name="check", op="CheckNumerics", input=["nan:output:0"])
    check.attr["T"].type = float32
    check.attr["message"].s = _NO_ENGINE.format(engine).encode()
    noted = check.attr[LEFT_OUT_NODES].list.s
    noted.extend(f"{op} {name}".encode() for name, op in segment_nodes(function))
    for index, output in enumerate(made.signature.output_arg):
        cast = made.node_def.add(name=f"output_{index}", op="Cast", input=["check:output:0"])
        cast.attr["SrcT"].type = float32
        cast.attr["DstT"].type = output.type
        made.ret[output.name] = f"{cast.name}:y:0"
    return made


def placeholders(native: Any) -> dict[str, str]:
    """The names of the graph's placeholders, by the signature's input names.

    They can differ: in a model of TensorFlow 1, the input "images" may be the placeholder
    "image_tensor". What TF-TRT makes of a signature uses the placeholders' names. `native` is a
    signature of the loaded SavedModel.
    """
    names = native._arg_keywords
    return {name: input_name(tensor.name) for name, tensor in zip(names, native.inputs)}


def keywords(native: Any) -> dict[str, str]:
    """The keyword arguments of a function made from the signature's graph, by the signature's
    names; empty if they are the same."""
    names = placeholders(native)
    taken = native.function_type.parameters
    if all(name == placeholder or _keyword(name) in taken for name, placeholder in names.items()):
        return {}
    return {name: _keyword(placeholder) for name, placeholder in names.items()}


def with_signature_names(function: Any, native: Any) -> Any:
    """The function with the input names of its original signature, which clients use."""
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
