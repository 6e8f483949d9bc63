"""Makes and reads DLPack's capsules with ctypes."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_nvcodec.python import loader

# Device types of dlpack.h.
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13

_NAME, _USED = b"dltensor", b"used_dltensor"


class View(ctypes.Structure):
    """DLTensor of dlpack.h."""

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


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """DLManagedTensor of dlpack.h."""

    _fields_ = (("view", View), ("context", ctypes.c_void_p), ("deleter", _Deleter))


# TensorFlow's dtypes by DLPack's type code, then by bits.
_DTYPES: dict[int, dict[int, tf.DType]] = {
    0: {8: tf.int8, 16: tf.int16, 32: tf.int32, 64: tf.int64},
    1: {8: tf.uint8, 16: tf.uint16, 32: tf.uint32, 64: tf.uint64},
    2: {16: tf.float16, 32: tf.float32, 64: tf.float64},
    4: {16: tf.bfloat16},
    5: {64: tf.complex64, 128: tf.complex128},
    6: {8: tf.bool},
}
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}

# This module has its own function table, because other modules set other argument types.
_python = ctypes.PyDLL(None)
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_python.PyCapsule_IsValid.restype = ctypes.c_int
_python.PyCapsule_IsValid.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_python.PyCapsule_SetName.restype = ctypes.c_int
_python.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)


# Capsules point to their names and may outlive this module, so the names are never freed.
for _name in (_NAME, _USED):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_name))


@functools.cache
def _destructor() -> ctypes.c_void_p:
    """Returns a C function that frees a capsule which nobody consumed.

    It runs no Python code, because capsules may be freed while an exception is being raised and
    after Python's modules are gone.
    """
    library = ctypes.CDLL(str(loader.library_path()))
    set_functions = library.nvc_set_capsule_functions
    set_functions.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    set_functions.restype = None
    set_functions(
        ctypes.cast(_python.PyCapsule_IsValid, ctypes.c_void_p),
        ctypes.cast(_python.PyCapsule_GetPointer, ctypes.c_void_p),
    )
    return ctypes.cast(library.nvc_destroy_dlpack_capsule, ctypes.c_void_p)


def new(managed: int) -> Any:
    """Makes a capsule that owns the DLManagedTensor at an address."""
    return _python.PyCapsule_New(managed, _NAME, _destructor())


def address(capsule: Any) -> int:
    """Returns the address of the capsule's DLManagedTensor.

    Raises:
      TypeError: It is no such capsule, or was consumed already.
    """
    if not _python.PyCapsule_IsValid(id(capsule), _NAME):
        raise TypeError(f'__dlpack__ must give an unused capsule named "dltensor", got {capsule!r}')
    return int(_python.PyCapsule_GetPointer(id(capsule), _NAME))


def mark_used(capsule: Any) -> None:
    """Marks the capsule as consumed: its array now belongs to the consumer."""
    _python.PyCapsule_SetName(capsule, _USED)


def view(capsule: Any) -> View:
    """Returns the capsule's DLTensor, valid as long as its owner lives."""
    return _Managed.from_address(address(capsule)).view


def dtype(array: View) -> tf.DType:
    """Returns TensorFlow's dtype of an array.

    Raises:
      TypeError: TensorFlow has no such type.
    """
    found = _DTYPES.get(array.code, {}).get(array.bits)
    if found is None or array.lanes != 1:
        raise TypeError(
            f"no tensor has elements of DLPack type {array.code}, {array.bits} bits,"
            f" {array.lanes} lanes"
        )
    return found


# Keeps wrapped arrays and their structures alive, by the address of the DLManagedTensor.
_wrapped: dict[int, tuple[Any, ...]] = {}


@_Deleter
def _forget(pointer: int, wrapped: dict[int, tuple[Any, ...]] = _wrapped) -> None:
    wrapped.pop(pointer, None)


ctypes.pythonapi.Py_IncRef(ctypes.py_object(_forget))  # capsules may outlive this module


def wrap(
    owner: Any,
    pointer: int,
    element: np.dtype[Any],
    shape: Sequence[int],
    strides: Sequence[int] | None,
    gpu: int,
) -> Any:
    """Makes a capsule of GPU memory, which keeps `owner` alive. Strides count elements."""
    if element.kind not in _CODES or not element.isnative:
        raise TypeError(f"no tensor has elements of type {element.str!r}")
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    steps = None if strides is None else (ctypes.c_int64 * len(shape))(*strides)
    managed = _Managed()
    managed.view.data = pointer
    managed.view.device_type, managed.view.device_id = CUDA, gpu
    managed.view.ndim = len(shape)
    managed.view.code, managed.view.bits = _CODES[element.kind], 8 * element.itemsize
    managed.view.lanes = 1
    managed.view.shape = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))
    if steps is not None:
        managed.view.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = _forget
    _wrapped[ctypes.addressof(managed)] = (owner, managed, sizes, steps)
    return new(ctypes.addressof(managed))
