"""Makes small files that ask for much: time, memory, or both. Each is a few kilobytes to a megabyte."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from io import BytesIO

from PIL import Image

EDGE = 16384
_FOUR_BILLION = 0xFFFFFFF0


def _box(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def _full(kind: bytes, *parts: bytes) -> bytes:
    """A box with a version and flags of 0."""
    return _box(kind, bytes(4), *parts)


def _numbers(*values: int) -> bytes:
    return struct.pack(f">{len(values)}I", *values)


def jpeg(width: int = 16, height: int = 16) -> bytes:
    out = BytesIO()
    Image.new("RGB", (width, height), (80, 120, 160)).save(out, "JPEG")
    return out.getvalue()


def _entry(edge: int = 16) -> bytes:
    """The sample entry of Motion JPEG (QuickTime File Format, video sample description)."""
    size = struct.pack(">HH", edge, edge)
    body = bytes(6) + _numbers(1)[2:] + bytes(16) + size + _numbers(72 << 16, 72 << 16, 0)
    return _box(b"jpeg", body + struct.pack(">H32sHh", 1, b"", 24, -1))


def _track(number: int, tables: bytes, edits: bytes = b"", duration: int = 1 << 20) -> bytes:
    matrix = _numbers(1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    header = _numbers(0, 0, number, 0, duration) + bytes(16) + matrix + _numbers(16 << 16, 16 << 16)
    handler = bytes(4) + b"vide" + bytes(13)
    reference = _box(b"dinf", _full(b"dref", _numbers(1), _box(b"url ", b"\0\0\0\1")))
    media = _box(
        b"mdia",
        _full(b"mdhd", _numbers(0, 0, 1000, duration, 0)),
        _full(b"hdlr", handler),
        _box(b"minf", _full(b"vmhd", bytes(8)), reference, _box(b"stbl", tables)),
    )
    return _box(b"trak", _full(b"tkhd", header), edits, media)


def _tables(count: int, sizes: bytes, chunks: int, samples: int, at: int, edge: int = 16) -> bytes:
    """The tables of `chunks` chunks of `samples` samples each, which all lie at byte `at`."""
    return b"".join(
        [
            _full(b"stsd", _numbers(1), _entry(edge)),
            _full(b"stts", _numbers(1, count, 40)),
            _full(b"stsc", _numbers(1, 1, samples, 1)),
            _full(b"stsz", sizes),
            _full(b"stco", _numbers(chunks), _numbers(at) * chunks),
        ]
    )


def _mp4(*tracks: bytes, media: bytes = b"") -> bytes:
    """The media data comes first: its bytes begin at byte 32."""
    kind = _box(b"ftyp", b"qt  ", bytes(4), b"qt  ")
    header = _numbers(0, 0, 1000, 1 << 20, 1 << 16) + bytes(76) + _numbers(2)
    moov = _box(b"moov", _full(b"mvhd", header), *tracks)
    return kind + _box(b"free", bytes(0 if len(kind) == 20 else 0)) + _box(b"mdat", media) + moov


_MEDIA_AT = 20 + 8 + 8


def mp4(count: int = 10, edits: bytes = b"", edge: int = 16) -> bytes:
    """A sound video of `count` frames that share their bytes."""
    sample = jpeg()
    sizes = _numbers(len(sample), count)
    tables = _tables(count, sizes, count, 1, _MEDIA_AT, edge)
    return _mp4(_track(1, tables, edits, 40 * count), media=sample)


def many_samples(count: int = 1 << 24, tracks: int = 1, each: int = 512) -> bytes:
    """Each track has `count` samples of one byte, in chunks of `each` at the same place."""
    tables = _tables(count, _numbers(1, count), max(1, count // each), each, _MEDIA_AT)
    return _mp4(*(_track(1 + i, tables) for i in range(tracks)), media=jpeg())


def edit_list(count: int, edits: int) -> bytes:
    """The edit list repeats all of `count` frames `edits` times."""
    rows = struct.pack(">IiI", 40 * count, 0, 1 << 16) * edits
    return mp4(count, _box(b"edts", _full(b"elst", _numbers(edits), rows)))


def many_in_a_fragment(count: int = _FOUR_BILLION, fragments: int = 1) -> bytes:
    """Fragments whose run has `count` samples of one byte, described by a few bytes."""
    sample = jpeg()
    extends = _box(b"mvex", _full(b"trex", _numbers(1, 1, 40, 1, 0)))
    tables = b"".join(
        [_full(b"stsd", _numbers(1), _entry())]
        + [_full(kind, _numbers(0)) for kind in (b"stts", b"stsc", b"stco")]
        + [_full(b"stsz", _numbers(0, 0))]
    )
    kind = _box(b"ftyp", b"iso5", bytes(4), b"iso5")
    header = _numbers(0, 0, 1000, 0, 1 << 16) + bytes(76) + _numbers(2)
    moov = _box(b"moov", _full(b"mvhd", header), _track(1, tables, duration=0), extends)
    run = _box(b"traf", _box(b"tfhd", _numbers(0x020000, 1)), _full(b"trun", _numbers(count)))
    moof = _box(b"moof", _full(b"mfhd", _numbers(1)), run)
    return kind + moov + (moof + _box(b"mdat", sample)) * fragments


def nested_boxes(depth: int, kind: bytes = b"moov") -> bytes:
    sizes = range(8 + 8 * depth, 8, -8)
    return _box(b"ftyp", b"isom", bytes(4)) + b"".join(_numbers(size) + kind for size in sizes)


def _element(name: int, body: bytes) -> bytes:
    """An EBML element with a size of eight bytes."""
    head = name.to_bytes((name.bit_length() + 7) // 8, "big")
    return head + (len(body) | 1 << 56).to_bytes(8, "big") + body


def _matroska(body: bytes) -> bytes:
    head = _element(0x1A45DFA3, _element(0x4282, b"matroska"))
    video = _element(0xE0, _element(0xB0, b"\x10") + _element(0xBA, b"\x10"))
    entry = _element(0xD7, b"\1") + _element(0x73C5, b"\1") + _element(0x83, b"\1")
    entry += _element(0x86, b"V_MJPEG") + video
    info = _element(0x1549A966, _element(0x2AD7B1, (1_000_000).to_bytes(4, "big")))
    return head + _element(0x18538067, info + _element(0x1654AE6B, _element(0xAE, entry)) + body)


def matroska_clusters(count: int, payload: bytes = b"") -> bytes:
    """`count` clusters of one block each, which has no bytes unless `payload` is given."""
    block = b"\xa3" + bytes([0x80 | (4 + len(payload))]) + b"\x81\0\0\x80" + payload
    time = b"\xe7\x84"
    size = 6 + len(block)
    head = b"\x1f\x43\xb6\x75" + bytes([0x80 | size])
    return _matroska(b"".join(head + time + _numbers(i) + block for i in range(count)))


def nested_elements(depth: int) -> bytes:
    """Matroska's SimpleTag may hold itself."""
    body = b""
    for _ in range(depth):
        size = len(body).to_bytes(4, "big")
        body = b"\x67\xc8\x08" + size[1:] if False else b"\x67\xc8" + (len(body) | 1 << 28).to_bytes(4, "big") + body
    tag = _element(0x7373, body)
    return _matroska(_element(0x1254C367, tag))
