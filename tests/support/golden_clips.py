"""The golden clips by name: their bytes, and the frames that FFmpeg decodes from them."""

from __future__ import annotations

from pathlib import Path

from clip_frames import ClipFrames, clip_frames, raw_frames
from reference import Frame

# Clips with a display matrix, and how probe describes it.
ORIENTED = {
    f"{clip}_{degrees}.mp4": {"rotation": degrees, "mirrored": "mirror" in clip}
    for clip, turns in {
        "h264_rotate": (90, 180, 270),
        "h264_mirror": (0, 90, 180, 270),
        "hevc_mirror": (270,),
        "hevc_odd_mirror": (90,),
    }.items()
    for degrees in turns
}


class Clips:
    """The clips in a folder that tests/golden/make_clips.py fills."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        return self.folder / name

    def data(self, name: str) -> bytes:
        return self.path(name).read_bytes()

    def frames(self, name: str) -> ClipFrames:
        return clip_frames(self.path(name))

    def raw(self, name: str, count: int | None = None) -> list[bytes]:
        return raw_frames(self.path(name), count)

    def reference(self, name: str, count: int, **shown: object) -> list[Frame]:
        """Returns the first `count` frames for comparisons with the float64 reference. `shown` sets
        Frame's space, colour_range, rotation and mirrored."""
        golden = self.frames(name)
        return [
            Frame(data, golden.pixel_format, golden.width, golden.height, **shown)
            for data in self.raw(name, count)
        ]
