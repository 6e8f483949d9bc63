"""A signature as a function without variables, its lookup tables and other resources kept."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any


def freeze(function: Any) -> Any:
    """The concrete function with its variables as constants.

    TensorFlow's own conversion turns what else the function captures (the handle of a lookup
    table) into arguments that no caller can give; here they stay captures.
    """
    from tensorflow.python.eager import wrap_function
    from tensorflow.python.framework import convert_to_constants

    frozen = convert_to_constants.convert_variables_to_constants_v2(function)
    inside = {inner.name: outer for outer, inner in function.graph.captures}
    captures = {
        tensor.name.split(":")[0]: inside[tensor.name]
        for tensor in frozen.inputs
        if tensor.name in inside
    }
    if not captures:
        return frozen
    return wrap_function.function_from_graph_def(
        frozen.graph.as_graph_def(),
        [tensor.name for tensor in frozen.inputs],
        [tensor.name for tensor in frozen.outputs],
        captures,
    )


@contextlib.contextmanager
def converter_freezes_so() -> Iterator[None]:
    """Makes TrtGraphConverterV2.convert freeze by `freeze`."""
    from tensorflow.python.compiler.tensorrt import trt_convert

    module = trt_convert.convert_to_constants
    trt_convert.convert_to_constants = types.SimpleNamespace(
        **{**vars(module), "convert_variables_to_constants_v2": freeze}
    )
    try:
        yield
    finally:
        trt_convert.convert_to_constants = module
