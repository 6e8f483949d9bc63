"""Edits the bytes of clips in ways that no ffmpeg command can: damage, cuts and odd edit lists."""

from __future__ import annotations

import json
import math
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

TS_PACKET = 188


def packets(path: Path) -> list[dict[str, str]]:
    """Returns position, size and flags of each packet of the first video stream, in file order."""
    command = ["ffprobe", "-v", "error", "-select_streams", "v:0", "-of", "json"]
    command += ["-show_entries", "packet=pos,size,flags,pts_time", str(path)]
    found = subprocess.run(command, check=True, capture_output=True).stdout
    return json.loads(found)["packets"]


def payload(data: bytes, packet: dict[str, str]) -> tuple[int, int]:
    """Returns where a packet's own bytes begin and end. In Matroska and IVF, a header comes before
    them."""
    at, size = int(packet["pos"]), int(packet["size"])
    if data[:4] == b"\x1aE\xdf\xa3":
        at += 4  # track, time and flags
    elif data[:4] == b"DKIF":
        at += 12  # size and time
    return at, at + size


def _scribble(data: bytes, first: int, last: int) -> bytes:
    damaged = bytearray(data)
    for i in range(first, last):
        damaged[i] = (i * 73 + 41) % 256
    return bytes(damaged)


def _middle_packet(source: Path) -> dict[str, str]:
    """Returns the largest packet near the middle that is no key frame. Other frames refer to it, so
    its damage spreads."""
    found = packets(source)
    middle = len(found) // 2
    near = [p for p in found[middle - 4 : middle + 4] if "K" not in p["flags"]]
    return max(near, key=lambda p: int(p["size"]))


def break_middle_packet(data: bytes, source: Path) -> bytes:
    """Overwrites one packet from its first byte on, with its headers."""
    packet = _middle_packet(source)
    if data[:1] == b"G" and len(data) % TS_PACKET == 0:
        return _overwrite_ts(data, packet)
    return _scribble(data, *payload(data, packet))


