"""The parts of the command line that need no video: values, files, formats, error lines."""

from __future__ import annotations

import argparse
import os
from argparse import ArgumentTypeError
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tf_nvcodec.cli import encode, errors, files, frames_in, options, values
from tf_nvcodec.cli.contact_sheet import clock, contact_sheet
from tf_nvcodec.cli.npy import NpyWriter
from tf_nvcodec.cli.numbered import NumberedFiles, is_numbered
from tf_nvcodec.cli.numbered_output import ImageFolder, NumberedOutput
from tf_nvcodec.cli.progress import batches, interruptible


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (values.size, "320x180", (180, 320)),
        (values.crop, "64x48+8+2", (2, 8, 48, 64)),
        (values.integers, "0,5,-1", [0, 5, -1]),
        (values.integers, "0:10:4", [0, 4, 8]),
        (values.integers, "7", [7]),
        (values.seconds, "0.5,1.25", [0.5, 1.25]),
        (values.seconds, "0:1:0.25", [0.0, 0.25, 0.5, 0.75]),
        (values.seconds, "0:0.3:0.1", [0.0, 0.1, 0.2]),
        (values.fps, "30000/1001", 30000 / 1001),
        (values.fps, "29.97", 29.97),
        (values.bitrate, "800k", 800_000),
        (values.bitrate, "2.5M", 2_500_000),
        (values.bitrate, "1234", 1234),
        (values.channel_values, "0.5,0.25,0", [0.5, 0.25, 0.0]),
        (values.option, "x265-params=lossless=1", ("x265-params", "lossless=1")),
        (values.positive, "12", 12),
        (values.count, "0", 0),
    ],
)
def test_values(parse, text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (values.size, "0x180"),
        (values.size, "320"),
        (values.size, "9999999999x1"),
        (values.path, ""),
        (values.path, "a\0b"),
        (values.integers, "0:99999999999999999999"),
        (values.seconds, "0:1e9:1e-9"),
        (values.fps, "1e99"),
        (values.bitrate, "9" * 400 + "G"),
        (values.bitrate, "1001G"),
        (values.integers, "99999999999999999999"),
        (values.crop, "64x48"),
        (values.integers, "1,x"),
        (values.integers, "0:1:0"),
        (values.integers, "::"),
        (values.seconds, "nan"),
        (values.seconds, "1,inf"),
        (values.seconds, "0:1"),
        (values.seconds, "0:1:0"),
        (values.fps, "0"),
        (values.fps, "1/0"),
        (values.fps, "nan"),
        (values.bitrate, "0"),
        (values.bitrate, "fast"),
        (values.channel_values, "a"),
        (values.channel_values, "1,nan"),
        (values.option, "=1"),
        (values.option, "tune"),
        (values.positive, "0"),
        (values.count, "-1"),
    ],
)
def test_values_refused(parse, text):
    with pytest.raises(ArgumentTypeError):
        parse(text)


def test_npy_in_pieces(tmp_path: Path):
    path = tmp_path / "x.npy"
    whole = np.arange(5 * 2 * 3, dtype=np.uint16).reshape(5, 2, 3)
    with open(path, "wb") as file, NpyWriter(file) as writer:
        writer.append(whole[:2])
        writer.append(whole[2:])
    np.testing.assert_array_equal(np.load(path), whole)
    assert np.load(path).dtype == np.uint16


def test_npy_refuses_another_shape(tmp_path: Path):
    with open(tmp_path / "x.npy", "wb") as file, NpyWriter(file) as writer:
        writer.append(np.zeros((1, 4, 4), np.uint8))
        with pytest.raises(ValueError, match="--size"):
            writer.append(np.zeros((1, 4, 5), np.uint8))


def test_replacing_leaves_nothing_behind_on_failure(tmp_path: Path):
    target = tmp_path / "out.bin"
    target.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="stop"), files.replacing(str(target)) as partial:
        Path(partial).write_bytes(b"half")
        raise RuntimeError("stop")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.bin"]


def test_a_name_may_be_as_long_as_the_file_system_takes(tmp_path: Path):
    path = tmp_path / ("n" * 251 + ".bin")
    files.write_bytes(str(path), b"x")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_replacing_names_a_missing_folder(tmp_path: Path):
    with pytest.raises(errors.CliError, match="does not exist"):
        files.write_bytes(str(tmp_path / "no" / "x.bin"), b"")


def test_refuse_to_replace(tmp_path: Path):
    taken = tmp_path / "taken.mp4"
    taken.write_bytes(b"x")
    with pytest.raises(errors.CliError, match="exists already") as caught:
        files.refuse_to_replace(str(taken), False, [])
    assert "--force" in caught.value.line()
    files.refuse_to_replace(str(taken), True, [])
    files.refuse_to_replace(str(tmp_path / "free.mp4"), False, [])
    with pytest.raises(errors.UsageError, match="is named twice"):
        files.refuse_to_replace(str(taken), True, [str(tmp_path / "." / "taken.mp4")])
    with pytest.raises(errors.UsageError, match="is a folder"):
        files.refuse_to_replace(str(tmp_path), True, [])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.UsageError, match="a device or a pipe"):
        files.refuse_to_replace(str(tmp_path / "pipe"), True, [])


