"""Makes bytes that no decoder should trust: damaged clips, wrong headers, playlists."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Iterator

HUGE = 0xFFFFFFF0


def truncations(data: bytes, count: int) -> Iterator[tuple[str, bytes]]:
    """Cuts the data at `count` places. The first tenth of the cuts is in the first bytes."""
    for i in range(count):
        at = i if i < count // 10 else i * len(data) // count
        yield f"cut at byte {at}", data[:at]


def bit_flips(data: bytes, count: int, seed: int = 5) -> Iterator[tuple[str, bytes]]:
    """Flips one bit in each copy. A third of the bits are in the first 2 kB and a third in the last
    4 kB, because headers and indices are there. The others are anywhere."""
    numbers = random.Random(seed)
    for i in range(count):
        first, last = ((0, 2048), (len(data) - 4096, len(data)), (0, len(data)))[i % 3]
        bit = numbers.randrange(max(0, first) * 8, min(last, len(data)) * 8)
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << (bit % 8)
        yield f"bit {bit % 8} of byte {bit // 8}", bytes(flipped)


def _patch(data: bytes, at: int, fmt: str, *values: object) -> bytes:
    packed = struct.pack(fmt, *values)
    return data[:at] + packed + data[at + len(packed) :]


def lying_mp4(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Makes copies of an mp4 with wrong numbers in its headers. Its moov must hold one track."""

    def at(box: bytes) -> int:
        return data.index(box) + 4  # The fields begin after the version and the flags.

    yield "stsz counts 4 billion samples", _patch(data, at(b"stsz") + 8, ">I", HUGE)
    yield "stsz: one huge size for all", _patch(data, at(b"stsz") + 4, ">II", HUGE, HUGE)
    yield "stsz: 4 billion samples of 1 byte", _patch(data, at(b"stsz") + 4, ">II", 1, HUGE)
    yield "stts counts 4 billion entries", _patch(data, at(b"stts") + 4, ">I", HUGE)
    yield "stts repeats 4 billion times", _patch(data, at(b"stts") + 8, ">I", HUGE)
    yield "stts: frames 4 billion ticks long", _patch(data, at(b"stts") + 12, ">I", HUGE)
    yield "stts: frames of no length", _patch(data, at(b"stts") + 12, ">I", 0)
    yield "ctts counts 4 billion entries", _patch(data, at(b"ctts") + 4, ">I", HUGE)
    yield "ctts repeats 4 billion times", _patch(data, at(b"ctts") + 8, ">I", HUGE)
    yield "stsc counts 4 billion entries", _patch(data, at(b"stsc") + 4, ">I", HUGE)
    yield "stsc: 4 billion samples a chunk", _patch(data, at(b"stsc") + 12, ">I", HUGE)
    yield "stco counts 4 billion chunks", _patch(data, at(b"stco") + 4, ">I", HUGE)
    yield "stco points past the end", _patch(data, at(b"stco") + 8, ">I", HUGE)
    yield "stss counts 4 billion keyframes", _patch(data, at(b"stss") + 4, ">I", HUGE)
    yield "elst counts 4 billion edits", _patch(data, at(b"elst") + 4, ">I", HUGE)
    yield "elst: an edit of no length", _patch(data, at(b"elst") + 8, ">I", 0)
    yield "mdhd: a clock of 0", _patch(data, at(b"mdhd") + 12, ">I", 0)
    yield "mdhd: a clock of 4 GHz", _patch(data, at(b"mdhd") + 12, ">I", HUGE)
    yield "mvhd: a clock of 0", _patch(data, at(b"mvhd") + 12, ">I", 0)
    yield "avc1 of 65535x65535", _patch(data, data.index(b"avc1") + 28, ">HH", 65535, 65535)
    yield "avc1 of 0x0", _patch(data, data.index(b"avc1") + 28, ">HH", 0, 0)
    yield "moov is 4 GB", _patch(data, data.index(b"moov") - 4, ">I", HUGE)
    yield "moov has no end", _patch(data, data.index(b"moov") - 4, ">I", 0)
    yield "moov has a 64-bit size", _patch(data, data.index(b"moov") - 4, ">I", 1)
    yield "mdat is 4 GB", _patch(data, data.index(b"mdat") - 4, ">I", HUGE)
    # This header says that the data is in another file.
    yield "dref is not in this file", _patch(data, data.index(b"url ") + 4, ">I", 0)


def lying_avi(data: bytes) -> Iterator[tuple[str, bytes]]:
    main, stream = data.index(b"avih") + 8, data.index(b"strh") + 8
    yield "avih: 4 billion frames", _patch(data, main + 16, "<I", HUGE)
    yield "avih: 0 microseconds a frame", _patch(data, main, "<I", 0)
    yield "avih: 65535x65535", _patch(data, main + 32, "<II", 65535, 65535)
    yield "strh: 4 billion frames", _patch(data, stream + 32, "<I", HUGE)
    yield "strh: 0 / 0 frames a second", _patch(data, stream + 20, "<II", 0, 0)
    yield "strh: 4 billion frames a second", _patch(data, stream + 20, "<II", 1, HUGE)
    yield "strh: a huge suggested buffer", _patch(data, stream + 36, "<I", HUGE)
    sizes = data.index(b"strf") + 12
    yield "strf: 1073741824x1073741824", _patch(data, sizes, "<ii", 1 << 30, 1 << 30)
    yield "strf: -1x-1", _patch(data, sizes, "<ii", -1, -1)
    yield "idx1: 4 GB", _patch(data, data.index(b"idx1") + 4, "<I", HUGE)
    yield "movi: 4 GB", _patch(data, data.index(b"movi") - 4, "<I", HUGE)


