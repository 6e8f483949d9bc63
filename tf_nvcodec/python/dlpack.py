"""Shares tensors with other libraries without a copy: DLPack and `__cuda_array_interface__`."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import tensorflow as tf

from tf_nvcodec.python import dlpack_capsule as capsules
from tf_nvcodec.python import loader

_NO_STREAM = -1
# CUDA's legacy default stream, which DLPack means by None.
_LEGACY_STREAM = 1
# On a GPU, TensorFlow mixes up the inputs that threads pass to one op (see gpu_call.py); here they
# would be addresses. A lock is enough because these ops are quick; a function, the other cure,
# would move int32 tensors to host memory. The lock is re-entrant because the ops free memory, which
# may run Python's destructors.
_ONE_AT_A_TIME = threading.RLock()


def from_dlpack(array: Any) -> tf.Tensor:
    """Makes a tensor of another library's array, without a copy, on the array's device.

    On a GPU the streams are ordered for you: TensorFlow's work on the tensor starts after the work
    that makes the array. The memory returns to its owner after TensorFlow's work, at a later call
    of from_dlpack or DeviceFrames. The host waits for neither, unless the owner frees the memory
    with cudaFree, which waits for the GPU. Changing the array later changes the tensor.

    Args:
      array: Has `__dlpack__` and `__dlpack_device__` (NumPy, PyTorch, CuPy, PyNvVideoCodec, ...) or
        `__cuda_array_interface__`, and is row-major. Memory that is not aligned to 64 bytes is
        copied.

    Returns:
      A tensor of the array's shape and dtype.

    Raises:
      TypeError: The array has neither protocol, or a dtype that TensorFlow lacks.
      RuntimeError: Inside tf.function, since a graph cannot hold memory.
      ValueError: The array is on no device of TensorFlow's, or its byte strides are no multiples of
        its item's size.
      tf.errors.InvalidArgumentError: The array is not row-major.
    """
    _need_eager("from_dlpack")
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _from_protocol(array)
    if hasattr(array, "__cuda_array_interface__"):
        return _from_cuda_array(array)
    raise TypeError(
        f"from_dlpack takes objects with __dlpack__ and __dlpack_device__, or with"
        f" __cuda_array_interface__; {type(array).__name__} has neither"
    )


class DeviceFrames:
    """Lends a tensor to other libraries without a copy.

    Pass it to `torch.from_dlpack`, `cupy.from_dlpack` or `numpy.from_dlpack`, or to a library that
    reads `__cuda_array_interface__`.

    The consumer's stream, not the host, waits for TensorFlow's work on the tensor. Do not write to
    the memory: TensorFlow takes the values of a tensor as constant.

    The memory returns to TensorFlow with the last reference to it, the consumer's included.
    TensorFlow may use it at once. If work on the consumer's stream still reads it then, call
    `wait_for(stream)` first.

    Attributes:
      tensor: The tensor that owns the memory.
    """

    def __init__(self, tensor: tf.Tensor) -> None:
        """
        Args:
          tensor: An eager tensor, on any device.

        Raises:
          RuntimeError: Inside tf.function.
          TypeError: `tensor` is no tensor.
        """
        _need_eager("DeviceFrames")
        if not tf.is_tensor(tensor) or not hasattr(tensor, "backing_device"):
            raise TypeError(f"DeviceFrames takes an eager tensor, got {type(tensor).__name__}")
        self.tensor = tensor
        self._device: str = tensor.backing_device

    def __dlpack_device__(self) -> tuple[int, int]:
        gpu = _ask_stream(self._device)[1]
        return (capsules.CPU, 0) if gpu < 0 else (capsules.CUDA, gpu)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Returns a capsule named "dltensor".

        Args:
          stream: The consumer's stream as DLPack defines it: 1, 2, a handle, -1 for no order, or
            None for CUDA's legacy default stream.
        """
        if copy:
            raise BufferError("DeviceFrames shares memory; copy the result")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(
                f"the tensor is on DLPack device {self.__dlpack_device__()}, not {dl_device}"
            )
        number = _LEGACY_STREAM if stream is None else int(stream)
        return capsules.new(self._lend(number))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        stream, gpu = _ask_stream(self._device)
        if gpu < 0:
            raise AttributeError("a tensor in host memory has no __cuda_array_interface__")
        # This orders no stream: the interface tells the consumer which stream to wait for.
        capsule = capsules.new(self._lend(_NO_STREAM))
        view = capsules.view(capsule)
        return {
            "version": 3,
            "shape": tuple(self.tensor.shape),
            "typestr": self.tensor.dtype.as_numpy_dtype().dtype.str,
            "data": (view.data or 0, False),
            "strides": None,
            "stream": stream,
        }

    def wait_for(self, stream: int) -> None:
        """Makes TensorFlow's next work on this GPU start after the work now queued on `stream`.

        Args:
          stream: A CUDA stream's handle, 1 (the legacy default stream) or 2 (the per-thread one).
        """
        _ask_stream(self._device, stream)

    def _lend(self, stream: int) -> int:
        with tf.device("CPU:0"):
            number = tf.constant(stream, tf.int64)
        with tf.device(self._device), _ONE_AT_A_TIME:
            words = loader.ops.nvc_dlpack_export(tensor=self.tensor, stream=number)
        return _from_words(words)