def test_image_folder_appears_whole(tmp_path: Path):
    out = tmp_path / "frames"
    with pytest.raises(RuntimeError), ImageFolder(str(out), False) as folder:
        folder.write(b"one")
        raise RuntimeError("stop")
    assert not out.exists()
    with ImageFolder(str(out), False) as folder:
        folder.write(b"one")
        folder.write(b"two")
    assert sorted(p.name for p in out.iterdir()) == ["frame_000000.png", "frame_000001.png"]
    with pytest.raises(errors.CliError, match="exists already"):
        ImageFolder(str(out), False)


def test_images_of_an_earlier_sequence_do_not_stay(tmp_path: Path):
    for name in ("frame_000007.png", "frame_7.png", "cover.png"):
        (tmp_path / name).write_bytes(b"old")
    with pytest.raises(errors.CliError, match="exists already"):
        ImageFolder(str(tmp_path), False)
    with ImageFolder(str(tmp_path), True) as folder:
        folder.write(b"new")
    names = ["cover.png", "frame_000000.png", "frame_7.png"]
    assert sorted(p.name for p in tmp_path.iterdir()) == names


def test_images_do_not_go_into_a_file(tmp_path: Path):
    (tmp_path / "taken").write_bytes(b"x")
    for name in ("taken", "taken/"):
        with pytest.raises(errors.CliError, match="is a file, not a folder"):
            ImageFolder(f"{tmp_path}/{name}", False)


def test_a_sequence_goes_through_tensorflow_file_systems():
    pattern = "ram://sequence/x_%d.bin"
    for count in (3, 2):
        with NumberedOutput(pattern, force=count == 2) as out:
            for number in range(count):
                out.write(b"%d of %d" % (number, count))
        names = sorted(tf.io.gfile.listdir("ram://sequence"))
        assert names == [f"x_{number}.bin" for number in range(count)]
        # TensorFlow's ram:// appends to a file that exists.
        assert files.read_bytes("ram://sequence/x_1.bin").endswith(b"1 of %d" % count)
    with pytest.raises(errors.CliError, match="exists already"):
        NumberedOutput(pattern, force=False)
    with pytest.raises(errors.UsageError, match="is named twice"):
        NumberedOutput(pattern, True, ["ram://sequence/x_1.bin"])


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a/x_%03d.png", ["x_000.png", "x_012.png"]),
        ("%d", ["0", "12"]),
        ("100%_%d.png", ["100%_0.png", "100%_12.png"]),
        ("100%%_%2d%%d", ["100%_ 0%d", "100%_12%d"]),
    ],
)
def test_numbered_names(path, names):
    assert is_numbered(path)
    numbered = NumberedFiles(path)
    assert [numbered.name(0), numbered.name(12)] == names
    assert numbered.among([names[1], "other", names[0]]) == sorted(names)


@pytest.mark.parametrize("path", ["x.png", "%s.png", "100%%d.png", "%0999d.png", "%d/x.png"])
def test_not_numbered_names(path):
    assert not is_numbered(path)


def test_two_numbers_name_no_sequence():
    with pytest.raises(errors.UsageError, match="has 2 places"):
        NumberedFiles("%d_%d.png")


def test_find_images_in_the_order_of_their_numbers(tmp_path: Path):
    for name in ("a10.png", "a9.png", "b1.png", "note.txt"):
        (tmp_path / name).write_bytes(b"")
    names = [Path(p).name for p in files.find_images(str(tmp_path / "a%d.png"))]
    assert names == ["a9.png", "a10.png"]
    assert len(files.find_images(str(tmp_path))) == 3
    assert len(files.find_images(str(tmp_path / "a*.png"))) == 2
    with pytest.raises(errors.CliError, match="no image matches"):
        files.find_images(str(tmp_path / "c%d.png"))
    odd = tmp_path / "take[1]"
    odd.mkdir()
    (odd / "a1.png").write_bytes(b"")
    assert len(files.find_images(str(odd / "a*.png"))) == 1


def test_read_bytes_through_tensorflow_file_systems(tmp_path: Path):
    with tf.io.gfile.GFile("ram://folder/x.bin", "wb") as file:
        file.write(b"bytes")
    assert files.read_bytes("ram://folder/x.bin") == b"bytes"
    with pytest.raises(errors.CliError, match="no such file"):
        files.read_bytes("ram://folder/y.bin")
    with pytest.raises(errors.CliError, match="no file system"):
        files.read_bytes("nothing://x")
    with pytest.raises(errors.CliError, match="no such file"):
        files.read_bytes(str(tmp_path / "y.bin"))