def lying_matroska(data: bytes) -> Iterator[tuple[str, bytes]]:
    width = re.search(rb"\xb0([\x81\x82])", data)
    assert width is not None
    octets = width[1][0] & 0x7F
    yield "PixelWidth of ones", _patch(data, width.end(), f"{octets}s", b"\xff" * octets)
    yield "PixelWidth 0", _patch(data, width.end(), f"{octets}s", bytes(octets))
    yield "a Cluster of unknown size", data.replace(b"\x1f\x43\xb6\x75", b"\x1f\x43\xb6\x75\xff", 1)
    at = data.index(b"\x1f\x43\xb6\x75") + 4
    yield "a Cluster of 2 ** 56 bytes", _patch(data, at, ">Q", (1 << 56) | ((1 << 56) - 2))
    at = data.index(b"\x16\x54\xae\x6b") + 4
    yield "Tracks of 2 ** 56 bytes", _patch(data, at, ">Q", (1 << 56) | ((1 << 56) - 2))
    at = data.index(b"\x2a\xd7\xb1") + 4
    yield "a TimecodeScale of 0", _patch(data, at, ">BBB", 0, 0, 0)


def lying_ivf(data: bytes) -> Iterator[tuple[str, bytes]]:
    yield "4 billion frames", _patch(data, 24, "<I", HUGE)
    yield "65535x65535", _patch(data, 12, "<HH", 65535, 65535)
    yield "0 / 0 ticks a second", _patch(data, 16, "<II", 0, 0)
    yield "a frame of 4 GB", _patch(data, 32, "<I", HUGE)
    yield "a frame at tick 2 ** 63", _patch(data, 36, "<Q", 1 << 63)
    yield "a header of 65535 bytes", _patch(data, 6, "<H", 65535)


def lying_flv(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Makes copies of an FLV with wrong headers. FLV stores its rate and length as doubles, so they
    may be NaN or infinite."""
    for name in (b"framerate", b"duration", b"width", b"filesize"):
        at = data.index(name) + len(name) + 1
        for value in (float("nan"), float("inf"), -1.0, 1e300):
            yield f"{name.decode()} is {value}", _patch(data, at, ">d", value)
    yield "a tag of 16 MB", _patch(data, 14, ">BH", 0xFF, 0xFFFF)


def playlists(path: str, url: str) -> Iterator[tuple[str, bytes]]:
    """Makes playlists that name a local file and a URL, in formats that make FFmpeg open them."""
    for target in (path, f"file:{path}", f"file://{path}", url):
        texts = {
            "hls": f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n{target}\n#EXT-X-ENDLIST\n",
            "hls master": f"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{target}\n",
            "hls key": f'#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI="{target}"\n#EXTINF:2,\n{target}\n',
            "ffconcat": f"ffconcat version 1.0\nfile '{target}'\n",
            "concat protocol": f"concat:{target}|{target}",
            "bare name": target,
            "subfile": f"subfile,,start,0,end,0,,:{target}",
            "asx": f'<asx version="3.0"><entry><ref href="{target}"/></entry></asx>',
            "pls": f"[playlist]\nFile1={target}\nNumberOfEntries=1\n",
            "ram": f"{target}\n",
            "rtsp redirect": f"RTSPtextRTSP://{target}\r\n",
            "dash": (
                '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static">'
                '<Period duration="PT2S"><AdaptationSet contentType="video">'
                f'<Representation id="1" bandwidth="1"><BaseURL>{target}</BaseURL>'
                "</Representation></AdaptationSet></Period></MPD>"
            ),
            "imf": (
                '<?xml version="1.0"?><AssetMap '
                'xmlns="http://www.smpte-ra.org/schemas/429-9/2007/AM"><AssetList><Asset>'
                f"<ChunkList><Chunk><Path>{target}</Path></Chunk></ChunkList></Asset></AssetList>"
                "</AssetMap>"
            ),
            "webvtt": f"WEBVTT\n\n00:00.000 --> 00:01.000\n{target}\n",
        }
        for kind, text in texts.items():
            yield f"{kind} of {target}", text.encode()
    host, _, port = url.split("/")[2].partition(":")
    sdp = f"v=0\no=- 0 0 IN IP4 {host}\ns=x\nc=IN IP4 {host}\nt=0 0\nm=video {port} RTP/AVP 96\n"
    yield "sdp", (sdp + "a=rtpmap:96 H264/90000\n").encode()
