"""Bitplanes of VC-1 (SMPTE 421M, 8.7): one bit a macroblock, in one piece."""

from __future__ import annotations

from collections.abc import Iterable

from vc1_codes import codes

Plane = list[list[int]]  # rows of bits

_MODES = {
    "raw": "0000",
    "norm2": "10",
    "diff2": "001",
    "norm6": "11",
    "diff6": "0001",
    "rowskip": "010",
    "colskip": "011",
}
MODES = tuple(_MODES)
_PAIRS = ("0", "100", "101", "11")  # by first + 2 * second
# By six bits, the first one lowest.
_SIXES = codes(
    "3 12 13 100 14 101 102 447 15 103 104 44b 105 44d 44e 230e 16 106 107 453 108 455 456 "
    "230d 109 459 45a 230c 45c 230b 230a 237 17 10a 10b 443 10c 445 446 2309 10d 449 44a 2308 "
    "44c 2307 2306 236 10e 451 452 2305 454 2304 2303 235 458 2302 2301 234 2300 233 232 47"
)


def coded(plane: Plane, mode: str, invert: int) -> str:
    """INVERT, IMODE and DATABITS; of a raw plane the bits follow with their macroblocks."""
    width, height = len(plane[0]), len(plane)
    head = f"{invert}{_MODES[mode]}"
    if mode == "raw":
        return head
    if mode.startswith("diff"):
        plane = _differences(plane, invert)
    elif invert:
        plane = [[1 - bit for bit in row] for row in plane]
    if mode == "rowskip":
        return head + _skipping(plane)
    if mode == "colskip":
        return head + _skipping(zip(*plane))
    if mode.endswith("2"):
        line = [bit for row in plane for bit in row]
        odd = len(line) % 2
        pairs = zip(line[odd::2], line[odd + 1 :: 2])
        return head + str(line[0]) * odd + "".join(_PAIRS[a + 2 * b] for a, b in pairs)
    wide, high = (2, 3) if height % 3 == 0 and width % 3 else (3, 2)
    left, top = width % wide, height % high
    out = head
    for y in range(top, height, high):
        for x in range(left, width, wide):
            tile = [plane[y + j][x + i] for j in range(high) for i in range(wide)]
            out += _SIXES[sum(bit << n for n, bit in enumerate(tile))]
    # What no tile covers: columns at the left, then a row at the top.
    out += _skipping(zip(*(row[:left] for row in plane)))
    return out + _skipping([plane[0][left:]] * top)


def _skipping(lines: Iterable[Iterable[int]]) -> str:
    """A bit for each line, and its bits where one is set."""
    return "".join("1" + "".join(map(str, line)) if any(line) else "0" for line in map(list, lines))


def _differences(plane: Plane, invert: int) -> Plane:
    """Each bit against its neighbours', or against `invert` where these differ."""

    def guess(x: int, y: int) -> int:
        above = plane[y - 1][x] if y else None
        left = plane[y][x - 1] if x else None
        if above is None or left is None:
            near = left if above is None else above
            return invert if near is None else near
        return left if left == above else invert

    return [[bit ^ guess(x, y) for x, bit in enumerate(row)] for y, row in enumerate(plane)]
