"""Makes clips for the GPU tests: golden clips of the codecs that NVDEC is used for, at sizes that
it takes (HEVC from 144x144 on), and a few of others.

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

from clip_table import CLIPS, MEDIA, Clip  # noqa: E402
from make_clips import READY, cache_key, cache_root, made_once, make, needed  # noqa: E402

FACTOR = 3
SMALLEST = 144
CODECS = ("h264", "hevc", "vp8", "vp9")
# In larger pictures, the cells that this clip lost would hold only parts of a picture.
ONLY_SMALL = {"h264_lost_cells.ts"}
# Clips of codecs that NVDEC is not used for.
NOT_USED = ("mpeg2.ts", "mpeg4.avi", "mjpeg.avi", "vc1.mkv")
OTHERS = (
    "audio_only.mp4",
    "one_frame.mp4",
    "size_change.h264",
    "two_frames.mkv",
    "vp9_as_second.mp4",
)
VC1 = Clip("vc1.mkv", "-c copy", of=str(MEDIA / "vc1.mkv"))


def enlarged(clip: Clip) -> Clip:
    width, height = (int(side) for side in clip.size.split("x"))
    if clip.of or min(width, height) >= SMALLEST or "colour" in clip.tags:
        return clip
    return dataclasses.replace(clip, size=f"{width * FACTOR}x{height * FACTOR}")


def _corpus() -> dict[str, Clip]:
    """The clips in the order in which they can be made."""

    def is_wanted(name: str) -> bool:
        kind = name.removeprefix("broken_").removeprefix("garbled_")
        return name in (*OTHERS, *NOT_USED) or (kind.startswith(CODECS) and name not in ONLY_SMALL)

    ordered: dict[str, Clip] = {}

    def add(name: str) -> None:
        for other in needed(CLIPS[name]):
            add(other)
        ordered.setdefault(name, enlarged(CLIPS[name]))

    for name in filter(is_wanted, CLIPS):
        add(name)
    return {**ordered, VC1.name: VC1}


CORPUS = _corpus()
SOUND = sorted(
    name
    for name, clip in CORPUS.items()
    if not clip.tags & {"damaged", "mixed", "no_video", "part"} and name not in NOT_USED
)
DAMAGED = sorted(name for name, clip in CORPUS.items() if "damaged" in clip.tags)


def _make_missing() -> Path:
    digest = hashlib.sha256((cache_key() + Path(__file__).read_text()).encode()).hexdigest()

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
