"""Makes clips for the GPU tests: golden clips of the codecs that NVDEC has, at sizes that it takes
(HEVC from 144x144 on).

    python tests/gpu/gpu_clips.py      # makes them, prints their folder

Their folder is beside that of the golden clips. A GPU machine may have no ffmpeg. There, the tests
take a folder made elsewhere, which lies in $TF_NVCODEC_GOLDEN.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "golden"))

import clip_edits  # noqa: E402
from clip_table import CLIPS, MEDIA, Clip  # noqa: E402
from make_clips import READY, cache_key, cache_root, made_once, make, needed  # noqa: E402

FACTOR = 3
SMALLEST = 144
CODECS = ("h264", "hevc", "vp8", "vp9")
# The standards of these codecs leave the last bits of the inverse transform to the decoder, so
# NVDEC may round in another way than FFmpeg.
ROUNDING = ("mpeg1", "mpeg2", "mpeg4", "mjpeg")
# In larger pictures, the cells that this clip lost would hold only parts of a picture.
ONLY_SMALL = {"h264_lost_cells.ts"}
# Clips for which NVDEC is not used, and why.
REFUSED = {
    **dict.fromkeys(
        (
            "mpeg4.mp4",
            "mpeg4.ts",
            "mpeg4_as_decoded.mkv",
            "mpeg4_b.avi",
            "mpeg4_of_avi.mp4",
            "mpeg4_interlaced.mp4",
            "mpeg4_odd.mkv",
            "mpeg4_packed_b.avi",
            "mpeg4_qpel.mkv",
        ),
        "NVDEC is not used for mpeg4 of object type 17",
    ),
    # FFmpeg's encoder marks this clip as Simple profile, which has no fields.
    "mpeg4_fields.avi": "NVDEC is not used for MPEG-4 with B pictures, fields",
    "mjpeg_fields.ivf": "NVDEC does not decode JPEG in fields",
    "vc1.mkv": "NVDEC is not used for codec 'vc1'",
}
OTHERS = (
    "audio_only.mp4",
    "one_frame.mp4",
    "size_change.h264",
    "two_frames.mkv",
    "vp9_as_second.mp4",
)
_MJPEG = "-c:v mjpeg -pix_fmt yuvj420p"
_MPEG4 = "-c:v mpeg4 -bf 0 -g 12 -q:v 4"
EXTRA = (
    Clip("mpeg1.mpg", "-c:v mpeg1video -bf 2 -g 12 -q:v 4", size="288x192"),
    # These sizes, one odd and one even, are no multiples of a macroblock.
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
    # This clip has the size of mjpeg.avi, so that both can use the same session.
    Clip("mjpeg_other.avi", f"{_MJPEG} -q:v 8", source="testsrc", size="288x192", frames=12),
    Clip("halves.mjpeg", f"{_MJPEG} -q:v 4", size="288x96", frames=12, tags=frozenset({"part"})),
    Clip("mjpeg_fields.ivf", of="halves.mjpeg", edit=clip_edits.jpeg_fields),
    # The default Huffman tables are in the standard, so a decoder can add them again.
    Clip(
        "tables.mjpeg",
        f"{_MJPEG} -q:v 4 -huffman default",
        size="288x192",
        frames=12,
        tags=frozenset({"part"}),
    ),
    Clip("mjpeg_no_tables.ivf", of="tables.mjpeg", edit=clip_edits.jpeg_without_tables),
    Clip("vc1.mkv", "-c copy", of=str(MEDIA / "vc1.mkv")),
)


def enlarged(clip: Clip) -> Clip:
    width, height = (int(side) for side in clip.size.split("x"))
    if clip.of or min(width, height) >= SMALLEST or "colour" in clip.tags:
        return clip
    return dataclasses.replace(clip, size=f"{width * FACTOR}x{height * FACTOR}")


def _corpus() -> dict[str, Clip]:
    """The clips in the order in which they can be made."""

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
    return {**ordered, **{clip.name: clip for clip in EXTRA}}


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
    scripts = "".join(Path(file).read_text() for file in (__file__, clip_edits.__file__))
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
