"""Writes a NumPy .npy file in pieces, for tensors that do not fit in memory."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

# Holds a header of any shape. The format asks for a multiple of 64 (numpy.lib.format, version 1.0).
_HEADER_BYTES = 256


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    fields = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    text = repr(fields).encode("latin1")
    prefix = b"\x93NUMPY\x01\x00" + struct.pack("<H", _HEADER_BYTES - 10)
    return prefix + text.ljust(_HEADER_BYTES - 11) + b"\n"


class NpyWriter:
    """Appends arrays along the first axis. `finish` writes the final count into the header."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._count = 0
        self._dtype: np.dtype[Any] | None = None
        self._tail: tuple[int, ...] = ()
        self._file.write(bytes(_HEADER_BYTES))

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._count, *self._tail)

    def append(self, block: NDArray[Any]) -> None:
        """Adds `block` [n, ...]; all blocks have one dtype and one shape after the first axis."""
        if self._dtype is None:
            self._dtype, self._tail = block.dtype, block.shape[1:]
        elif (block.dtype, block.shape[1:]) != (self._dtype, self._tail):
            raise ValueError(
                f"frames changed from {self._dtype} {self._tail} to {block.dtype} {block.shape[1:]}"
                " in the middle of the video: give --size"
            )
        self._file.write(np.ascontiguousarray(block).data)
        self._count += len(block)

    def finish(self) -> None:
        """Writes the header; the file stays open."""
        dtype = self._dtype or np.dtype(np.uint8)
        self._file.seek(0)
        self._file.write(_header(dtype, self.shape))

    def __enter__(self) -> NpyWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()
