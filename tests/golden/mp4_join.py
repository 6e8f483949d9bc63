"""Joins two clips into an MP4 file with two sample descriptions, which FFmpeg's muxer cannot write.
The samples stay as they are. Editors that copy streams write such files. ISO/IEC 14496-12 describes
the boxes in 8.5 to 8.7."""

from __future__ import annotations

import struct
from pathlib import Path

_MEDIA = (b"moov", b"trak", b"mdia")
_TABLE = (*_MEDIA, b"minf", b"stbl")


def _box(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def _table(kind: bytes, *rows: bytes) -> bytes:
    """Returns a table: a box of version 0 with a count and rows."""
    return _box(kind, struct.pack(">II", 0, len(rows)), *rows)


def _find(data: bytes, *path: bytes) -> bytes:
    """Returns the whole box at this path, or b"" if there is none."""
    for depth, kind in enumerate(path):
        at = 0 if depth == 0 else 8
        while at < len(data):
            size, found = struct.unpack(">I4s", data[at : at + 8])
            if found == kind:
                break
            at += size
        else:
            return b""
        data = data[at : at + size]
    return data


def _rows(data: bytes, kind: bytes, size: int) -> list[bytes]:
    table = _find(data, *_TABLE, kind)
    return [table[at : at + size] for at in range(16, len(table), size)]


def _samples(data: bytes) -> list[bytes]:
    """Returns the samples of a file. They must follow each other from the beginning of its mdat."""
    table = _find(data, *_TABLE, b"stsz")
    sizes = struct.unpack(f">{(len(table) - 20) // 4}I", table[20:])
    media, out = _find(data, b"mdat")[8:], []
    for size in sizes:
        out.append(media[:size])
        media = media[size:]
    return out


def _short_lengths(sample: bytes) -> bytes:
    """Writes the lengths of a sample's NAL units in two bytes instead of four."""
    out = b""
    while sample:
        (size,) = struct.unpack(">I", sample[:4])
        out += struct.pack(">H", size) + sample[4 : 4 + size]
        sample = sample[4 + size :]
    return out


def _with_short_lengths(description: bytes) -> bytes:
    """Sets `lengthSizeMinusOne` in the avcC record to 1, which means two bytes (ISO/IEC 14496-15,
    5.3.3.1)."""
    at = description.index(b"avcC") + 8
    return description[:at] + b"\xfd" + description[at + 1 :]


def _joined(first: bytes, second: bytes, short_lengths: bool) -> bytes:
    one, two = _samples(first), _samples(second)
    descriptions = [_find(data, *_TABLE, b"stsd")[16:] for data in (first, second)]
    if short_lengths:
        two = [_short_lengths(sample) for sample in two]
        descriptions[1] = _with_short_lengths(descriptions[1])
    count = len(one) + len(two)
    keys = [struct.unpack(">I", row)[0] for row in _rows(first, b"stss", 4)]
    keys += [struct.unpack(">I", row)[0] + len(one) for row in _rows(second, b"stss", 4)]
    ftyp = _find(first, b"ftyp")
    start = len(ftyp) + 8
    sizes = [struct.pack(">I", len(sample)) for sample in one + two]
    chunks = [start, start + sum(map(len, one))]
    table = _box(
        b"stbl",
        _table(b"stsd", *descriptions),
        _table(b"stts", *_rows(first, b"stts", 8), *_rows(second, b"stts", 8)),
        _table(b"ctts", *_rows(first, b"ctts", 8), *_rows(second, b"ctts", 8)),
        _table(b"stss", *(struct.pack(">I", key) for key in keys)),
        _table(b"stsc", struct.pack(">III", 1, len(one), 1), struct.pack(">III", 2, len(two), 2)),
        _box(b"stsz", struct.pack(">III", 0, 0, count), *sizes),
        _table(b"stco", *(struct.pack(">I", chunk) for chunk in chunks)),
    )
    header = bytearray(_find(first, *_MEDIA, b"mdhd"))
    (ticks,) = struct.unpack(">I", _find(second, *_MEDIA, b"mdhd")[24:28])
    header[24:28] = struct.pack(">I", struct.unpack(">I", header[24:28])[0] + ticks)
    information = _box(
        b"minf",
        _find(first, *_MEDIA, b"minf", b"vmhd"),
        _find(first, *_MEDIA, b"minf", b"dinf"),
        table,
    )
    media = _box(b"mdia", bytes(header), _find(first, *_MEDIA, b"hdlr"), information)
    track = _box(b"trak", _find(first, b"moov", b"trak", b"tkhd"), media)
    movie = _box(b"moov", _find(first, b"moov", b"mvhd"), track)
    return ftyp + _box(b"mdat", *one, *two) + movie


def with_second(data: bytes, source: Path) -> bytes:
    """Joins a clip with the clip whose name has _second at its end."""
    second = source.with_name(f"{source.stem}_second.mp4").read_bytes()
    return _joined(data, second, short_lengths=False)


def with_second_of_short_lengths(data: bytes, source: Path) -> bytes:
    second = source.with_name(f"{source.stem}_second.mp4").read_bytes()
    return _joined(data, second, short_lengths=True)