def garble_middle_packet(data: bytes, source: Path) -> bytes:
    """Overwrites the coefficients of one packet. A decoder may not notice this."""
    first, last = payload(data, _middle_packet(source))
    return _scribble(data, first + (last - first) // 3, last)


def break_first_packet(data: bytes, source: Path) -> bytes:
    first, last = payload(data, packets(source)[0])
    return _scribble(data, first + (last - first) // 3, last)


def _overwrite_ts(data: bytes, packet: dict[str, str]) -> bytes:
    """Overwrites one packet in a transport stream. The headers of the stream's cells stay whole."""
    damaged = bytearray(data)
    first = int(packet["pos"]) // TS_PACKET * TS_PACKET
    pid = struct.unpack(">H", data[first + 1 : first + 3])[0] & 0x1FFF
    at, broken = first, 0
    while broken < 3 and at + TS_PACKET <= len(data):
        head = struct.unpack(">H", data[at + 1 : at + 3])[0]
        if head & 0x1FFF == pid and at > first:
            if head & 0x4000:  # the next frame starts here
                break
            for i in range(at + 120, at + TS_PACKET):
                damaged[i] = (i * 73 + 41) % 256
            broken += 1
        at += TS_PACKET
    if not broken:  # The packet fits in one cell.
        for i in range(first + 150, first + TS_PACKET):
            damaged[i] = (i * 73 + 41) % 256
    return bytes(damaged)


def drop_first_third(data: bytes, source: Path) -> bytes:
    """Cuts off the beginning of a transport stream. A receiver that tunes in late sees this."""
    del source
    return data[len(data) // 3 // TS_PACKET * TS_PACKET :]


def lose_three_cells(data: bytes, source: Path) -> bytes:
    """Removes three cells from the middle of a transport stream."""
    del source
    middle = len(data) // 2 // TS_PACKET * TS_PACKET
    return data[:middle] + data[middle + 3 * TS_PACKET :]


def without_first_pts(data: bytes, source: Path) -> bytes:
    """Takes the times of the first picture out of a transport stream (ISO/IEC 13818-1, 2.4.3.7)."""
    del source
    at = data.index(b"\x00\x00\x01\xe0")  # the first PES packet of the video
    length = data[at + 8]  # of the optional fields, which are the times here
    edited = bytearray(data)
    edited[at + 7] &= 0x3F  # PTS_DTS_flags
    edited[at + 9 : at + 9 + length] = b"\xff" * length  # stuffing
    return bytes(edited)


def zeroed(path: Path, which: Sequence[int]) -> bytes:
    """Returns a file without the bytes of these packets of its video, as a download with holes
    leaves it."""
    data = bytearray(path.read_bytes())
    found = packets(path)
    for i in which:
        first, last = payload(data, found[i])
        data[first:last] = bytes(last - first)
    return bytes(data)


def zero_middle_packet(data: bytes, source: Path) -> bytes:
    first, last = payload(data, _middle_packet(source))
    return data[:first] + bytes(last - first) + data[last:]


def cut_last_packet(path: Path, share: float) -> bytes:
    """Returns a file that ends inside its last packet."""
    data = path.read_bytes()
    first, last = payload(data, packets(path)[-1])
    return data[: first + int((last - first) * share)]


def from_second_keyframe(data: bytes, source: Path) -> bytes:
    keys = [packet for packet in packets(source) if "K" in packet["flags"]]
    return data[int(keys[1]["pos"]) :]


def twice(data: bytes, source: Path) -> bytes:
    del source
    return data + data


def append_small(data: bytes, source: Path) -> bytes:
    """Appends a stream of another size. A broadcast may change its size like this."""
    return data + (source.parent / "h264_small.h264").read_bytes()


def two_edits(data: bytes, source: Path) -> bytes:
    """Replaces the edit list by two edits of 0.4 s. The 0.4 s between them are not shown."""
    del source
    scale = struct.unpack(">I", data[data.index(b"mdhd") + 16 : data.index(b"mdhd") + 20])[0]
    movie = struct.unpack(">I", data[data.index(b"mvhd") + 16 : data.index(b"mvhd") + 20])[0]
    at = data.index(b"elst") - 4
    size, version = struct.unpack(">I4xB", data[at : at + 9])
    if version != 0 or data.index(b"moov") < data.index(b"mdat"):
        raise ValueError("two_edits expects a version 0 edit list in a moov after the mdat")
    offset = struct.unpack(">i", data[at + 20 : at + 24])[0]  # the composition offset to undo
    entries = b""
    for start in (0.2, 1.0):
        media = offset + round(start * scale)
        entries += struct.pack(">IiI", round(0.4 * movie), media, 0x10000)
    new = struct.pack(">I4sII", 16 + len(entries), b"elst", 0, 2) + entries
    grown = len(new) - size
    edited = bytearray(data[:at] + new + data[at + size :])
    for box in (b"moov", b"trak", b"edts"):
        head = data.index(box) - 4
        old = struct.unpack(">I", data[head : head + 4])[0]
        edited[head : head + 4] = struct.pack(">I", old + grown)
    return bytes(edited)


def display_matrix(degrees: int, mirrored: bool = False) -> Callable[[bytes, Path], bytes]:
    """Returns an edit that gives an MP4 file another display matrix. It mirrors the picture left to
    right, if `mirrored`, and then turns it clockwise. The option that makes ffmpeg write such a
    matrix differs between its releases."""
    angle, side = math.radians(degrees), -1 if mirrored else 1
    cosine, sine = (round((1 << 16) * f(angle)) for f in (math.cos, math.sin))
    matrix = (side * cosine, side * sine, 0, -sine, cosine, 0, 0, 0, 1 << 30)

    def edit(data: bytes, source: Path) -> bytes:
        del source
        at = data.index(b"tkhd") + 4 + 40  # after the box's flags, times, number and layer
        return data[:at] + struct.pack(">9i", *matrix) + data[at + 36 :]

    edit.__name__ = f"display_matrix({degrees}, {mirrored})"
    return edit
