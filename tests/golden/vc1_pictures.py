"""Pictures of VC-1's Advanced Profile (SMPTE 421M), drawn at random: see vc1_stream.py."""

from __future__ import annotations

import random

import vc1_bitplanes
import vc1_codes as tables
from vc1_codes import Key, Pair
from vc1_quantizers import Quantizers

# Bounds on a block's dequantized DC and sum of AC coefficients: the transform then stays in 16 bits
# and a residual within about 200. A macroblock with AC prediction adds up to four low sums, which
# another quantizer's steps can double.
_DC_LIMIT, _AC_LIMIT, _AC_LOW = 800, 400, 100


class Picture:
    """One picture, coded: the bits of its data units are in units."""

    def __init__(self, rng: random.Random, kind: str, size: Pair, words: set[str]) -> None:
        self.rng, self.kind, self.words = rng, kind, words
        self.width, self.height = size
        self.units: list[str] = []
        # AC prediction, for no two neighbours, so that predictions of predictions stay small.
        places = [(x, y) for x in range(self.width) for y in range(self.height)]
        self.acpred = {(x, y) for x, y in places if (x + y) % 2 == 0 and rng.random() < 0.5}
        self.planes: dict[str, tuple[vc1_bitplanes.Plane | None, float, bool]] = {}
        self.modes = random.Random(rng.getrandbits(32))  # apart: they change nothing else
        self.begin()

    def plane(self, name: str, odds: float = 0.5, bits: vc1_bitplanes.Plane | None = None) -> None:
        """A bitplane in the picture's header: bit() gives its bits, which have these odds."""
        mode, invert = "raw", 0
        if "planes" in self.words:
            mode, invert = self.modes.choice(vc1_bitplanes.MODES), self.modes.getrandbits(1)
            rows, columns = range(self.height), range(self.width)
            bits = bits or [[self.flag(odds) for _ in columns] for _ in rows]
        self.out.append(vc1_bitplanes.coded(bits or [[0]], mode, invert))
        self.planes[name] = bits, odds, mode == "raw"

    def bit(self, name: str, x: int, y: int) -> int:
        """A macroblock's, which codes it itself where the plane is raw."""
        bits, odds, raw = self.planes[name]
        if bits is None:
            return self.draw(odds)
        if raw:
            self.put(bits[y][x])
        return bits[y][x]

    def begin(self) -> None:
        """Begins a data unit: nothing is predicted from the one before."""
        self.out: list[str] = []
        self.dc: dict[Key, Pair] = {}  # quantized, and its quantizer
        self.coded: dict[Pair, int] = {}
        self.mv: dict[Pair, Pair] = {}
        self.escape_bits: Pair | None = None

    def put(self, value: int, width: int = 1) -> None:
        self.out.append(f"{value:0{width}b}")

    def flag(self, probability: float) -> int:
        return int(self.rng.random() < probability)

    def draw(self, probability: float = 0.5) -> int:
        bit = self.flag(probability)
        self.put(bit)
        return bit

    def pick(self, codes: list[str] | tuple[str, ...], first: int = 0) -> int:
        number = self.rng.randrange(first, len(codes))
        self.out.append(codes[number])
        return number

    def encode(self, rounding: int, quantizer: int) -> None:
        self.out.append(tables.PICTURE_TYPES[self.kind])
        if "display" in self.words:
            self.put(self.rng.getrandbits(8), 8)  # TFCNTR
            self.put(self.rng.getrandbits(2), 2)  # RPTFRM
        if self.kind != "S":
            self.header(rounding, quantizer)
            write = {"P": self.p_macroblock, "B": self.b_macroblock}.get(self.kind)
            for y in range(self.height):
                if y and "slices" in self.words and self.flag(0.3):
                    self.units.append("".join(self.out))
                    self.begin()
                    self.out.append(f"{y:09b}0")
                for x in range(self.width):
                    (write or self.i_macroblock)(x, y)
        self.units.append("".join(self.out))

    def header(self, rounding: int, quantizer: int) -> None:
        intra = self.kind in ("I", "BI")
        self.put(rounding)
        if "display" in self.words:
            self.draw()  # INTERPFRM
        if self.kind == "B":
            fraction = self.rng.randrange(21)
            self.put(*((fraction, 3) if fraction < 7 else (105 + fraction, 7)))
        pqindex = self.rng.choice((*range(1, 16), 18, 21, 25, 28, 31))
        self.put(pqindex, 5)
        half = self.draw() if pqindex <= 8 else 0
        uniform = quantizer == 3 or (quantizer == 0 and pqindex <= 8)
        uniform = bool(self.draw()) if quantizer == 1 else uniform
        self.pq = pq = pqindex if quantizer else tables.IMPLICIT_PQUANT[pqindex]
        self.half, self.uniform = half, uniform
        self.use(pq, half)
        self.by_pq = (pq > 4) + (pq > 12)
        if "display" in self.words:
            self.put(self.rng.getrandbits(2), 2)  # POSTPROC
        self.over_flags = self.mixed = False
        if intra:
            rows, columns = range(self.height), range(self.width)
            self.plane("ACPRED", bits=[[int((x, y) in self.acpred) for x in columns] for y in rows])
            self.over_flags = "overlap" in self.words and pq <= 8 and self.pick(tables.THREE) == 2
            if self.over_flags:
                self.plane("OVERFLAGS")
        else:
            self.motion_header()
        chroma = self.pick(tables.THREE)
        luma = self.pick(tables.THREE) if intra else chroma
        rates = (6 if pqindex <= 8 else 2, 0, 4)
        self.intra_codes, self.inter_codes = tables.AC[rates[luma]], tables.AC[rates[chroma] + 1]
        self.dc_table = 2 * self.draw()
        if intra:
            self.quantizers_header()

    def use(self, quantizer: int, half: int) -> None:
        self.mq, self.step = quantizer, 2 * quantizer + half
        self.dead_zone = 0 if self.uniform else quantizer

    def quantizers_header(self) -> None:
        self.quantizers = None
        if "dquant" in self.words:
            quantizers = Quantizers(self.rng, self.pq)
            self.out.append(quantizers.header)
            self.quantizers = quantizers if quantizers.is_used else None

    def quantize(self, x: int, y: int) -> None:
        """MQUANT, if macroblocks have one."""
        if self.quantizers:
            bits, quantizer, is_pictures = self.quantizers.of((x, y), (self.width, self.height))
            self.out.append(bits)
            self.use(quantizer, self.half if is_pictures else 0)

    def motion_header(self) -> None:
        reach = self.pick(("0", "10", "110", "111")) if "extmv" in self.words else 0
        self.mv_bits = (9, 10, 12, 13)[reach], 8 + reach
        self.quarter = bool(self.draw() if self.kind == "B" else self.vector_mode())
        if self.kind == "B":
            self.plane("DIRECTMB", 0.3)
        elif self.mixed:
            self.plane("MVTYPEMB")
        self.plane("SKIPMB", 0.2)
        self.mvdata = tables.MVDATA[self.pick(tables.FOUR)]
        self.cbpcy = tables.CBPCY_P[self.pick(tables.FOUR)]
        self.quantizers_header()
        self.by_picture, self.transform = True, 0
        if "vst" in self.words:
            self.by_picture = bool(self.draw())
            if self.by_picture:
                self.transform = (0, 3, 6, 7)[self.pick(tables.FOUR)]

    def vector_mode(self) -> bool:
        """MVMODE; returns whether vectors are in quarter samples."""
        modes = ["quarter", *["mixed"] * ("mixed" in self.words)]
        modes += ["half", "bilinear"] * ("hpel" in self.words)
        mode = self.rng.choice(modes)
        order = ("quarter", "mixed", "half", "bilinear")
        number = (order if self.pq <= 12 else ("bilinear", "quarter", "half", "mixed")).index(mode)
        if "ic" in self.words and self.flag(0.4):
            self.out += [tables.UNARY[3], (*tables.UNARY[:3], "000")[number]]
            self.put(self.rng.randint(20, 44), 6)
            self.put(self.rng.randint(-8, 8) % 64, 6)
        else:
            self.out.append(tables.UNARY[number + (number == 3)])
        self.mixed = mode == "mixed"
        return mode in ("quarter", "mixed")

    def i_macroblock(self, x: int, y: int) -> None:
        pattern = self.pick(tables.CBPCY_I)
        self.bit("ACPRED", x, y)
        if self.over_flags:
            self.bit("OVERFLAGS", x, y)
        for n in range(4):
            i, j = 2 * x + n % 2, 2 * y + n // 2
            left, above = self.coded.get((i - 1, j), 0), self.coded.get((i, j - 1), 0)
            guess = left if self.coded.get((i - 1, j - 1), 0) == above else above
            pattern ^= guess << (5 - n)
            self.coded[i, j] = pattern >> (5 - n) & 1
        self.quantize(x, y)
        self.blocks(x, y, [1] * 6, pattern)

    def p_macroblock(self, x: int, y: int) -> None:
        four, skipped = self.mixed and self.bit("MVTYPEMB", x, y), self.bit("SKIPMB", x, y)
        if four:
            self.four_vectors(x, y, skipped)
        elif skipped:
            self.move(x, y, 0, 4, None)
        else:
            intra, coded = self.flag(0.12), self.flag(0.6)
            self.move(x, y, 0, 4, coded, intra)
            self.residual(x, y, intra, coded)

    def b_macroblock(self, x: int, y: int) -> None:
        direct, skipped = self.bit("DIRECTMB", x, y), self.bit("SKIPMB", x, y)
        intra = 0 if direct or skipped else self.flag(0.12)
        coded = 0 if skipped else 1 if direct else self.flag(0.6)
        if intra:
            self.out.append(self.mvdata[7 + 9 * coded])
        elif not direct:
            if not skipped:
                self.differential(coded)
            if self.pick(tables.THREE) == 2 and coded:
                coded = self.flag(0.6)
                self.differential(coded)
        self.residual(x, y, intra, coded)

    def four_vectors(self, x: int, y: int, skipped: int) -> None:
        pattern = 0 if skipped else tables.PATTERNS[self.pick(self.cbpcy)]
        intra = [0] * 6
        for n in range(4):
            coded = None
            if pattern >> (5 - n) & 1:
                intra[n], coded = self.flag(0.15), self.flag(0.6)
                pattern ^= (1 - coded) << (5 - n)
            self.move(x, y, n, 1, coded, intra[n])
        intra[4] = intra[5] = int(sum(intra) >= 3)
        if pattern or any(intra):
            self.quantize(x, y)
        within = [key for key, bit in zip(_keys(x, y), intra) if bit]
        near = {key for p, i, j in within for key in ((p, i - 1, j), (p, i, j - 1))}
        if near & {*within, *self.dc}:
            self.put((x, y) in self.acpred)
        if any(pattern >> (5 - n) & 1 and not intra[n] for n in range(6)):
            self.draw_transform()
        self.blocks(x, y, intra, pattern)

    def residual(self, x: int, y: int, intra: int, coded: int) -> None:
        if intra and not coded:
            self.quantize(x, y)
        if intra:
            self.put((x, y) in self.acpred)
        pattern = tables.PATTERNS[self.pick(self.cbpcy, first=1)] if coded else 0
        if coded:
            self.quantize(x, y)
        if coded and not intra:
            self.draw_transform()
        self.blocks(x, y, [intra] * 6, pattern)

    def blocks(self, x: int, y: int, intra: list[int], pattern: int) -> None:
        low = {(x, y), (x + 1, y), (x, y + 1)} & self.acpred
        limit = _AC_LOW if low else self.rng.choice((_AC_LOW, _AC_LIMIT))
        for n, key in enumerate(_keys(x, y)):
            if intra[n]:
                self.intra_dc(key)
            if pattern >> (5 - n) & 1:
                if intra[n]:
                    self.coefficients(1, 64, limit, self.intra_codes if n < 4 else self.inter_codes)
                else:
                    self.inter_block()

    def intra_dc(self, key: Key) -> None:
        plane, x, y = key
        above, left = self.near_dc((plane, x, y - 1)), self.near_dc((plane, x - 1, y))
        corner = self.near_dc((plane, x - 1, y - 1)) or 0
        guess = above or 0
        if left is not None and (above is None or abs(above - corner) <= abs(corner - left)):
            guess = left
        limit = _DC_LIMIT // tables.DC_SCALE[self.mq]
        spread = self.rng.choice((1, 2, 4, 8, limit))
        difference = self.rng.randint(-spread, spread)
        if abs(guess + difference) > limit:
            difference = -difference
        self.dc[key] = guess + difference, self.mq
        codes, size = tables.DC[self.dc_table + (plane > 0)], abs(difference)
        more = max(0, 3 - self.mq)
        symbol, rest = divmod(size + (1 << more) - 1, 1 << more)
        self.out.append(codes[min(symbol, 8)])
        if symbol >= 8:
            self.put(size, 8 + more)
        elif size and more:
            self.put(rest, more)
        if size:
            self.put(difference < 0)

    def near_dc(self, key: Key) -> int | None:
        """A neighbour's quantized DC, in this macroblock's steps."""
        if key not in self.dc:
            return None
        value, quantizer = self.dc[key]
        if quantizer == self.mq:
            return value
        mine, its = tables.DC_SCALE[self.mq], tables.DC_SCALE[quantizer]
        return value * its * round(2**18 / mine) + 2**17 >> 18

    def draw_transform(self) -> None:
        self.first = True
        if not self.by_picture:
            self.transform = self.pick(tables.TTMB[self.by_pq])

    def inter_block(self) -> None:
        kind, explicit = self.transform & 7, self.by_picture or not self.first
        if not self.by_picture and not self.first and self.transform < 8:
            kind = tables.TTBLK_TYPES[self.by_pq][self.pick(tables.TTBLK[self.by_pq])]
            explicit = False
        self.first = False
        if kind == 7:
            coded = self.pick(tables.SUBBLKPAT[self.by_pq]) + 1
            parts: tuple[int, ...] = tuple(coded >> (3 - n) & 1 for n in range(4))
        elif kind and explicit:
            parts = ((1, 1), (0, 1), (1, 0))[self.pick(tables.THREE)]
        else:
            parts = tables.HALVES[kind]
        for _ in range(sum(parts)):
            self.coefficients(0, 64 // len(parts), _AC_LIMIT, self.inter_codes)

    def coefficients(self, place: int, size: int, limit: int, codes: dict[Key, str]) -> None:
        rng, last, count = self.rng, False, self.rng.choice((1, 1, 2, 3, 5, 9))
        while not last:
            count -= 1
            run, level = rng.choice((0, 0, 1, 2, 5, 9)), rng.choice((1, 1, 2, 3, 9, 40))
            if self.flag(0.15):
                _, run, level = rng.choice(list(codes)[:-1])
            if place + run >= size or level * self.step + self.dead_zone > limit:
                run, level = 0, 1
            run_bits, level_bits = self.escape_bits or (3, 2)
            run, level = min(run, (1 << run_bits) - 1), min(level, (1 << level_bits) - 1)
            place += run + 1
            limit -= level * self.step + self.dead_zone
            last = count < 1 or place >= size or limit < self.step + self.dead_zone
            code = codes.get((int(last), run, level))
            if code and self.flag(0.8):
                self.out.append(code)
                self.draw()
            else:
                self.out.append(codes[0, 0, 0] + f"{last:b}")
                self.escape(run, level)

    def escape(self, run: int, level: int) -> None:
        """The escape's mode 3; the data unit's first one sets the sizes."""
        if self.escape_bits is None:
            run_bits, level_bits = self.rng.randint(3, 6), self.rng.randint(2, 8)
            self.escape_bits = run_bits, level_bits
            if self.pq >= 8 and not self.quantizers:
                self.out.append(("0" * (level_bits - 2) + "1")[:6])
            else:
                self.out.append("00000" if level_bits == 8 else f"{level_bits:03b}")
            self.put(run_bits - 3, 2)
        run_bits, level_bits = self.escape_bits
        self.put(run, run_bits)
        self.draw()
        self.put(level, level_bits)

    def predict(self, x: int, y: int, n: int, count: int) -> Pair:
        """The predicted vector of block n, or of the macroblock if count is 4; leaves HYBRIDPRED,
        if there is one, in self.hybrid."""
        i, j, end = 2 * x + n % 2, 2 * y + n // 2, x == self.width - 1
        aside = (-1 if end else 2) if count == 4 else (-1 if x else 1, -1 if end else 1, 1, -1)[n]
        above, left = self.mv.get((i, j - 1)), self.mv.get((i - 1, j))
        px, py = left or (0, 0)
        if above:
            px, py = (sorted(t)[1] for t in zip(above, self.mv[i + aside, j - 1], (px, py)))
        least = -60 if count == 4 else -28
        px = max(min(px, self.width * 64 - 4 - 32 * i), least - 32 * i)
        py = max(min(py, self.height * 64 - 4 - 32 * j), least - 32 * j)
        self.hybrid = ""
        if above and left:
            away = (abs(px - near[0]) + abs(py - near[1]) for near in (above, left))
            if max(away) > 32:
                self.hybrid = self.rng.choice("01")
                return above if self.hybrid == "1" else left
        return px, py

    def move(self, x: int, y: int, n: int, count: int, coded: int | None, intra: int = 0) -> None:
        """A vector, by the predicted one alone if coded is None."""
        vector = [0, 0]
        if intra:
            self.out.append(self.mvdata[7 + 9 * (coded or 0)])
        else:
            guess = self.predict(x, y, n, count)
            difference = [0, 0] if coded is None else self.differential(coded, guess)
            self.out.append(self.hybrid)
            for axis, bits in enumerate(self.mv_bits):
                value = guess[axis] + difference[axis] + (1 << bits - 1)
                vector[axis] = value % (1 << bits) - (1 << bits - 1)
        for block in range(n, n + count):
            self.mv[2 * x + block % 2, 2 * y + block // 2] = vector[0], vector[1]

    def differential(self, coded: int, guess: Pair = (0, 0)) -> list[int]:
        """MVDATA; returns it in quarter samples. Some of them lead back to about no motion."""
        out, unit = [], 1 if self.quarter else 2
        if self.flag(0.5):
            number = self.rng.randrange(-1 if coded else 0, 6)
            self.out.append(self.mvdata[number + 9 * coded])
            for group in tables.GROUPS[number]:
                size = (0, 2, 3, 4, 5, 9 - unit)[group]
                rest = self.rng.getrandbits(size) if size else 0
                self.out.append(f"{rest:0{size}b}" if size else "")
                value = (0, 1, 3, 7, 15, 31)[group] + rest // 2
                out.append(-value if rest % 2 else value)
        else:
            self.out.append(self.mvdata[6 + 9 * coded])
            choice, back = self.rng.randrange(4), self.flag(0.5)
            for bits, base in zip(self.mv_bits, guess):
                spread = (2, 16, 64, 1 << bits - 1)[choice]
                value = self.rng.randint(-spread, spread) - back * base // unit
                self.put(value % (1 << bits + 1 - unit), bits + 1 - unit)
                out.append(value)
        return [value * unit for value in out]


def _keys(x: int, y: int) -> list[Key]:
    """A macroblock's blocks: plane, column, row."""
    return [*((0, 2 * x + n % 2, 2 * y + n // 2) for n in range(4)), (1, x, y), (2, x, y)]