def _need_eager(name: str) -> None:
    if not tf.executing_eagerly():
        raise RuntimeError(f"{name} shares memory, which no graph can hold: call it eagerly")


def _ask_stream(device: str, wait_for: int = _NO_STREAM) -> tuple[int, int]:
    """Returns the handle of TensorFlow's stream and the GPU's number; (0, -1) on the CPU."""
    with tf.device("CPU:0"):
        number = tf.constant(wait_for, tf.int64)
    with tf.device(device), _ONE_AT_A_TIME:
        stream, gpu = loader.ops.nvc_stream(wait_for=number)
    return _from_words(stream), int(gpu)


def _from_words(words: tf.Tensor) -> int:
    """Joins the two halves of an address or a handle."""
    return int(words.numpy().view(np.int64)[0])


def _device_of_gpu(ordinal: int) -> str:
    """Returns TensorFlow's name of the GPU that has this number in CUDA."""
    names = [device.name for device in tf.config.list_logical_devices("GPU")]
    for name in names:
        if _ask_stream(name)[1] == ordinal:
            return name
    raise ValueError(
        f"the array is on GPU {ordinal}, which TensorFlow does not use: it has {names or 'none'}"
    )


def _place(device: tuple[int, int]) -> str:
    kind, ordinal = (int(part) for part in device)
    if kind in (capsules.CPU, capsules.CUDA_HOST):
        return "CPU:0"
    if kind in (capsules.CUDA, capsules.CUDA_MANAGED):
        return _device_of_gpu(ordinal)
    raise ValueError(f"arrays of DLPack device {device} can't be tensors: only CPU and CUDA's can")


def _from_protocol(array: Any) -> tf.Tensor:
    place = _place(array.__dlpack_device__())
    on_gpu = not place.startswith("CPU")
    # The producer makes this stream wait for its own.
    capsule = array.__dlpack__(stream=_ask_stream(place)[0]) if on_gpu else array.__dlpack__()
    return _take(capsule, place)


def _take(capsule: Any, place: str) -> tf.Tensor:
    dtype = capsules.dtype(capsules.view(capsule))
    with tf.device("CPU:0"):
        address = tf.constant(capsules.address(capsule), tf.int64)
    with tf.device(place), _ONE_AT_A_TIME:
        tensor = loader.ops.nvc_dlpack_import(managed=address, dtype=dtype)
    capsules.mark_used(capsule)
    return tensor


def _from_cuda_array(array: Any) -> tf.Tensor:
    interface = array.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise TypeError("an array with a mask can't be a tensor: give its data")
    dtype = np.dtype(interface["typestr"])
    strides = interface.get("strides")
    if strides is not None:
        if any(stride % dtype.itemsize for stride in strides):
            raise ValueError(f"strides {strides} are not multiples of {dtype.itemsize} bytes")
        strides = [stride // dtype.itemsize for stride in strides]
    pointer = interface["data"][0]
    place = _device_of_gpu(_gpu_of(array))
    capsule = capsules.wrap(
        array, pointer, dtype, interface["shape"], strides, _ask_stream(place)[1]
    )
    if interface.get("stream") is not None:
        try:
            _ask_stream(place, int(interface["stream"]))
        except tf.errors.InternalError:
            # The stream is not of this GPU. If the memory is on another GPU too, _take raises an
            # error that says what to do.
            _take(capsule, place)
            raise
    return _take(capsule, place)


def _gpu_of(array: Any) -> int:
    """Returns the GPU of an array. The interface lacks it; libraries have an attribute for it."""
    device = getattr(array, "device", None)
    for name in ("id", "index"):
        number = getattr(device, name, None)
        if isinstance(number, int):
            return number
    if isinstance(device, int):
        return device
    gpus = tf.config.list_logical_devices("GPU")
    if not gpus:
        raise ValueError("the array is on a GPU, and TensorFlow has none")
    return _ask_stream(gpus[0].name)[1]
