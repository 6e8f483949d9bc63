"""Tensors in the memory of a GPU that this package shares with PyTorch, TensorFlow and others, by
DLPack (https://dmlc.github.io/dlpack, version 0.8) and the CUDA array interface, version 3."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.plans.cuda_driver import Device
from converters.util.errors import PlanError, UnavailableError

_CUDA = 2  # DLPack's number of the device
_KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}  # NumPy's kind -> DLPack's type code
_NAME = b"dltensor"


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensor(ctypes.Structure):
    _fields_ = (
        ("tensor", _DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


# Objects are given by address: a capsule's destructor must not make a new reference to it.
_new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@dataclass(frozen=True)
class SharedTensor:
    """Another library's tensor in device memory. It is there as long as `owner` is."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    owner: Any

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def is_shared(value: Any) -> bool:
    """Whether `value` is a DLPack capsule, or a tensor on a GPU that gives one."""
    if type(value).__name__ == "PyCapsule":
        return True
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and where()[0] == _CUDA


def share(name: str, value: Any, device: Device) -> SharedTensor:
    """Reads what `is_shared` found. The device's stream waits until the tensor has its values.

    Raises:
      PlanError: The tensor is on another device, or its values are not one after the other.
    """
    if type(value).__name__ == "PyCapsule":
        # A capsule does not say which stream computes its values.
        capsule = value
        device.wait_for_all()
    else:
        capsule = value.__dlpack__(stream=device.stream)
    if not _is_valid(id(capsule), _NAME):
        raise PlanError(f"{name!r} is a capsule that was used before, or holds no DLPack tensor")
    managed = _DLManagedTensor.from_address(_get_pointer(id(capsule), _NAME))
    tensor = managed.tensor
    if (tensor.device_type, tensor.device_id) != (_CUDA, device.index):
        raise PlanError(
            f"{name!r} is on DLPack's device {tensor.device_type}:{tensor.device_id}; the plan "
            f"runs on GPU {device.index}, which is 2:{device.index}. Copy it there, or give an "
            "array of NumPy."
        )
    shape = tuple(tensor.shape[: tensor.ndim])
    wanted = 1
    for size, stride in zip(
        reversed(shape), reversed(tensor.strides[: tensor.ndim] if tensor.strides else ())
    ):
        if size > 1 and stride != wanted:
            raise PlanError(f"the values of {name!r} are not one after the other; copy it first")
        wanted *= size
    return SharedTensor(
        (tensor.data or 0) + tensor.byte_offset, shape, _numpy_type(name, tensor), capsule
    )


def _numpy_type(name: str, tensor: _DLTensor) -> np.dtype[Any]:
    for kind, code in _KINDS.items():
        if (tensor.code, tensor.lanes) == (code, 1) and tensor.bits % 8 == 0:
            return np.dtype(f"{kind}{tensor.bits // 8}")
    raise PlanError(
        f"{name!r} has DLPack's type {tensor.code} with {tensor.bits} bits and {tensor.lanes} "
        "lanes, which NumPy has not"
    )


class OutputMemory(Device):
    """The device of `GpuTensor`s: it stays until the last of them is gone."""

    def __del__(self) -> None:
        # The driver may have ended before Python.
        with contextlib.suppress(AttributeError, UnavailableError):
            self.close()


class GpuTensor:
    """An output of a plan in the memory of the GPU: values of `dtype` with `shape`, one after the
    other.

    `torch.from_dlpack(x)`, `torch.as_tensor(x)`, `cupy.asarray(x)` and
    `tf.experimental.dlpack.from_dlpack(x.__dlpack__())` use the memory without a copy. It is given
    back when this object and all that share it are gone.
    """

    def __init__(self, device: OutputMemory, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._device = device
        self.shape, self.dtype = shape, dtype
        self.address = device.allocate_unowned(self.nbytes)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def numpy(self) -> NDArray[Any]:
        """A copy on the host."""
        self._device.use()
        return self._device.download(self.address, self.shape, self.dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self._device.index

    def __dlpack__(self, stream: int | None = None) -> Any:
        """A capsule for one consumer. The values are there already, so no stream needs to wait."""
        return _new_capsule(_exported(self), _NAME, ctypes.cast(_delete_unused, ctypes.c_void_p))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, UnavailableError):
            self._device.use()
            self._device.free_unowned(self.address)


# Tensors that other libraries hold: the address of each DLManagedTensor, and what it points to.
_held: dict[int, tuple[GpuTensor, Any, Any]] = {}


def _exported(tensor: GpuTensor) -> int:
    """The address of a DLManagedTensor that keeps `tensor` until its deleter is called."""
    shape = (ctypes.c_int64 * len(tensor.shape))(*tensor.shape)
    managed = _DLManagedTensor()
    managed.tensor.data = tensor.address
    managed.tensor.device_type, managed.tensor.device_id = tensor.__dlpack_device__()
    managed.tensor.ndim = len(tensor.shape)
    managed.tensor.code = _KINDS[tensor.dtype.kind]
    managed.tensor.bits, managed.tensor.lanes = 8 * tensor.dtype.itemsize, 1
    managed.tensor.shape = shape
    managed.deleter = ctypes.cast(_delete, ctypes.c_void_p)
    address = ctypes.addressof(managed)
    _held[address] = (tensor, managed, shape)
    return address


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete(address: int) -> None:
    _held.pop(address, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete_unused(capsule: int) -> None:
    """A consumer renames the capsule and calls the deleter itself."""
    if _is_valid(capsule, _NAME):
        _held.pop(_get_pointer(capsule, _NAME), None)


@atexit.register
def _leave_to_the_system() -> None:
    """Consumers may call the deleter when Python has ended, which would crash. They get a function
    of C that does nothing, and structures that stay."""
    for _, managed, _ in _held.values():
        managed.deleter = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_held))
