"""CRC-32C (Castagnoli) of large byte strings with NumPy; TFRecord files are checked with it.

A CRC is linear over GF(2): the data is cut into equal rows, all rows are worked through at once,
byte column by byte column, and the rows' results are joined in order. Polynomial and constants are
those of RFC 3720, appendix B.4.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78
_ALL = 0xFFFFFFFF
# Below this the plain loop is as quick.
_SMALL = 4096
_MASK_DELTA = 0xA282EAD8


def crc32c(data: bytes) -> int:
    """The CRC-32C of `data`."""
    if len(data) < _SMALL:
        return _update(_ALL, data) ^ _ALL
    width = 1 << (len(data).bit_length() // 2)
    rows = len(data) // width
    head = len(data) - rows * width
    # The first bytes that fill no row go first, so that all rows are whole.
    state = _update(_ALL, data[:head])
    table = _table()
    columns = np.frombuffer(data, np.uint8, offset=head).reshape(rows, width).T
    crcs = np.zeros(rows, np.uint32)
    for column in np.ascontiguousarray(columns):
        crcs = table[(crcs ^ column) & 0xFF] ^ (crcs >> 8)
    for crc in crcs.tolist():
        state = _shift(state, width) ^ crc
    return state ^ _ALL


def masked(crc: int) -> int:
    """The CRC as TFRecord stores it, rotated and moved so that a CRC of CRCs is still useful."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL


def _update(state: int, data: bytes) -> int:
    table = _table().tolist()
    for byte in data:
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state


@lru_cache(maxsize=1)
def _table() -> NDArray[Any]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ np.where(table & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    return table


def _shift(state: int, zeros: int) -> int:
    """The state after `zeros` bytes of zero."""
    return _apply(_zeros_operator(zeros), state)


@lru_cache(maxsize=8)
def _zeros_operator(zeros: int) -> tuple[int, ...]:
    """The linear map of `zeros` zero bytes: the image of each of the 32 bits of a state."""
    table = _table().tolist()
    power = tuple(table[(1 << bit) & 0xFF] ^ ((1 << bit) >> 8) for bit in range(32))
    total = tuple(1 << bit for bit in range(32))
    while zeros:
        if zeros & 1:
            total = tuple(_apply(power, image) for image in total)
        power = tuple(_apply(power, image) for image in power)
        zeros >>= 1
    return total


def _apply(operator: tuple[int, ...], state: int) -> int:
    result = 0
    for image in operator:
        if state & 1:
            result ^= image
        state >>= 1
        if not state:
            break
    return result
