"""Codes of VC-1's syntax elements (SMPTE 421M), as digits; of the larger tables only some."""

from __future__ import annotations

Pair = tuple[int, int]
Key = tuple[int, int, int]


def codes(text: str) -> list[str]:
    """Codes as digits: each word is a code in hexadecimal with a 1 before its first bit."""
    return [bin(int(word, 16))[3:] for word in text.split()]


THREE = ("0", "10", "11")
FOUR = ("00", "01", "10", "11")
UNARY = ("1", "01", "001", "0001", "0000")
PICTURE_TYPES = {"P": "0", "B": "10", "I": "110", "BI": "1110", "S": "1111"}
IMPLICIT_PQUANT = (*range(9), *range(6, 26), 27, 29, 31)
DC_SCALE = (0, 2, 4, 8, *(8 + quant // 2 for quant in range(28)))
CBPCY_I = codes(
    "3 57 29 25 26 247 a0 90 22 27c ba 9d 42 2ec 177 100 23 2b7 ac 93 41 568 146 13f 5e 2712 2b5 "
    "142 a2 9c5 51e 287 16 203 9e 5c 92 1388 244 270 5f a3e 139 28e 81 9c6 2b6 245 54 a3f 27d 218 "
    "87 9c7 286 219 55 5db 202 246 10d 2713 5da 569"
)
# Some of the block patterns of P and B pictures, and their codes by CBPTAB.
PATTERNS = (0, 1, 2, 4, 8, 12, 16, 20, 27, 32, 33, 36, 45, 48, 54, 60, 61, 63)
CBPCY_P = (
    codes("2000 2006 8f 8d 45 4c 21 4a 100c 41 2007 8e ba 44 165 a d 7"),
    codes("4000 2009 101 d b 1d a 1c 2018 9 1f0 32 2011 21 1ee 7a 7f fd"),
    codes("2000 1c9 59 15 12 30 22 17 2005 21 e6 58 f2 23 e3 d 3d 3f"),
    codes("200 21c 20c 7 6 208 9 206 232 5 21d 205 229 201 217 20b 22b 11f"),
)
# Some of MVDATA's codes by MVTAB. Without residual: the groups of differentials below, the escape,
# intra; then the same with residual, after no differential (the last group).
GROUPS = ((1, 0), (0, 1), (1, 1), (4, 2), (5, 3), (0, 5), (0, 0))
MVDATA = (
    codes("40 43 22 213 4244 4245 2126 4d a 27 2d 17 67 59a 59b 3bf f"),
    codes("20 23 24 25f 275 4bc8 4bcd 4bce 5 c e 1b 1ec 3e6 25ea 25ef 3f"),
    codes("8 a 13 90a 911 918 91d 91e 3 25 16 17 92b 932 939 93e 93f"),
    codes("8000 8004 1001 100b 80a 806b 4037 40a 11 12 26 a 5d ec 40b f7 1f"),
)
# Codes of transform types, and of coded subblocks, by PQUANT: up to 4, up to 12, above. TTMB's
# types are 8x8, 8x4 (bottom, top, both), 4x8 (right, left, both) and 4x4; HALVES are the subblocks
# that all but the last code without a pattern.
TTMB = (
    codes("7 6e df 4 36 35 5 c 34 6f1 379 37b 1bc0 1bc1 de1 37a"),
    codes("e 16 13 17 1f 1e 8 a 6 94 91 4b 49 121 95 120"),
    codes("e 8 1e 25 a b 13 1f 6 481 121 49 901 241 91 900"),
)
TTBLK = codes("4 5 7 d 30 31 32 33"), codes("7 8 9 a b d 18 19"), codes("5 8 9 c e f 1a 1b")
TTBLK_TYPES = ((3, 6, 0, 7, 2, 1, 4, 5), (0, 4, 5, 7, 3, 6, 1, 2), (0, 6, 7, 1, 4, 5, 3, 2))
HALVES = ((1,), (0, 1), (1, 0), (1, 1), (0, 1), (1, 0), (1, 1))
SUBBLKPAT = (
    codes("2e 2c 27 2b 29 5a 12 2a 5b 28 10 26 11 2f 3"),
    codes("1e 8 18 1f 1a 24 37 1d 25 19 39 13 38 36 5"),
    codes("d e 12 a 18 20 3c b 21 13 3d 11 33 32 1f"),
)
# Differentials 0 to 7 and the escape: luma and chroma with DCTAB 0, then with 1.
DC = (
    codes("3 5 11 21 25 27 48 4c 106078f"),
    codes("4 5 d 19 1d 31 3d 3f e0888f"),
    codes("6 7 b 12 15 21 23 28 41e6967"),
    codes("4 5 c f 1b 1d 35 68 38f648f"),
)


def _ac_table(text: str, levels: Pair, runs: Pair) -> dict[Key, str]:
    """Some codes of a table, by (last, run, level); levels and runs are its greatest ones at run 0
    and at level 1, for the escape's modes 1 and 2. The one of mode 3 is under (0, 0, 0)."""
    escape, *plain = codes(text)
    table = dict(zip(((0, 0, 1), (0, 1, 1), (0, 0, 2), (1, 0, 1), (1, 1, 1)), plain))
    for last in range(2):
        table[last, 0, levels[last] + 1] = escape + "1" + table[last, 0, 1]
        table[last, runs[last] + 1, 1] = escape + "01" + table[last, 0, 1]
    return {**table, (0, 0, 0): escape + "00"}


# High motion, low motion, middle rate, high rate; of each intra and inter.
AC = (
    _ac_table("24a 5 10 d 1e 39", (19, 6), (30, 37)),
    _ac_table("369 8 14 13 b 19", (23, 9), (26, 36)),
    _ac_table("96 5 11 e 1a 32", (16, 4), (20, 26)),
    _ac_table("20d c 1b 34 7 15", (14, 5), (29, 43)),
    _ac_table("83 6 1e e 17 4f", (27, 8), (14, 20)),
    _ac_table("83 6 e 1f 17 4f", (12, 3), (26, 40)),
    _ac_table("fa 4 19 b f8 1fa", (56, 4), (14, 16)),
    _ac_table("f3 6 b 8 7f 53", (32, 4), (24, 30)),
)
