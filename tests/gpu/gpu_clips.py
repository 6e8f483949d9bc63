"""The golden corpus of the codecs that NVDEC has, at sizes that it takes (HEVC from 144x144 on).

    python tests/gpu/gpu_clips.py      # makes them, prints their folder

They go beside the golden clips. A host for GPU tests may have no ffmpeg: there a folder made
elsewhere is taken ($TF_NVCODEC_GOLDEN names what holds it).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "golden"))

import clip_edits  # noqa: E402
import vc1_stream  # noqa: E402
from clip_table import CLIPS, Clip  # noqa: E402
from make_clips import READY, cache_key, cache_root, made_once, make, needed  # noqa: E402

FACTOR = 3
SMALLEST = 144
CODECS = ("h264", "hevc", "vc1", "vp8", "vp9")
# Whose standards leave the last bits of the inverse transform to the decoder.
ROUNDING = ("mpeg1", "mpeg2", "mpeg4", "mjpeg")
# Of larger pictures the lost cells hold only parts.
ONLY_SMALL = {"h264_lost_cells.ts"}
# "auto" begins to decode it on the GPU.
SEEN_IN_A_PICTURE = "vc1_slices.mkv"
# What NVDEC is not used for, and why.
REFUSED = {
    **dict.fromkeys(
        (
            "mpeg4.mp4",
            "mpeg4.ts",
            "mpeg4_interlaced.mp4",
            "mpeg4_odd.mkv",
            "mpeg4_packed_b.avi",
            "mpeg4_qpel.mkv",
        ),
        "NVDEC is not used for mpeg4 of object type 17",
    ),
    # FFmpeg's encoder calls it a Simple one.
    "mpeg4_fields.avi": "NVDEC is not used for MPEG-4 with B pictures, fields",
    "mjpeg_fields.ivf": "NVDEC does not decode JPEG in fields",
    "vc1_fast.mkv": "NVDEC is not used for VC-1 with rounded chroma vectors",
    SEEN_IN_A_PICTURE: "NVDEC is not used for VC-1 in slices",
    "vc1_rows.mkv": "NVDEC is not used for VC-1 whose height is no multiple of 4, such as 198",
}
OTHERS = (
    "audio_only.mp4",
    "one_frame.mp4",
    "size_change.h264",
    "two_frames.mkv",
    "vp9_as_second.mp4",
)
# Streams of VC-1, for which there is no encoder, by what is in them: vc1_stream.py's kinds.
_VC1 = {
    "vc1_i.mkv": ("i_overlap", 288, 192),
    "vc1_fast.mkv": ("ipb_loop_fastuv", 288, 192),
    "vc1_ip.mkv": ("ip_mixed_vst", 288, 192),
    "vc1_ip_loop.ts": ("ip_loop_hpel_ic", 288, 192),
    "vc1_ipb.mkv": ("ipb", 288, 192),
    "vc1_ipb_all.mkv": ("ipb_loop_overlap_hpel_mixed_vst_extmv_ic", 352, 288),
    "vc1_odd.wmv": ("ipb_loop_mixed_vst", 302, 196),
    "vc1_planes.mkv": ("ipb_mixed_overlap_planes", 304, 208),
    "vc1_rows.mkv": ("ipb_mixed", 288, 198),
    "vc1_skip.mkv": ("ip_skip", 288, 192),
    "vc1_i_dquant.mkv": ("i_overlap_dquant", 288, 192),
    "vc1_ip_dquant.ts": ("ip_mixed_vst_dquant", 288, 192),
    "vc1_ipb_dquant.mkv": ("ipb_loop_dquant", 288, 192),
    "vc1_ipb_display.wmv": ("ipb_loop_display", 288, 192),
    "vc1_most.mkv": ("ipb_loop_overlap_hpel_mixed_vst_extmv_ic_planes_dquant_display", 304, 204),
    "vc1_slices.mkv": ("ipb_mixed_slices_planes", 304, 208),
}
_MJPEG = "-c:v mjpeg -pix_fmt yuvj420p"
_MPEG4 = "-c:v mpeg4 -bf 0 -g 12 -q:v 4"
EXTRA = (
    Clip("mpeg1.mpg", "-c:v mpeg1video -bf 2 -g 12 -q:v 4", size="288x192"),
    # Sizes that are no whole macroblocks, odd and even.
    Clip("mpeg1_odd.mpg", "-c:v mpeg1video -bf 2 -g 12 -q:v 4", size="291x195", source="testsrc"),
    Clip(
        "mpeg2_interlaced_300.ts",
        "-c:v mpeg2video -flags +ilme+ildct -top 1 -bf 2 -g 12 -q:v 4",
        size="300x200",
    ),
    Clip("mpeg2.m2v", "-c copy", of="mpeg2.ts"),
    Clip("mpeg2_smaller_display.m2v", of="mpeg2.m2v", edit=clip_edits.smaller_display),
    Clip("mpeg2_larger_display.m2v", of="mpeg2.m2v", edit=clip_edits.larger_display),
    Clip("mpeg4_simple_odd.mp4", f"{_MPEG4} -flags +mv4", size="291x195", source="testsrc"),
    Clip("mpeg4_simple_xvid.mkv", "-c:v libxvid -bf 0 -g 12 -q:v 4", size="288x192"),
    Clip("mpeg4_simple.ts", f"{_MPEG4} -mpeg_quant 1", size="288x192"),
    Clip("mpeg4_simple_slices.m4v", f"{_MPEG4} -ps 300", size="288x192"),
    Clip("mpeg4_fields.avi", f"{_MPEG4} -flags +ilme+ildct", size="288x192"),
    # Of mjpeg.avi's size.
    Clip("mjpeg_other.avi", f"{_MJPEG} -q:v 8", source="testsrc", size="288x192", frames=12),
    Clip("halves.mjpeg", f"{_MJPEG} -q:v 4", size="288x96", frames=12, tags=frozenset({"part"})),
    Clip("mjpeg_fields.ivf", of="halves.mjpeg", edit=clip_edits.jpeg_fields),
    # With the tables that a decoder has to know.
    Clip(
        "tables.mjpeg",
        f"{_MJPEG} -q:v 4 -huffman default",
        size="288x192",
        frames=12,
        tags=frozenset({"part"}),
    ),
    Clip("mjpeg_no_tables.ivf", of="tables.mjpeg", edit=clip_edits.jpeg_without_tables),
)


def _vc1_stream(seed: int, kind: str, width: int, height: int) -> Callable[[bytes, Path], bytes]:
    def made_stream(script: bytes, path: Path) -> bytes:
        del script, path
        return vc1_stream.stream(seed, width, height, 30, kind=kind)

    return made_stream


def _vc1_clips() -> Iterator[Clip]:
    """Each stream, and its copy in a container."""
    script = str(Path(vc1_stream.__file__).resolve())
    for seed, (name, choice) in enumerate(_VC1.items()):
        raw = f"{name.partition('.')[0]}.vc1"
        yield Clip(raw, of=script, edit=_vc1_stream(seed, *choice), tags=frozenset({"part"}))
        yield Clip(name, "-c copy", of=raw, input_args="-f vc1")


def enlarged(clip: Clip) -> Clip:
    width, height = (int(side) for side in clip.size.split("x"))
    if clip.of or min(width, height) >= SMALLEST or "colour" in clip.tags:
        return clip
    return dataclasses.replace(clip, size=f"{width * FACTOR}x{height * FACTOR}")


def _corpus() -> dict[str, Clip]:
    """In the order of making."""

    def is_wanted(name: str) -> bool:
        kind = name.removeprefix("broken_").removeprefix("garbled_")
        codec = kind.startswith(CODECS) or name.startswith(ROUNDING)
        return name in OTHERS or (codec and name not in ONLY_SMALL)

    ordered: dict[str, Clip] = {}

    def add(name: str) -> None:
        for other in needed(CLIPS[name]):
            add(other)
        ordered.setdefault(name, enlarged(CLIPS[name]))

    for name in filter(is_wanted, CLIPS):
        add(name)
    return {**ordered, **{clip.name: clip for clip in (*EXTRA, *_vc1_clips())}}


CORPUS = _corpus()
_WHOLE = sorted(
    name
    for name, clip in CORPUS.items()
    if not clip.tags & {"damaged", "mixed", "no_video", "part"} and name not in REFUSED
)
SOUND = [name for name in _WHOLE if not name.startswith(ROUNDING)]
ROUNDED = [name for name in _WHOLE if name.startswith(ROUNDING)]
DAMAGED = sorted(name for name, clip in CORPUS.items() if "damaged" in clip.tags)


def _make_missing() -> Path:
    generator = sorted(Path(vc1_stream.__file__).parent.glob("vc1_*.py"))
    files = (__file__, clip_edits.__file__, *generator)
    scripts = "".join(Path(file).read_text() for file in files)
    digest = hashlib.sha256((cache_key() + scripts).encode()).hexdigest()

    def fill(folder: Path) -> None:
        lines = [make(clip, folder) for clip in CORPUS.values()]
        (folder / READY).write_text("".join(f"{line}\n" for line in lines))

    return made_once(cache_root() / f"gpu-{digest[:16]}", fill)


@functools.cache
def folder() -> Path:
    if shutil.which("ffmpeg"):
        return _make_missing()
    found = [path.parent for path in cache_root().glob(f"gpu-*/{READY}")]
    if not found:
        raise FileNotFoundError(
            f"there is no ffmpeg to make the clips, and no gpu-* in {cache_root()}: run "
            "tests/gpu/gpu_clips.py elsewhere and bring its folder"
        )
    return max(found, key=lambda path: path.stat().st_mtime)


@functools.cache
def data(name: str) -> bytes:
    return (folder() / name).read_bytes()


if __name__ == "__main__":
    print(folder())
