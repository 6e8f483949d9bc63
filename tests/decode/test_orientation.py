"""Every call mirrors and turns frames as the container's display matrix says."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import clip_surgery
import numpy as np
import numpy.typing as npt
import pytest
from child_script import finished
from ffmpeg_program import ffmpeg
from golden_clips import ORIENTED, Clips
from reference import displayed, parse_format, split_planes

import tf_nvcodec as nvc
from tf_nvcodec import compat
from tf_nvcodec.cli import main

COUNT = 3
# The sizes are whole and odd. The chroma of the first and the last clip is subsampled.
SHAPES = ["h264.mp4", "hevc_odd_444.mp4", "mjpeg_odd.mov"]
ODD = "h264_rotate_45.mp4"


def by_ffmpeg(path: Path, pixel_format: str) -> bytes:
    """Returns the first frame as the ffmpeg program shows it. It turns and mirrors by itself."""
    shown = ["-frames:v", "1", "-pix_fmt", pixel_format, "-f", "rawvideo", "-"]
    return ffmpeg("-i", path, *shown)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_it_is_the_orientation_of_ffmpeg(
    clips: Clips, tmp_path: Path, name: str, degrees: int, mirrored: bool
) -> None:
    """A turn or a mirror moves samples and does not change them."""
    path = tmp_path / name
    edit = clip_surgery.display_matrix(degrees, mirrored)
    path.write_bytes(edit(clips.data(name), clips.path(name)))
    info = nvc.probe(path.read_bytes())
    assert (int(info.rotation), bool(info.mirrored)) == (degrees, mirrored)
    pixel_format = info.pixel_format.numpy().decode()
    width, height = int(info.width), int(info.height)
    shown = (height, width) if degrees % 180 else (width, height)
    theirs = split_planes(by_ffmpeg(path, pixel_format), pixel_format, *shown)
    wanted = pixel_format.replace("yuvj", "yuv")
    ours, _ = nvc.decode_video(path.read_bytes(), stop=1, pixel_format=wanted)
    planes = split_planes(ours.numpy()[0].tobytes(), wanted, *shown)
    # A chroma sample of a picture of odd size may lie half outside of it. ffmpeg moves it to the
    # other side with its plane; here it stays with the luma that it belongs to.
    subsampled = parse_format(pixel_format).shifts != (0, 0)
    same = 1 if subsampled and (width % 2 or height % 2) else 3
    for i in range(same):
        np.testing.assert_array_equal(planes[i], theirs[i])


def oriented(frames: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    shown = ORIENTED.get(name, {"rotation": 0, "mirrored": False})
    return np.stack([displayed(frame, shown["rotation"], shown["mirrored"]) for frame in frames])


@pytest.mark.parametrize("name", [*ORIENTED, ODD])
def test_every_call(clips: Clips, tmp_path: Path, name: str) -> None:
    data, path = clips.data(name), clips.path(name)
    stored = nvc.decode_video(data, stop=COUNT, apply_rotation=False).frames.numpy()
    want = oriented(stored, name)
    assert not np.array_equal(want, stored) or name == ODD
    np.testing.assert_array_equal(nvc.decode_video(data, stop=COUNT).frames, want)
    at, _ = nvc.decode_frames_at(data, [2, 0])
    np.testing.assert_array_equal(at, want[[2, 0]])
    parts = [part.frames.numpy() for part in nvc.iter_video(path, 2, stop=COUNT)]
    np.testing.assert_array_equal(np.concatenate(parts), want)
    for clip in nvc.VideoDataset(str(path), COUNT, sampling="start", clips_per_video=1):
        np.testing.assert_array_equal(clip["frames"], want)
    batch = nvc.decode_clips([data], COUNT, sampling="start")
    np.testing.assert_array_equal(batch.frames[0, 0], want)
    out = tmp_path / "x.npy"
    for options, frames in ([], want), (["--no-rotate"], stored):
        argv = ["decode", str(path), str(out), "--stop", str(COUNT), "--force", *options]
        assert main(argv) == 0
        np.testing.assert_array_equal(np.load(out), frames)


@pytest.mark.parametrize("degrees", [0, 180])
def test_rows_of_large_frames(clips: Clips, degrees: int) -> None:
    """Rows that are not turned are written past the caches, where they belong."""
    edit = clip_surgery.display_matrix(degrees, mirrored=True)
    data = edit(clips.data("bbb.mp4"), clips.path("bbb.mp4"))
    for layout, axes in ("thwc", (1, 2)), ("tchw", (2, 3)):
        stored, _ = nvc.decode_video(data, stop=2, layout=layout, apply_rotation=False)
        frames, _ = nvc.decode_video(data, stop=2, layout=layout)
        np.testing.assert_array_equal(frames, np.flip(stored, axes[1 if degrees == 0 else 0]))


@pytest.mark.parametrize("name", [*ORIENTED, ODD])
def test_stored_samples_stay_as_they_are(clips: Clips, name: str) -> None:
    raw = clips.raw(name, 1)[0]
    native = nvc.decode_video(clips.data(name), stop=1, pixel_format="native").frames
    assert native.numpy()[0].tobytes() == raw
    decoder = compat.SimpleDecoder(
        clips.path(name),
        use_device_memory=False,
        backend="cpu",
        output_color_type=compat.OutputColorType.RGB,
    )
    stored = nvc.decode_video(clips.data(name), stop=1, apply_rotation=False).frames
    np.testing.assert_array_equal(np.asarray(decoder[0]), stored[0])


def test_the_command_line_tells_it(clips: Clips, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["h264.mp4", "h264_rotate_90.mp4", "h264_mirror_0.mp4", "h264_mirror_270.mp4"]
    paths = [str(clips.path(name)) for name in names]
    assert main(["probe", *paths]) == 0
    sizes = re.findall(r"160x96( mirrored)?( turned \d+)?", capsys.readouterr().out)
    want = [("", ""), ("", " turned 90"), (" mirrored", ""), (" mirrored", " turned 270")]
    assert sizes == want
    assert main(["probe", "--json", paths[-1]]) == 0
    (info,) = json.loads(capsys.readouterr().out)
    assert (info["rotation"], info["mirrored"]) == (270, True)


# Which call gets a clip that is turned by so many degrees, and whether it says so.
OTHER_ANGLES = {
    10: ("nvc.decode_video(data, stop=1, apply_rotation=False)", 0),
    20: ("nvc.decode_video(data, stop=1, pixel_format='native')", 0),
    30: ("nvc.probe(data)", 1),
    40: ("nvc.decode_video(data, stop=1)", 1),
    50: ("nvc.decode_clips([data], 1)", 1),
    60: ("list(nvc.iter_video(data, stop=1))", 1),
}


def test_another_matrix_is_said_once(clips: Clips, tmp_path: Path) -> None:
    """A new process makes each call twice. The test reads its stderr."""
    code = "import tf_nvcodec as nvc\n"
    for degrees, (call, _) in OTHER_ANGLES.items():
        path = tmp_path / f"{degrees}.mp4"
        edit = clip_surgery.display_matrix(degrees)
        path.write_bytes(edit(clips.data("h264.mp4"), clips.path("h264.mp4")))
        code += f"data = open({str(path)!r}, 'rb').read()\n{call}\n{call}\n"
    done = finished("-c", code, TF_CPP_MIN_LOG_LEVEL="1")
    for degrees, (call, lines) in OTHER_ANGLES.items():
        angle = math.radians(degrees)
        cos, sin = (f"{round(65536 * f(angle)) / 65536:g}" for f in (math.cos, math.sin))
        said = f"leaves frames as stored: a display matrix, {cos} {sin} -{sin} {cos}, is no "
        assert done.stderr.count(said) == lines, (call, done.stderr)
