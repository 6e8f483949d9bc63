"""Edits clips into streams that no encoder makes. gpu_clips.py calls these functions."""

from __future__ import annotations

import struct
from pathlib import Path

_EXTENSION = b"\x00\x00\x01\xb5"
_SEQUENCE_EXTENSION = 1
_SEQUENCE_EXTENSION_BYTES = len(_EXTENSION) + 6
_SOI = b"\xff\xd8\xff"
_HUFFMAN_TABLES = b"\xff\xc4"


def _with_display_size(stream: bytes, width: int, height: int) -> bytes:
    """Adds a sequence_display_extension (ISO/IEC 13818-2, 6.2.2.4) to each header of MPEG-2."""
    bits = f"{2:04b}{5:03b}0{width:014b}1{height:014b}".ljust(40, "0")
    added = _EXTENSION + int(bits, 2).to_bytes(5, "big")
    first, *rest = stream.split(_EXTENSION)
    out = first
    for part in rest:
        whole = _EXTENSION + part
        if part[0] >> 4 == _SEQUENCE_EXTENSION:
            whole = whole[:_SEQUENCE_EXTENSION_BYTES] + added + whole[_SEQUENCE_EXTENSION_BYTES:]
        out += whole
    return out


def smaller_display(data: bytes, source: Path) -> bytes:
    del source
    return _with_display_size(data, 216, 144)


def larger_display(data: bytes, source: Path) -> bytes:
    del source
    return _with_display_size(data, 720, 480)


def _field(jpeg: bytes, polarity: int) -> bytes:
    """Replaces JFIF's marker by that of Motion JPEG in AVI, which says which field this is."""
    if jpeg[2:4] == b"\xff\xe0":
        jpeg = jpeg[:2] + jpeg[4 + int.from_bytes(jpeg[4:6], "big") :]
    marker = b"AVI1" + bytes([polarity]) + bytes(9)
    return jpeg[:2] + b"\xff\xe0" + struct.pack(">H", len(marker) + 2) + marker + jpeg[2:]


def _jpegs(stream: bytes) -> list[bytes]:
    return [_SOI + jpeg for jpeg in stream.split(_SOI)[1:]]


def _ivf(packets: list[bytes], width: int, height: int) -> bytes:
    size = (width, height, 25, 1, len(packets), 0)
    out = struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, b"MJPG", *size)
    for number, packet in enumerate(packets):
        out += struct.pack("<IQ", len(packet), number) + packet
    return out


def jpeg_fields(data: bytes, source: Path) -> bytes:
    """Puts two JPEGs of 288x96 into each packet of an IVF file. They are the fields of a picture of
    288x192."""
    del source
    jpegs = _jpegs(data)
    return _ivf([_field(a, 1) + _field(b, 2) for a, b in zip(jpegs[::2], jpegs[1::2])], 288, 192)


def _without_tables(jpeg: bytes) -> bytes:
    at = jpeg.index(_HUFFMAN_TABLES)
    after = at + 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
    return jpeg[:at] + jpeg[after:]


def jpeg_without_tables(data: bytes, source: Path) -> bytes:
    """Puts JPEGs of 288x192 into an IVF file and removes their Huffman tables. Some cameras write
    such JPEGs."""
    del source
    return _ivf([_without_tables(jpeg) for jpeg in _jpegs(data)], 288, 192)
