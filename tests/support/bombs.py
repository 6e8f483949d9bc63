"""Makes small files that ask for much time, much memory, or both. Their frames are tiny JPEGs.

The boxes are those of ISO/IEC 14496-12 and of the QuickTime File Format, the elements those of
RFC 9559 (Matroska), the chunks those of the PNG specification.
"""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

from PIL import Image

_MILLISECONDS = 40  # of a frame
_MEDIA_AT = 28  # byte of the first sample, behind ftyp and the head of mdat
_FILE_TYPE = b"\0\0\0\x14ftypqt  \0\0\0\0qt  "


def _numbers(*values: int) -> bytes:
    return struct.pack(f">{len(values)}I", *values)


def _box(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return _numbers(8 + len(body)) + kind + body


def _full(kind: bytes, *parts: bytes) -> bytes:
    """A box of version 0, without flags."""
    return _box(kind, bytes(4), *parts)


def jpeg() -> bytes:
    """16x16 pixels."""
    out = BytesIO()
    Image.new("RGB", (16, 16), (80, 120, 160)).save(out, "JPEG")
    return out.getvalue()


def jpeg_of(edge: int) -> bytes:
    """Says that it has edge x edge pixels, and holds 16x16."""
    data = jpeg()
    frame = data.index(b"\xff\xc0") + 5
    return data[:frame] + struct.pack(">HH", edge, edge) + data[frame + 4 :]


def still(edge: int) -> bytes:
    """An animated PNG of one black picture of edge x edge pixels, which is there in full."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return _numbers(len(body)) + kind + body + _numbers(zlib.crc32(kind + body))

    packer = zlib.compressobj(1)
    rows = b"".join(packer.compress(bytes(edge + 1)) for _ in range(edge)) + packer.flush()
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", _numbers(edge, edge) + b"\x08\0\0\0\0"),
            chunk(b"acTL", _numbers(1, 0)),
            chunk(b"fcTL", _numbers(0, edge, edge, 0, 0) + b"\0\1\0\x19\0\0"),
            *(chunk(b"IDAT", rows[at : at + 1024]) for at in range(0, len(rows), 1024)),
            chunk(b"IEND", b""),
        ]
    )


def _entry(edge: int) -> bytes:
    size = struct.pack(">HH", edge, edge)
    first = bytes(6) + b"\0\1" + bytes(16) + size + _numbers(72 << 16, 72 << 16, 0)
    return _box(b"jpeg", first, struct.pack(">H32sHh", 1, b"", 24, -1))


def _track(number: int, tables: bytes, edits: bytes, duration: int) -> bytes:
    matrix = _numbers(1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    where = _numbers(0, 0, number, 0, duration) + bytes(16) + matrix + _numbers(16 << 16, 16 << 16)
    reference = _box(b"dinf", _full(b"dref", _numbers(1), _box(b"url ", b"\0\0\0\1")))
    media = _box(
        b"mdia",
        _full(b"mdhd", _numbers(0, 0, 1000, duration, 0)),
        _full(b"hdlr", bytes(4), b"vide", bytes(13)),
        _box(b"minf", _full(b"vmhd", bytes(8)), reference, _box(b"stbl", tables)),
    )
    return _box(b"trak", _full(b"tkhd", where), edits, media)


def _movie(*boxes: bytes) -> bytes:
    header = _numbers(0, 0, 1000, 1 << 20, 1 << 16) + bytes(76) + _numbers(2)
    return _box(b"moov", _full(b"mvhd", header), *boxes)


def _tables(samples: int, size: int, chunks: int, edge: int = 16) -> bytes:
    """Chunks of as many samples each, which all begin at the first byte of the media."""
    return b"".join(
        [
            _full(b"stsd", _numbers(1), _entry(edge)),
            _full(b"stts", _numbers(1, samples, _MILLISECONDS)),
            _full(b"stsc", _numbers(1, 1, samples // chunks, 1)),
            _full(b"stsz", _numbers(size, samples)),
            _full(b"stco", _numbers(chunks), _numbers(_MEDIA_AT) * chunks),
        ]
    )


def mp4(frames: int, edits: bytes = b"", edge: int = 16) -> bytes:
    """All frames have the same bytes."""
    sample = jpeg()
    tables = _tables(frames, len(sample), frames, edge)
    track = _track(1, tables, edits, _MILLISECONDS * frames)
    return _FILE_TYPE + _box(b"mdat", sample) + _movie(track)


def edit_list(frames: int, edits: int) -> bytes:
    """Shows all frames `edits` times."""
    row = struct.pack(">IiI", _MILLISECONDS * frames, 0, 1 << 16)
    return mp4(frames, _box(b"edts", _full(b"elst", _numbers(edits), row * edits)))


def many_samples(samples: int, tracks: int = 1) -> bytes:
    """Each track has so many samples of one byte, 512 in a chunk."""
    tables = _tables(samples, 1, samples // 512)
    made = (_track(1 + i, tables, b"", 1 << 20) for i in range(tracks))
    return _FILE_TYPE + _box(b"mdat", jpeg()) + _movie(*made)


def long_run(samples: int) -> bytes:
    """A fragment whose only run has so many samples of one byte, in no bytes of the header."""
    empty = [_full(kind, _numbers(0)) for kind in (b"stts", b"stsc", b"stco")]
    tables = b"".join([_full(b"stsd", _numbers(1), _entry(16)), *empty, _full(b"stsz", bytes(8))])
    extends = _box(b"mvex", _full(b"trex", _numbers(1, 1, _MILLISECONDS, 1, 0)))
    run = _box(b"traf", _box(b"tfhd", _numbers(0x020000, 1)), _full(b"trun", _numbers(samples)))
    moof = _box(b"moof", _full(b"mfhd", _numbers(1)), run)
    return _FILE_TYPE + _movie(_track(1, tables, b"", 0), extends) + moof + _box(b"mdat", jpeg())


def nested_boxes(depth: int) -> bytes:
    sizes = range(8 * depth, 0, -8)
    return _FILE_TYPE + b"".join(_numbers(size) + b"moov" for size in sizes)


def _element(name: int, body: bytes) -> bytes:
    """An element with a size of eight bytes."""
    kind = name.to_bytes((name.bit_length() + 7) // 8, "big")
    return kind + (len(body) | 1 << 56).to_bytes(8, "big") + body


def _matroska(body: bytes, codec: bytes = b"V_MJPEG") -> bytes:
    head = _element(0x1A45DFA3, _element(0x4282, b"matroska"))
    size = _element(0xE0, _element(0xB0, b"\x10") + _element(0xBA, b"\x10"))
    numbers = _element(0xD7, b"\1") + _element(0x73C5, b"\1") + _element(0x83, b"\1")
    tracks = _element(0x1654AE6B, _element(0xAE, numbers + _element(0x86, codec) + size))
    clock = _element(0x1549A966, _element(0x2AD7B1, _numbers(1_000_000)))
    return head + _element(0x18538067, clock + tracks + body)


def _cluster(time: int, payload: bytes, flags: bytes = b"\x80") -> bytes:
    """A cluster of one block; the flags say whether it is a key frame."""
    block = b"\xa3" + bytes([0x80 | (4 + len(payload))]) + b"\x81\0\0" + flags + payload
    size = bytes([0x80 | (6 + len(block))])
    return b"\x1f\x43\xb6\x75" + size + b"\xe7\x84" + _numbers(time) + block


def clusters(count: int, payload: bytes) -> bytes:
    """So many clusters of one block each, a millisecond apart. A block may have no bytes."""
    return _matroska(b"".join(_cluster(time, payload) for time in range(count)))


def late_key_frames(count: int) -> bytes:
    """VP8 (RFC 6386): so many frames, each behind a key frame that is shown after all of them."""
    key, other = b"\x10\0\0\x9d\1\x2a\x10\0\x10\0", b"\x11\0\0\0"
    body = [_cluster(0, key)]
    for i in range(1, count):
        body += [_cluster(count + i, key), _cluster(i, other, b"\0")]
    return _matroska(b"".join(body), b"V_VP8")


def nested_elements(depth: int) -> bytes:
    """A tag that holds itself."""
    sizes = range(10 * (depth - 1), -10, -10)
    body = b"".join(b"\x67\xc8" + (size | 1 << 56).to_bytes(8, "big") for size in sizes)
    return _matroska(_element(0x1254C367, _element(0x7373, body)))
