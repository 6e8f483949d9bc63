"""Transcoder keeps the tags of colour, shape and orientation, in stream and container."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from golden_clips import ORIENTED, Clips
from tagged_video import COLORS, colors_of, make_tagged, stream_of

import tf_nvcodec.compat as nvc

HDR = ("bt2020", "smpte2084", "bt2020nc", "tv")
# For each codec, a file format that has no place for colours and pixel shapes. What ffprobe shows
# of such a file stands in the packets.
BARE = {"h264": "h264", "hevc": "hevc", "av1": "ivf"}


def make(path: Path, colors: tuple[str, ...], *options: str) -> Path:
    assert colors_of(make_tagged(path, colors, *options)) == colors
    return path


def bare(path: Path, codec: str) -> dict:
    """Copies the video into a bare file, and returns what ffprobe finds in its packets."""
    out = path.with_suffix("." + BARE[codec])
    copy = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-c", "copy", str(out)]
    subprocess.run(copy, check=True)
    return stream_of(out)


@pytest.fixture(scope="module")
def hdr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hdr") / "in.mp4"
    x265 = ["-c:v", "libx265", "-x265-params", "log-level=none:frame-threads=1"]
    return make(path, HDR, "-pix_fmt", "yuv420p10le", *x265)


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_bt2020_is_kept(hdr: Path, codec: str, kind: str, tmp_path: Path) -> None:
    out = tmp_path / f"out.{kind}"
    nvc.Transcoder(hdr, out, codec=codec, preset="P1").transcode_with_mux()
    stream = stream_of(out)
    assert tuple(stream[name] for name in COLORS) == HDR
    assert stream["pix_fmt"] == "yuv420p10le"
    packets = bare(out, codec)
    assert tuple(packets[name] for name in COLORS) == HDR
    if kind == "mp4":
        assert b"colrnclx\0\x09\0\x10\0\x09" in out.read_bytes()


@pytest.mark.parametrize(
    "colors",
    [
        ("bt2020", "arib-std-b67", "bt2020nc", "tv"),
        ("bt709", "bt709", "bt709", "pc"),
        ("smpte170m", "smpte170m", "smpte170m", "tv"),
        ("bt470bg", "smpte170m", "bt470bg", "tv"),
    ],
)
def test_other_colours_are_kept(colors: tuple[str, ...], tmp_path: Path) -> None:
    source = make(tmp_path / "in.mp4", colors, "-pix_fmt", "yuv420p", "-c:v", "libx264")
    out = tmp_path / "out.mp4"
    nvc.Transcoder(source, out, codec="h264", preset="P1").transcode_with_mux()
    assert tuple(stream_of(out)[name] for name in COLORS) == colors
    packets = bare(out, "h264")
    assert tuple(packets[name] for name in COLORS) == colors


def test_a_colorspace_of_ones_own_comes_before_the_videos(hdr: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mkv"
    nvc.Transcoder(hdr, out, codec="h264", preset="P1", colorspace="bt709").transcode_with_mux()
    assert tuple(stream_of(out)[name] for name in COLORS[:3]) == ("bt709",) * 3


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_the_shape_of_a_pixel_is_kept(codec: str, tmp_path: Path) -> None:
    ask = ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-vf", "setsar=4/3"]
    source = make(tmp_path / "in.mp4", ("bt709", "bt709", "bt709", "tv"), *ask)
    out = tmp_path / "out.mp4"
    nvc.Transcoder(source, out, codec=codec, preset="P1").transcode_with_mux()
    assert stream_of(out)["sample_aspect_ratio"] == "4:3"
    assert bare(out, codec)["sample_aspect_ratio"] == "4:3"


@pytest.mark.parametrize("name", ORIENTED)
def test_rotation_and_mirror_are_kept(clips: Clips, name: str, tmp_path: Path) -> None:
    out = tmp_path / "out.mp4"
    nvc.Transcoder(clips.path(name), out, codec="h264", preset="P1").transcode_with_mux()
    kept, want = (stream_of(path)["side_data_list"][0] for path in (out, clips.path(name)))
    assert kept["displaymatrix"] == want["displaymatrix"]
