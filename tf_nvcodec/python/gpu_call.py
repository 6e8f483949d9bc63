"""Makes eager calls of ops with GPU kernels safe for several threads.

In eager calls, TensorFlow passes tensors from device to device through one table of the process,
under names that all calls of an op share. If several threads call an op at the same time, one may
get another's inputs (TensorFlow's issues 62523 and 123980; TensorFlow 2.17.1 has this). Each call
of a tf.function has a table of its own, so this module calls the op inside a function.

TensorFlow copies the results of a function to the GPU, even those that a kernel put in host memory.
The copy waits for all work of the stream, and the host waits for the copy. Of the numeric types
only int32 stays in host memory, so outputs in host memory leave the function as int32.
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

# Few programs use many different attributes, so this bounds the traced functions.
_MOST_FUNCTIONS = 256


@choices.named()
def call(
    op: Callable[..., Any],
    inputs: Mapping[str, Any],
    attributes: Mapping[str, Any],
    follows: str | None = None,
    host_outputs: Iterable[str] = (),
) -> Any:
    """Returns `op(**inputs, **attributes)`.

    An eager call that may run on a GPU goes through a function, which is traced once for each
    device, set of dtypes and set of attributes.

    Args:
      op: The op.
      inputs: Its inputs by name.
      attributes: Its attributes by name.
      follows: The name of an input. Without a tf.device, eager calls run on this input's device, or
        on the CPU if it is no tensor yet.
      host_outputs: The fields of the result that the kernels put in host memory. In eager calls
        they are tensors on the CPU.
    """
    if not _may_run_on_gpu():
        return op(**inputs, **attributes)
    # Inputs that are tensors already stay on their device.
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


# In a function, TensorFlow wraps the message of a kernel in the place where the function was
# traced, which is an earlier call of the op, and in the function's name. If parts of the function
# on two devices fail together, it does so for each.
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


def device_of_call() -> str:
    """Returns the device on which an eager op with a GPU kernel runs here: that of tf.device, else
    the first GPU. It is "" if there is no GPU."""
    return context.context().device_name or ("/GPU:0" if _may_run_on_gpu() else "")


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
    """Traces the function. Also returns the true dtypes of the outputs that leave it as int32."""
    host_dtypes: dict[str, tf.DType] = {}

    # The signature has no shapes: a new shape needs no new trace, and the kernels check shapes with
    # the same messages as in eager calls.
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
