"""Tensors from and for other libraries without a copy: DLPack and `__cuda_array_interface__`."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import tensorflow as tf

from tf_nvcodec.python import dlpack_capsule as capsules
from tf_nvcodec.python import loader

_NO_STREAM = -1
# CUDA's legacy default stream: what DLPack's None means.
_LEGACY_STREAM = 1
# On a GPU TensorFlow mixes up what threads give to one op (see gpu_call.py), here addresses. These
# ops are quick, and a function would take int32 tensors to host memory. Re-entrant, since they give
# memory back, which may run Python's destructors.
_ONE_AT_A_TIME = threading.RLock()


def from_dlpack(array: Any) -> tf.Tensor:
    """An array of another library as a tensor, without a copy, on the device where it is.

    On a GPU the producer's stream and TensorFlow's are put in order by themselves: TensorFlow's
    work on the tensor starts after the work that makes the array, and the memory goes back to its
    owner after TensorFlow's, at a later call of from_dlpack or DeviceFrames. The host waits for
    neither, unless the owner frees its memory by cudaFree, which waits for the GPU. Changing the
    array later changes the tensor.

    Args:
      array: Has `__dlpack__` and `__dlpack_device__` (NumPy, PyTorch, CuPy, PyNvVideoCodec, ...),
        or `__cuda_array_interface__`. Row-major; memory that is not aligned to 64 bytes is copied.

    Returns:
      A tensor of the array's shape and dtype.

    Raises:
      TypeError: It has neither protocol, or a type that TensorFlow has not.
      RuntimeError: Inside tf.function: memory has no place in a graph.
      tf.errors.InvalidArgumentError: It is not row-major, or on no device of TensorFlow's.
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
    """A tensor as other libraries take it, without a copy: for `torch.from_dlpack`,
    `cupy.from_dlpack`, `numpy.from_dlpack`, or as `__cuda_array_interface__`.

    The consumer's stream, not the host, waits for TensorFlow's work on the tensor. TensorFlow takes
    a tensor's values for constant: do not write to them.

    Memory goes back to TensorFlow when the last reference goes, the consumer's too. TensorFlow
    may use it at once, so call `wait_for(stream)` before, if work on the consumer's stream still
    reads it.

    Attributes:
      tensor: What the memory belongs to.
    """

    def __init__(self, tensor: tf.Tensor) -> None:
        """
        Args:
          tensor: An eager tensor, on any device.

        Raises:
          RuntimeError: Inside tf.function.
          TypeError: Not a tensor.
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
        """A capsule named "dltensor". `stream` is as DLPack says: 1, 2, a handle, -1 for no order,
        or None for CUDA's legacy default stream."""
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
        # Of no stream: the consumer is told which one to wait for.
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
        """What TensorFlow does next on this GPU starts after what is now queued on `stream`, a CUDA
        stream's handle, 1 (the legacy default stream) or 2 (the per-thread one)."""
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
    """(number of TensorFlow's stream, number of the GPU), (0, -1) on the CPU."""
    with tf.device("CPU:0"):
        number = tf.constant(wait_for, tf.int64)
    with tf.device(device), _ONE_AT_A_TIME:
        stream, gpu = loader.ops.nvc_stream(wait_for=number)
    return _from_words(stream), int(gpu)


def _from_words(words: tf.Tensor) -> int:
    """An address or a handle from its two halves."""
    return int(words.numpy().view(np.int64)[0])


def _device_of_gpu(ordinal: int) -> str:
    """TensorFlow's name of the GPU that CUDA gives this number."""
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
            # No stream of this GPU: the memory may be another's too, which says what to do.
            _take(capsule, place)
            raise
    return _take(capsule, place)


def _gpu_of(array: Any) -> int:
    """The GPU of an array, which the interface leaves out; libraries name it beside it."""
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
