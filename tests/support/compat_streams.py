"""Makes frames to encode, and lets FFmpeg read the headers of an elementary stream."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from encoded import Encoded

import tf_nvcodec.compat as nvc

WIDTH, HEIGHT = 320, 192
# With frame threads, FFmpeg marks good pictures of these clips as damaged. With one thread it does
# not.
_ONE_THREAD = ("h264_paff_mixed.h264", "h264_paff_mixed.ts")
_DEMUXERS = {"h264": "h264", "hevc": "hevc", "av1": "obu"}
_FIELD = re.compile(r"\d+\s+(\S+)\s+[01]*\s*= (-?\d+)$")
_PICTURES = ("Slice Header", "Slice Segment Header", "Frame Header")


def sound_latency(name: str) -> nvc.DisplayDecodeLatencyType:
    """Returns the latency at which FFmpeg decodes this golden clip without an error."""
    latency = nvc.DisplayDecodeLatencyType
    return latency.LOW if name in _ONE_THREAD else latency.NATIVE


def nv12_frames(count: int, noise: int = 12, seed: int = 0) -> list[np.ndarray]:
    """Makes frames [H * 3 / 2, W] of a gray ramp that moves, with noise."""
    draw = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    frames = []
    for i in range(count):
        frame = np.full((HEIGHT * 3 // 2, WIDTH), 128, np.uint8)
        grain = draw.integers(0, noise + 1, (HEIGHT, WIDTH))
        frame[:HEIGHT] = (x * 2 + y + 5 * i) % 200 + 20 + grain
        frames.append(frame)
    return frames


def write_nv12(path: Path, count: int) -> Path:
    """Writes the frames of nv12_frames as a raw file, one after the other."""
    path.write_bytes(b"".join(frame.tobytes() for frame in nv12_frames(count)))
    return path


def encode(
    frames: list[np.ndarray], codec: str = "h264", fmt: str = "NV12", **params: object
) -> Stream:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, fmt, True, codec=codec, **params)
    packets = [bytes(encoder.Encode(frame)) for frame in frames]
    packets.append(bytes(encoder.EndEncode()))
    return Stream(b"".join(packets), codec)


@dataclass
class Unit:
    """A parameter set, slice header or other part of a packet, and its fields."""

    title: str
    fields: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Stream:
    data: bytes
    codec: str

    @functools.cached_property
    def file(self) -> Encoded:
        return Encoded(self.data, self.codec, "raw")

    @functools.cached_property
    def packets(self) -> list[list[Unit]]:
        """The units of each packet. The packets are in decoding order."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "stream"
            path.write_bytes(self.data)
            ask = ["ffmpeg", "-nostdin", "-nostats", "-f", _DEMUXERS[self.codec], "-i", str(path)]
            ask += ["-c", "copy", "-bsf:v", "trace_headers", "-f", "null", "-"]
            done = subprocess.run(ask, capture_output=True, text=True, check=True)
        packets: list[list[Unit]] = []
        for line in done.stderr.splitlines():
            found = re.match(r"\[trace_headers @ \S+\] (.*)", line)
            if found is None:
                continue
            text = found[1]
            if text.startswith("Packet:"):
                packets.append([])
            elif packets and re.match(r"[A-Z]", text):
                packets[-1].append(Unit(text.strip()))
            elif packets and packets[-1]:
                value = _FIELD.match(text.strip())
                if value:
                    packets[-1][-1].fields.setdefault(value[1], int(value[2]))
        return packets

    @property
    def picture_types(self) -> str:
        """The types of the pictures in display order, such as "IBBP"."""
        return "".join(frame["pict_type"] for frame in self.file.frames)

    @property
    def key_frames(self) -> list[int]:
        return self.file.key_frames

    def slices(self) -> list[list[Unit]]:
        """Returns the slice or frame headers of each packet."""
        return [[unit for unit in units if unit.title in _PICTURES] for units in self.packets]

    def sets(self, title: str) -> list[int]:
        """Returns the numbers of the packets that have this parameter set."""
        return [
            i for i, units in enumerate(self.packets) if any(unit.title == title for unit in units)
        ]

    def quantisers(self) -> dict[str, set[int]]:
        """Returns the QPs in the slice headers by the type of picture. AV1 has quantiser indices
        instead, for "I" and "P"."""
        found: dict[str, set[int]] = {}
        start = 0
        for units in self.packets:
            for unit in units:
                name = "pic_init_qp_minus26" if self.codec == "h264" else "init_qp_minus26"
                start = 26 + unit.fields.get(name, start - 26)
                if unit.title not in _PICTURES:
                    continue
                if self.codec == "av1":
                    if "base_q_idx" in unit.fields:
                        kind = "I" if unit.fields["frame_type"] == 0 else "P"
                        found.setdefault(kind, set()).add(unit.fields["base_q_idx"])
                else:
                    kind = _slice_type(self.codec, unit.fields["slice_type"])
                    found.setdefault(kind, set()).add(start + unit.fields["slice_qp_delta"])
        return found


def _slice_type(codec: str, value: int) -> str:
    return {0: "P", 1: "B", 2: "I"}[value % 5] if codec == "h264" else "BPI"[value]
