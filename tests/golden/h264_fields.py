"""Encodes H.264 whose pictures are coded as two fields (PAFF). No encoder of ffmpeg does this.

Every macroblock is skipped or holds raw samples (I_PCM), so it is enough to write the headers.
Names are those of ITU-T H.264.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path

WIDTH, HEIGHT = 3, 4  # of a frame, in macroblocks
GOPS = 4
# The pictures of a GOP in decoding order: type and display number.
ORDER = (("I", 0), ("P", 2), ("B", 1), ("P", 4), ("B", 3), ("P", 6), ("B", 5))
SLICE_TYPE = {"P": 5, "B": 6, "I": 7}
I_PCM = {"I": 25, "P": 5 + 25, "B": 23 + 25}  # mb_type


class _Bits:
    def __init__(self) -> None:
        self.bits: list[int] = []

    def u(self, count: int, value: int) -> None:
        self.bits += [value >> i & 1 for i in range(count - 1, -1, -1)]

    def ue(self, value: int) -> None:
        count = (value + 1).bit_length()
        self.u(2 * count - 1, value + 1)

    def align(self, first: int = 0) -> None:
        self.bits += [first] if first else []
        self.bits += [0] * (-len(self.bits) % 8)

    def nal(self, ref_idc: int, unit_type: int) -> bytes:
        """Returns the unit with its start code, the stop bit and the emulation prevention bytes."""
        self.align(1)
        out, zeros = bytearray(), 0
        for i in range(0, len(self.bits), 8):
            byte = int("".join(map(str, self.bits[i : i + 8])), 2)
            if zeros >= 2 and byte <= 3:
                out.append(3)
                zeros = 0
            out.append(byte)
            zeros = 0 if byte else zeros + 1
        return b"\0\0\0\1" + bytes([ref_idc << 5 | unit_type]) + bytes(out)


def _parameter_sets() -> bytes:
    sps = _Bits()
    sps.u(24, 77 << 16 | 30)  # Main profile, level 3
    for value in (0, 4, 0, 4, 4):  # 8 bits of frame_num and of the order count, 4 references
        sps.ue(value)
    sps.u(1, 0)
    sps.ue(WIDTH - 1)
    sps.ue(HEIGHT // 2 - 1)
    sps.u(4, 0b0010)  # fields, no MBAFF, direct_8x8_inference, no cropping
    sps.u(1, 1)  # VUI, with only the timing and the number of pictures that come late
    sps.u(5, 0b00001)
    sps.u(32, 1)
    sps.u(32, 50)
    sps.u(6, 0b100011)
    for value in (0, 0, 10, 10, 1, 4):
        sps.ue(value)
    pps = _Bits()
    for value in (0, 0):
        pps.ue(value)
    pps.u(2, 0)  # CAVLC
    for value in (0, 0, 0):
        pps.ue(value)
    pps.u(3, 0)
    for value in (0, 0, 0):
        pps.ue(value)
    pps.u(3, 0b100)  # deblocking_filter_control_present_flag
    return sps.nal(3, 7) + pps.nal(3, 8)


def _picture(
    kind: str,
    idr_id: int | None,
    frame_num: int,
    order: int,
    field: int | None,
    draw: random.Random,
) -> bytes:
    """Encodes a picture as one slice. `field` is 0 for a top field, 1 for a bottom field, and None
    for a frame."""
    reference = kind != "B"
    slice_ = _Bits()
    slice_.ue(0)
    slice_.ue(SLICE_TYPE[kind])
    slice_.ue(0)
    slice_.u(8, frame_num)
    slice_.u(1, field is not None)
    if field is not None:
        slice_.u(1, field)
    if idr_id is not None:
        slice_.ue(idr_id)
    slice_.u(8, order)
    if kind == "B":
        slice_.u(1, 1)  # spatial direct
    # The slice neither overrides the number of references nor reorders them.
    slice_.u({"I": 0, "P": 2, "B": 3}[kind], 0)
    if reference:
        slice_.u(1 if idr_id is None else 2, 0)
    slice_.ue(0)
    slice_.ue(1)  # no deblocking
    skipped = 0
    for _ in range(WIDTH * HEIGHT // (1 if field is None else 2)):
        if kind != "I" and draw.random() < 0.6:
            skipped += 1
            continue
        if kind != "I":
            slice_.ue(skipped)
            skipped = 0
        slice_.ue(I_PCM[kind])
        slice_.align()
        level = draw.randrange(20, 200)
        for _ in range(384):
            slice_.u(8, level + draw.randrange(4))
    if skipped:
        slice_.ue(skipped)
    return slice_.nal(2 if reference else 0, 1 if idr_id is None else 5)


def _access_units(mixed: bool) -> list[tuple[int, bytes]]:
    """Returns each frame's display number and bytes. With `mixed`, every third frame is not split
    into fields."""
    draw = random.Random(5)
    units = []
    for gop in range(GOPS):
        frame_num = 0
        for i, (kind, number) in enumerate(ORDER):
            head = _parameter_sets() if i == 0 else b""
            idr = gop % 2 if kind == "I" else None
            if mixed and i % 3 == 1:
                fields = [_picture(kind, idr, frame_num, 4 * number, None, draw)]
            else:
                second = "P" if kind == "I" else kind
                fields = [
                    _picture(kind, idr, frame_num, 4 * number, 0, draw),
                    _picture(second, None, frame_num, 4 * number + 2, 1, draw),
                ]
            units.append((gop * len(ORDER) + number, head + b"".join(fields)))
            frame_num += kind != "B"
    return units


def _ivf(mixed: bool) -> bytes:
    units = _access_units(mixed)
    size = (16 * WIDTH, 16 * HEIGHT)
    out = struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, b"H264", *size, 25, 1, len(units), 0)
    for number, unit in units:
        out += struct.pack("<IQ", len(unit), number) + unit
    return out


def all_fields(data: bytes, source: Path) -> bytes:
    del data, source
    return _ivf(mixed=False)


def fields_and_frames(data: bytes, source: Path) -> bytes:
    del data, source
    return _ivf(mixed=True)
