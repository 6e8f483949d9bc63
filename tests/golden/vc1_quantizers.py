"""VC-1's quantizers of macroblocks, where DQUANT is 1: VOPDQUANT and MQUANT (SMPTE 421M)."""

from __future__ import annotations

import random

from vc1_codes import Pair

# DQPROFILE; of its edges, bits are the left, top, right and bottom one.
_ALL_EDGES, _TWO_EDGES, _ONE_EDGE, _ALL = range(4)
_WORDS = ("none", "four edges", "two edges", "one edge", "two quantizers", "any quantizer")
_GREATEST = 31


class Quantizers:
    """A picture's; pq is its PQUANT. header is VOPDQUANT."""

    def __init__(self, rng: random.Random, pq: int) -> None:
        self.rng, self.pq = rng, pq
        self.edges, self.kind = 0, rng.choice(_WORDS)
        self.header = "0"
        if self.kind == "none":
            return
        number = rng.randrange(4)
        if self.kind == "four edges":
            self.edges, profile = 15, f"{_ALL_EDGES:02b}"
        elif self.kind == "two edges":
            self.edges = (3 << number) % 15
            profile = f"{_TWO_EDGES:02b}{number:02b}"
        elif self.kind == "one edge":
            self.edges = 1 << number
            profile = f"{_ONE_EDGE:02b}{number:02b}"
        else:
            profile = f"{_ALL:02b}{self.kind == 'two quantizers':d}"
        self.header = f"1{profile}"
        if self.kind != "any quantizer":
            self.other = self._near(least=1)
            self.header += self._code(self.other, least=1)

    @property
    def is_used(self) -> bool:
        return self.kind != "none"

    def of(self, place: Pair, size: Pair) -> tuple[str, int, bool]:
        """Of a macroblock in a picture of so many: MQUANT's bits, the quantizer, and whether it is
        the picture's with its half step."""
        if self.kind == "two quantizers":
            other = self.rng.getrandbits(1)
            return f"{other}", self.other if other else self.pq, not other
        if self.kind == "any quantizer":
            quantizer = self._near(least=0)
            return self._code(quantizer, least=0), quantizer, False
        (x, y), (width, height) = place, size
        on = (x == 0) | (y == 0) << 1 | (x == width - 1) << 2 | (y == height - 1) << 3
        other = on & self.edges
        return "", self.other if other else self.pq, not other

    def _near(self, least: int) -> int:
        """A quantizer: mostly little more than the picture's, so that differences can be coded."""
        near = self.pq + self.rng.randrange(least, 10)
        if near <= _GREATEST and self.rng.random() < 0.7:
            return near
        return self.rng.randint(1, _GREATEST)

    def _code(self, quantizer: int, least: int) -> str:
        """PQDIFF and ABSPQ (from a difference of 1 on), or MQDIFF and ABSMQ (from 0 on)."""
        difference = quantizer - self.pq - least
        if 0 <= difference < 7 and self.rng.random() < 0.8:
            return f"{difference:03b}"
        return f"111{quantizer:05b}"