def test_write_bytes_through_tensorflow_file_systems():
    files.write_bytes("ram://folder/written.bin", b"new")
    with tf.io.gfile.GFile("ram://folder/written.bin", "rb") as file:
        assert file.read() == b"new"
    with pytest.raises(errors.CliError, match="exists already"):
        files.refuse_to_replace("ram://folder/written.bin", False, [])


def test_error_lines():
    raw = (
        "{{function_node __wrapped__VideoDecode_device_/job:localhost/replica:0/task:0/"
        "device:CPU:0}} contents is empty [Op:VideoDecode] name: "
    )
    assert errors.clean_message(raw) == "contents is empty"
    line = errors.CliError("a.mp4", "contents is empty", "give a video").line()
    assert line == "tf-nvcodec: a.mp4: contents is empty (give a video)"


def test_about_keeps_bugs_apart_from_bad_input():
    with pytest.raises(errors.CliError, match="permission|Permission"), errors.about("x"):
        raise PermissionError(13, "Permission denied")
    with pytest.raises(errors.CliError, match="too big"), errors.about("x"):
        raise tf.errors.ResourceExhaustedError(None, None, "too big")
    with pytest.raises(TypeError), errors.about("x"):
        raise TypeError("a bug")


def _y4m(header: bytes, frames: list[bytes]) -> bytes:
    return header + b"\n" + b"".join(b"FRAME\n" + frame for frame in frames)


def test_y4m():
    frames = [bytes(range(3 * 3 + 2 * 4)), bytes(17)]
    read = frames_in.read_y4m("x", _y4m(b"YUV4MPEG2 W3 H3 F24000:1001 Ip C420mpeg2", frames))
    assert read.frames.tobytes() == b"".join(frames)
    assert (read.input_format, read.size) == ("yuv420p", (3, 3))
    assert read.fps == pytest.approx(24000 / 1001)
    gray = frames_in.read_y4m("x", _y4m(b"YUV4MPEG2 W2 H1 F1:1 Cmono XCOLORRANGE=FULL", [b"ab"]))
    assert (gray.frames.shape, gray.input_format, gray.color_range) == (
        (1, 1, 2, 1),
        "gray",
        "full",
    )
    assert frames_in.read_y4m("x", _y4m(b"YUV4MPEG2 W2 H1 F0:0 Cmono", [b"ab"])).fps is None


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"RIFF", "not a YUV4MPEG2"),
        (b"YUV4MPEG2 W4\n", "no proper W"),
        (b"YUV4MPEG2 W0 H4 F1:1\n", "size of 0x4"),
        (b"YUV4MPEG2 W4 H4 F1:1 C420p10\nFRAME\n", "420p10"),
        (b"YUV4MPEG2 W4 H4 F1:1\nFRAME\nabc", "frame 0 is cut short"),
        (b"YUV4MPEG2 W4 H4 F1:1\nFRAMX\n" + bytes(24), "no FRAME header at byte"),
        (b"YUV4MPEG2 W4 H4 F1:1\n", "holds no frame"),
    ],
)
def test_y4m_refused(data, cause):
    with pytest.raises(errors.CliError, match=cause):
        frames_in.read_y4m("x.y4m", data)


@pytest.mark.parametrize("output", ["a.mp4", "a.webm", "a.H264", "a.obu"])
def test_format_from_extension(output):
    args = argparse.Namespace(output=output, container=None, codec=None)
    container, codec = encode.choose_format(args)
    expected = {"a.mp4": ("mp4", "h264"), "a.webm": ("webm", "vp9"), "a.H264": ("raw", "h264")}
    assert (container, codec) == expected.get(output, ("obu", "av1"))


def test_format_unknown():
    args = argparse.Namespace(output="a.xyz", container=None, codec="h264")
    with pytest.raises(errors.UsageError, match="no container is known"):
        encode.choose_format(args)


def test_options_left_out_keep_the_defaults():
    assert options.given(a=None, b=0, c=False) == {"b": 0, "c": False}


def test_batches():
    parts = list(batches(range(3, 20, 4), 2))
    assert [list(part) for part in parts] == [[3, 7], [11, 15], [19]]


def test_interruptible_returns_and_raises():
    assert interruptible(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


def test_contact_sheet():
    frames = np.zeros((5, 9, 16, 3), np.uint8)
    frames[4] = 255
    sheet = np.asarray(contact_sheet(frames, ["c"] * 5, "title", columns=2))
    # Three rows of two: the fifth frame stands alone in the last row.
    white = (sheet == 255).all(axis=2)
    rows, columns = np.nonzero(white)
    assert white.sum() == 9 * 16
    assert (np.ptp(rows), np.ptp(columns)) == (8, 15)
    assert columns.min() < sheet.shape[1] / 2
    assert rows.min() > sheet.shape[0] / 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00.000"),
        (59.9996, "1:00.000"),
        (5.28, "0:05.280"),
        (3723.5, "1:02:03.500"),
        (-1, "-0:01.000"),
    ],
)
def test_clock(seconds, text):
    assert clock(seconds) == text
