"""Eager calls of ops that have kernels for GPUs, from any number of threads.

TensorFlow hands the tensors of eager ops from device to device in one place for the whole process,
under names that all calls of an op share: of threads that call it at the same time, one may get
another's inputs (TensorFlow's issues 62523 and 123980; seen here with 2.17.1). Each call of a
function has a place of its own.

TensorFlow copies what a function returns to the GPU, even what a kernel put in host memory, behind
all work of its stream, and the host waits for the copy. Of numbers, only int32 stays in host
memory: as such do those outputs leave the function.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from tf_nvcodec.python import choices
from tf_nvcodec.python.arguments import in_host_memory

# Attributes differ from call to call in few programs.
_MOST_FUNCTIONS = 256


@choices.named()
def call(
    op: Callable[..., Any],
    inputs: Mapping[str, Any],
    attributes: Mapping[str, Any],
    follows: str | None = None,
    host_outputs: Iterable[str] = (),
) -> Any:
    """`op(**inputs, **attributes)`; eagerly, and where it may run on a GPU, as a function of its
    own, which is traced once for each device, set of dtypes and set of attributes.

    follows: An input; where no tf.device says otherwise, eager calls run on the device that has it,
      the CPU if it is no tensor yet.
    host_outputs: Fields of the result that the kernels put in host memory; eagerly they are tensors
      of the CPU.
    """
    if not _may_run_on_gpu():
        return op(**inputs, **attributes)
    # What is a tensor already stays where it is.
    with in_host_memory():
        tensors = {name: tf.convert_to_tensor(value, name=name) for name, value in inputs.items()}
    device = context.context().device_name or ""
    if follows is not None and not device:
        device = tensors[follows].backing_device
    function, host_dtypes = _function(
        op,
        device,
        tuple(inputs),
        tuple(tensor.dtype for tensor in tensors.values()),
        tuple((name, _hashable(value)) for name, value in attributes.items()),
        tuple(host_outputs),
    )
    try:
        result = function(*tensors.values())
    except tf.errors.OpError as error:
        raise type(error)(error.node_def, error.op, _kernels_words(error.message)) from None
    if not host_dtypes:
        return result
    host = {name: _from_int32(getattr(result, name), t) for name, t in host_dtypes.items()}
    return result._replace(**host)


def _to_int32(tensor: tf.Tensor) -> tf.Tensor:
    with in_host_memory():
        if tensor.dtype.is_bool:
            return tf.cast(tensor, tf.int32)
        return tf.bitcast(tensor, tf.int32)


def _from_int32(words: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    with in_host_memory():
        return tf.cast(words, dtype) if dtype.is_bool else tf.bitcast(words, dtype)


# What TensorFlow puts around the message of a kernel in a function: where the function was traced,
# which is some earlier call of the op, and the function's own name; where its parts on two devices
# fail together, all of that for each.
_TRACED = re.compile(
    r"\AGraph execution error:\n\n"
    r"(?:Detected at node [^\n]*\n(?:(?:  File [^\n]*\n\n)+|<stack traces unavailable>\n))+"
    r"(?:\d+ root error\(s\) found\.\n  \(0\) [A-Z_]+: +)?"
)


def _kernels_words(message: str) -> str:
    return _TRACED.sub("", message).partition("\n\t [[{{node")[0]


def _may_run_on_gpu() -> bool:
    if not tf.executing_eagerly():
        return False
    here = context.context()
    here.ensure_initialized()
    return here.num_gpus() > 0 and "CPU" not in (here.device_name or "").upper()


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@functools.lru_cache(maxsize=_MOST_FUNCTIONS)
def _function(
    op: Callable[..., Any],
    device: str,
    names: tuple[str, ...],
    dtypes: tuple[tf.DType, ...],
    attributes: tuple[tuple[str, Any], ...],
    host_outputs: tuple[str, ...],
) -> tuple[Callable[..., Any], dict[str, tf.DType]]:
    """Also the dtypes of the host's outputs, which leave it as int32."""
    host_dtypes: dict[str, tf.DType] = {}

    # Of any shape: the kernels' messages are those of eager calls, and a new shape no new trace.
    @tf.function(input_signature=[tf.TensorSpec(None, dtype) for dtype in dtypes], autograph=False)
    def run(*inputs: tf.Tensor) -> Any:
        with tf.device(device or None):
            result = op(**dict(zip(names, inputs)), **dict(attributes))
        if not host_outputs:
            return result
        host = {name: getattr(result, name) for name in host_outputs}
        host_dtypes.update((name, tensor.dtype) for name, tensor in host.items())
        return result._replace(**{name: _to_int32(tensor) for name, tensor in host.items()})

    return run.get_concrete_function(), host_dtypes
