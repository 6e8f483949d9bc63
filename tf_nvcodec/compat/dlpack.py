"""Capsules that share frames with other libraries without a copy (https://dmlc.github.io/dlpack).

The tensor in a capsule keeps the frame's memory by itself, and C++ code frees it. So it may be
freed on any thread, and after Python's modules are gone.
"""

from __future__ import annotations

import ctypes
from typing import Any

from tf_nvcodec.compat.library import check, declare

# These are DLPack's numbers of devices.
CPU, CUDA = 1, 2

_to_dlpack = declare(
    "frame_to_dlpack", [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)]
)
_destroy = ctypes.cast(declare("destroy_dlpack_capsule", [ctypes.c_void_p], None), ctypes.c_void_p)
_set_functions = declare("set_capsule_functions", [ctypes.c_void_p, ctypes.c_void_p], None)
_set_functions(
    ctypes.cast(ctypes.pythonapi.PyCapsule_IsValid, ctypes.c_void_p),
    ctypes.cast(ctypes.pythonapi.PyCapsule_GetPointer, ctypes.c_void_p),
)

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_new_capsule.restype = ctypes.py_object

# Capsules point to their name and may outlive this module, so the name is never freed.
_NAME = b"dltensor"
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_NAME))


def capsule_of(frame: ctypes.c_void_p, plane: int) -> Any:
    """Makes a capsule of a frame of the C API, or of one plane if `plane` is not negative."""
    tensor = ctypes.c_void_p()
    check(_to_dlpack(frame, plane, ctypes.byref(tensor)))
    return _new_capsule(tensor, _NAME, _destroy)
