"""Elementary streams of VC-1's Advanced Profile (SMPTE 421M), for which there is no encoder.

stream() draws syntax elements at random, in ranges that the standard asks of an encoder, so that
two decoders have to agree on every sample. A kind is one of

    i    I pictures: DC and AC coefficients, AC prediction, all quantizers, all AC code tables
    ip   and P pictures: one vector a macroblock, in quarter samples, also out of the picture;
         intra and skipped macroblocks; RNDCTRL alternates
    ipb  and B pictures (direct, forward, backward, interpolated, intra) and BI pictures

with any of these words after it, as in "ipb_loop_vst":

    loop     the deblocking filter
    overlap  overlap smoothing, with CONDOVER and OVERFLAGS
    hpel     P pictures in half samples too, bicubic and bilinear
    mixed    P pictures of one and four vectors a macroblock too, some of their blocks intra
    vst      transforms of 8x4, 4x8 and 4x4, chosen by picture, macroblock or block
    extmv    vectors of up to 1024 samples (EXTENDED_MV)
    ic       intensity compensation in P pictures
    skip     P pictures skipped as a whole, where no B picture refers to them
    slices   several slices a picture
    planes   bitplanes that are coded in any of their modes
    dquant   quantizers of macroblocks: by the edges, one of two, or any
    display  frame counters, repeated frames, hints for interpolation and a post filter
    fastuv   chroma vectors rounded to half samples (FASTUVMC)
    noend    no code at the sequence's end, of which FFmpeg's demuxer makes a packet

A key picture with its sequence header and entry point comes every ten pictures, and groups are
closed. Pictures are progressive, 4:2:0, 8 bit and 25 a second. No interlace, DQUANT of 2, range
mapping or pan-scan; of the larger code tables only some codes are drawn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from vc1_pictures import Picture

WORDS = (
    *("loop", "overlap", "hpel", "mixed", "vst", "extmv", "ic", "skip", "slices", "planes"),
    *("dquant", "display", "fastuv", "noend"),
)


def _unit(code: int, bits: str) -> bytes:
    """A data unit: its start code, its bits up to a byte, emulation prevention bytes."""
    bits += "1" + "0" * ((7 - len(bits)) % 8)
    data = int(bits, 2).to_bytes(len(bits) // 8, "big")
    return bytes((0, 0, 1, code)) + re.sub(rb"\0\0(?=[\0-\3])", b"\0\0\3", data)


def _plan(rng: random.Random, frames: int, types: str, words: set[str]) -> Iterator[str]:
    """Picture types in coded order: K begins a group, B and BI are shown before the picture that
    they follow, S is skipped."""
    for start in range(0, frames, 10):
        yield "K"
        left = min(frames - start, 10) - 1
        while left:
            between = min(rng.randrange(3), left - 1) if types == "ipb" else 0
            draw, skip = rng.random(), not between and "skip" in words
            yield "I" if types == "i" or draw < 0.05 else "S" if skip and draw < 0.25 else "P"
            yield from ("BI" if rng.random() < 0.1 else "B" for _ in range(between))
            left -= between + 1


def stream(seed: int, width: int, height: int, frames: int, *, kind: str) -> bytes:
    """A raw stream of so many frames of an even size; its bytes depend on the arguments alone."""
    types, *rest = kind.split("_")
    words = set(rest)
    if types not in ("i", "ip", "ipb") or not words <= set(WORDS):
        raise ValueError(f"kind {kind!r}: i, ip or ipb, then words of {', '.join(WORDS)}")
    if width % 2 or height % 2 or min(width, height) < 32:
        raise ValueError(f"size {width}x{height}: VC-1 needs even sizes, this generator 32 or more")
    rng = random.Random(f"{seed} {width} {height} {frames} {kind}")
    # Level 3; a post filter; the size; pull-down, no interlace, a frame counter, interpolation; a
    # display extension with square pixels and 25 frames a second; no HRD.
    hints = int("display" in words)
    header = f"11{3:03b}01{7:03b}{31:05b}{hints}{width // 2 - 1:012b}{height // 2 - 1:012b}"
    header += f"{hints}0{hints}{hints}101"
    header += f"{width - 1:014b}{height - 1:014b}1{1:04b}10{2:08b}{1:04b}00"
    quantizer, extended = rng.randrange(4), "extmv" in words
    # A closed group; QUANTIZER; the sequence's size; no extended differentials or range mapping.
    entry = f"0100{'loop' in words:d}{'fastuv' in words:d}{extended:d}0{'dquant' in words:d}"
    entry += f"{'vst' in words:d}{'overlap' in words:d}{quantizer:02b}0{'0' * extended}00"
    size, out = ((width + 15) // 16, (height + 15) // 16), b""
    for number, letter in enumerate(_plan(rng, frames, types, words)):
        if letter == "K":
            out += _unit(0x0F, header) + _unit(0x0E, entry)
        picture = Picture(rng, letter.replace("K", "I"), size, words)
        picture.encode(number % 2, quantizer)
        codes = (0x0D, *[0x0B] * (len(picture.units) - 1))
        out += b"".join(_unit(code, bits) for code, bits in zip(codes, picture.units))
    return out + b"\0\0\1\x0a" * ("noend" not in words)
