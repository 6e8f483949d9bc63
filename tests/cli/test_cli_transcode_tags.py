"""`tf-nvcodec transcode` keeps the colours and the shape of a pixel, as ffprobe sees them."""

from __future__ import annotations

import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from encoded import OPENH264, moving
from tagged_video import colors_of, make_tagged, stream_of

import tf_nvcodec as nvc
from tf_nvcodec.cli import main

PQ = ("bt2020", "smpte2084", "bt2020nc", "tv")
HLG = ("bt2020", "arib-std-b67", "bt2020nc", "tv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Videos with tags: pq.mp4, hlg.mp4 (10 bits, HEVC), pal.mp4 and anamorphic.mp4 (H.264)."""
    folder = tmp_path_factory.mktemp("tags")
    x265 = ["-c:v", "libx265", "-x265-params", "log-level=none:frame-threads=1"]
    for name, colors in (("pq", PQ), ("hlg", HLG)):
        made = make_tagged(folder / f"{name}.mp4", colors, "-pix_fmt", "yuv420p10le", *x265)
        assert colors_of(made) == colors
    x264 = ["-pix_fmt", "yuv420p", "-c:v", "libx264"]
    make_tagged(folder / "pal.mp4", ("bt470bg", "gamma28", "bt470bg", "tv"), *x264)
    bt709 = ("bt709", "bt709", "bt709", "tv")
    made = make_tagged(folder / "anamorphic.mp4", bt709, *x264, "-vf", "setsar=4/3")
    assert stream_of(made)["sample_aspect_ratio"] == "4:3"
    return folder


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("pq.mp4", "x.mp4"),
        ("hlg.mp4", "x.mov"),
        ("hlg.mp4", "x.hevc"),
        ("pq.mp4", "x.ts"),
        ("hlg.mp4", "x.ivf"),
        ("pq.mp4", "x.webm"),
    ],
)
def test_hdr_is_kept(folder, tmp_path, capsys, source, output):
    out = tmp_path / output
    assert main(["transcode", str(folder / source), str(out)]) == 0
    assert colors_of(out) == (PQ if source == "pq.mp4" else HLG)
    stream = stream_of(out)
    shallow = OPENH264 and stream["codec_name"] == "h264"
    assert stream["pix_fmt"] == ("yuv420p" if shallow else "yuv420p10le")
    assert capsys.readouterr().err == ""


def test_colours_of_old_video_are_kept(folder, tmp_path):
    out = tmp_path / "x.mp4"
    assert main(["transcode", str(folder / "pal.mp4"), str(out)]) == 0
    assert colors_of(out) == ("bt470bg", "bt470bg", "smpte170m", "tv")
    # The same equations as those of bt470bg.
    assert colors_of(folder / "pal.mp4") == ("bt470bg", "bt470bg", "bt470bg", "tv")


def test_ones_own_colours_come_first(folder, tmp_path):
    out = tmp_path / "x.mp4"
    argv = ["transcode", str(folder / "pq.mp4"), str(out), "--force"]
    assert main([*argv, "--color-space", "bt709"]) == 0
    assert colors_of(out)[:3] == ("bt709",) * 3
    assert main([*argv, "--option", "color_trc=bt2020-10"]) == 0
    assert colors_of(out) == ("bt2020", "bt2020-10", "bt2020nc", "tv")


def test_a_stream_without_tags_gets_those_of_its_matrix(folder, tmp_path):
    bare, out = tmp_path / "bare.mkv", tmp_path / "x.mp4"
    unknown = ("unknown", "unknown", "unknown", "unknown")
    make_tagged(bare, unknown, "-pix_fmt", "yuv420p", "-c:v", "libx264")
    assert main(["transcode", str(bare), str(out)]) == 0
    assert colors_of(out) == ("smpte170m", "smpte170m", "smpte170m", "tv")


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ([], "4/3"),
        # As ffmpeg's scale filter does, so that the picture stays 160 * 4/3 to 96.
        (["--size", "80x48"], "4/3"),
        (["--size", "160x72"], "1"),
        (["--size", "96x96"], "20/9"),
        (["--crop", "80x48+8+2"], "4/3"),
        (["--crop", "80x48+8+2", "--size", "80x96"], "8/3"),
    ],
)
def test_the_shape_of_a_pixel_is_kept(folder, tmp_path, options, shape):
    out = tmp_path / "x.mp4"
    assert main(["transcode", str(folder / "anamorphic.mp4"), str(out), *options]) == 0
    stored = stream_of(out).get("sample_aspect_ratio", "1:1")
    assert Fraction(stored.replace(":", "/")) == Fraction(shape)


