"""Keeps TensorRT's kernels loaded from one engine to the next, which saves time."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from converters.environment.facts import tensorrt_loaded

# IBuilder's virtual destructor that also frees the object: its place in the table of virtual
# functions by the Itanium C++ ABI. Tested with this version of TensorRT only.
_VERSION, _DELETE = [8, 6], 1
# tensorflow::tensorrt::Logger::GetLogger().
_GET_LOGGER = "_ZN10tensorflow8tensorrt6Logger9GetLoggerEv"


@contextlib.contextmanager
def kernels_kept() -> Iterator[Callable[[], bool]]:
    """Gives a function. From its first call until the block ends, TensorRT keeps its kernels
    loaded; the function returns whether that works.

    TensorRT 8.6 unpacks its kernels (3 GB of host memory) for a builder and drops them with the
    last builder of a process. TF-TRT makes a builder for each engine, one after another: each
    unpacks the kernels again, and loads each kernel that it tries onto the GPU again. One idle
    builder that stays alive avoids that. Without such a TensorRT, or if it makes no builder,
    nothing is kept, and building only takes longer.
    """
    builders: list[_Builder | None] = []

    def keep() -> bool:
        if not builders:
            builders.append(_new_builder())
        return builders[0] is not None

    try:
        yield keep
    finally:
        for builder in builders:
            if builder is not None:
                builder.delete()


class _Builder:
    """An IBuilder that logs to TF-TRT's logger."""

    def __init__(self, library: Any, logger: int) -> None:
        make = library.createInferBuilder_INTERNAL
        make.restype, make.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_int)
        self.address = make(logger, library.getInferLibVersion())

    def delete(self) -> None:
        table = ctypes.c_void_p.from_address(self.address).value or 0
        function = ctypes.c_void_p.from_address(table + _DELETE * ctypes.sizeof(ctypes.c_void_p))
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function.value or 0)(self.address)


def _new_builder() -> _Builder | None:
    loaded = tensorrt_loaded()
    if loaded is None or loaded["version"][: len(_VERSION)] != _VERSION:
        return None
    path = next((file for file in loaded["files"] if "/libnvinfer.so" in file), None)
    logger = _tensorflow_logger()
    if path is None or logger is None:
        return None
    try:
        builder = _Builder(ctypes.CDLL(path), logger)  # the library is loaded already
    except (OSError, AttributeError):
        return None
    return builder if builder.address else None


def _tensorflow_logger() -> int | None:
    """The ILogger of TF-TRT, which lives as long as the process."""
    import tensorflow as tf

    try:
        get = ctypes.CDLL(str(Path(tf.sysconfig.get_lib()) / "libtensorflow_cc.so.2"))[_GET_LOGGER]
    except (OSError, AttributeError):
        return None
    get.restype = ctypes.c_void_p
    address: int | None = get()
    return address