@pytest.mark.parametrize("output", ["x.ts", "x.h264", "x_%d.mkv", "x.avi", "x.mjpeg", "x.webm"])
def test_containers_keep_the_shape_of_a_pixel(folder, tmp_path, capsys, output):
    argv = ["transcode", str(folder / "anamorphic.mp4"), str(tmp_path / output)]
    assert main([*argv, *(["--segment", "8"] if "%" in output else [])]) == 0
    shape = stream_of(tmp_path / output.replace("%d", "0"))["sample_aspect_ratio"]
    # WebM stores the width on the screen, in whole pixels.
    assert float(Fraction(shape.replace(":", "/"))) == pytest.approx(4 / 3, rel=0.005)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("options", "shape"), [([], "3:4"), (["--no-rotate"], "4:3")])
def test_pixels_turn_with_the_frame(folder, tmp_path, options, shape):
    turned, out = tmp_path / "turned.mp4", tmp_path / "x.mp4"
    turn = ["-i", str(folder / "anamorphic.mp4"), "-c", "copy", "-metadata:s:v", "rotate=90"]
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", *turn, str(turned)], check=True)
    assert main(["transcode", str(turned), str(out), *options]) == 0
    assert stream_of(out)["sample_aspect_ratio"] == shape
    assert stream_of(out)["width"] == (160 if options else 96)


def test_square_pixels_stay_square(clips, tmp_path):
    out = tmp_path / "x.mp4"
    assert main(["transcode", str(clips.path("h264.mp4")), str(out), "--size", "96x96"]) == 0
    assert stream_of(out).get("sample_aspect_ratio", "1:1") in ("1:1", "0:1")


@pytest.mark.parametrize(
    ("source", "output", "words"),
    [
        ("anamorphic.mp4", "x.ivf", "av1 in ivf has no tag for pixels of 4:3: it looks distorted"),
        ("pq.mp4", "x.mjpeg", "mjpeg in raw has no tag for HDR (smpte2084): it looks pale"),
    ],
)
def test_what_has_no_tag_is_said(folder, tmp_path, capsys, source, output, words):
    out = tmp_path / output
    assert main(["transcode", str(folder / source), str(out)]) == 0
    cure = "(write .mkv or .mp4)"
    assert capsys.readouterr().err == f"tf-nvcodec: {out}: warning: {words} {cure}\n"


# FFmpeg's option color_trc has these names for two of the transfer functions.
GAMMAS = {"bt470m": "gamma22", "bt470bg": "gamma28"}
TRANSFERS = (
    "bt709 bt470m bt470bg smpte170m smpte240m linear log100 log316 iec61966-2-4 bt1361e "
    "iec61966-2-1 bt2020-10 bt2020-12 smpte2084 smpte428 arib-std-b67"
)
PRIMARIES = (
    "bt709 bt470m bt470bg smpte170m smpte240m film bt2020 smpte428 smpte431 smpte432"  # in mkv
)


@pytest.mark.parametrize(
    ("option", "field", "names"),
    [
        ("color_trc", "color_transfer", TRANSFERS.split()),
        ("color_primaries", "color_primaries", PRIMARIES.split()),
    ],
)
def test_every_name_that_probe_gives_is_kept(tmp_path, option, field, names):
    source, out = tmp_path / "in.mkv", tmp_path / "x.mkv"
    for name in names:
        tags = {option: GAMMAS.get(name, name) if option == "color_trc" else name}
        video = nvc.encode_video(moving(1, 16, 16), codec="ffv1", container="mkv", options=tags)
        source.write_bytes(video.numpy())
        assert main(["transcode", str(source), str(out), "--codec", "ffv1", "--force"]) == 0
        for path in (source, out):
            assert getattr(nvc.probe(path.read_bytes()), field).numpy().decode() == name, path
