"""The commands of tf-nvcodec on real files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from fork_server import run, start

import tf_nvcodec as nvc
from tf_nvcodec.cli import main
from tf_nvcodec.cli.numbered_output import ImageFolder

# The console script's two lines, so that the tests run from a source tree too.
COMMANDS = ["probe", "decode", "encode", "transcode", "preview", "export", "doctor"]
SCRIPT = "import sys; sys.argv[0] = 'tf-nvcodec'; from tf_nvcodec.cli import main; sys.exit(main())"


def tf_nvcodec(*args: object, stdin=None, **environment: str) -> subprocess.CompletedProcess:
    """Runs in the environment of a user, without the log level that conftest.py sets."""
    kept = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, args)],
        stdin=stdin,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def clip(clips) -> str:
    """48 frames of 160x96, 25 a second."""
    return str(clips.path("h264.mp4"))


@pytest.fixture
def frames(clip) -> np.ndarray:
    return nvc.decode_video(Path(clip).read_bytes()).frames.numpy()


def one_line_error(capsys) -> str:
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1, captured.err
    assert "Traceback" not in captured.err
    return captured.err


def test_help_imports_no_tensorflow():
    code = (
        "import sys; sys.argv[0] = 'tf-nvcodec'; from tf_nvcodec.cli import main; main(['--help']);"
        "sys.exit('tensorflow' in sys.modules or 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "exit codes:" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(command, capsys):
    assert main([command, "--help"]) == 0
    assert command in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert nvc.__version__ in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nonsense"],
        ["probe"],
        ["decode", "in.mp4"],
        ["decode", "in.mp4", "out.npy", "--size", "big"],
        ["decode", "in.mp4", "out.npy", "--start", "1", "--indices", "1,2"],
        ["decode", "in.mp4", "out.npy", "--timestamps", "1", "--indices", "1,2"],
        ["decode", "in.mp4", "out.npy", "--timestamps", "1:0:1"],
        ["decode", "in.mp4", "out.npy", "--indices", "5:5"],
        ["decode", "in.mp4", "out.xyz"],
        ["decode", "in.mp4", ""],
        ["decode", "in.mp4", "-"],
        ["decode", "in.mp4", "out.npy", "--pts", "out.npy"],
        ["encode", "in.npy", "/dev/null", "--container", "mp4", "--codec", "h264", "--force"],
        ["decode", "in.mp4", "frames/", "--pixel-format", "nv12"],
        ["decode", "in.mp4", "frames/", "--dtype", "float32"],
        ["decode", "in.mp4", "frames/", "--layout", "tchw"],
        ["encode", "in.npy", "out.xyz"],
        ["encode", "in.npy", "out.mp4", "--crf", "20", "--bitrate", "1M"],
        ["encode", "in.npy", "out.mp4", "--fps", "20", "--pts", "x.npy"],
        ["transcode", "in.mp4", "out_%03d.mp4"],
        ["transcode", "in.mp4", "out.mp4", "--segment", "10"],
        ["transcode", "in.mp4", "-", "--container", "mp4", "--codec", "h264", "--json"],
        ["encode", "in.npy", "-", "--container", "mp4", "--codec", "h264", "--json"],
        ["preview", "in.mp4", "out.jpg"],
    ],
)
def test_usage_errors(argv, capsys):
    assert main(argv) == 2
    assert one_line_error(capsys).startswith("tf-nvcodec: ")


def test_probe_json(clip, capsys):
    assert main(["probe", clip, "--json"]) == 0
    (info,) = json.loads(capsys.readouterr().out)
    expected = {"file": clip, "width": 160, "height": 96, "num_frames": 48, "codec": "h264"}
    assert {name: info[name] for name in expected} == expected
    assert info["fps"] == pytest.approx(25)
    assert set(info) - {"file"} == set(nvc.VideoInfo._fields)


def test_probe_table_goes_on_after_a_bad_file(clip, tmp_path, capsys):
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"not a video")
    missing = str(tmp_path / "none.mp4")
    assert main(["probe", str(bad), clip, missing]) == 1
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 2
    assert "160x96" in captured.out
    errors = captured.err.splitlines()
    assert errors[0].startswith(f"tf-nvcodec: {bad}: ")
    assert errors[1] == f"tf-nvcodec: {missing}: no such file (check the path)"


def test_a_timeout_is_named(clip, tmp_path, capsys):
    commands = {
        "probe": [],
        "decode": [str(tmp_path / "x.npy")],
        "transcode": [str(tmp_path / "x.mp4")],
        "preview": [str(tmp_path / "x.png")],
    }
    for command, output in commands.items():
        assert main([command, clip, *output, "--timeout", "1e-6"]) == 1
        error = one_line_error(capsys)
        assert error.startswith(f"tf-nvcodec: {clip}: the time limit of 1e-06 s was over while ")
    assert main(["decode", clip, str(tmp_path / "x.npy"), "--timeout", "60"]) == 0
    assert main(["probe", clip, "--timeout=-1"]) == 2


def test_probe_standard_input(clip):
    """TensorFlow's own messages at its import don't reach a user."""
    with open(clip, "rb") as file:
        done = tf_nvcodec("probe", "-", "--json", stdin=file)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout)[0]["num_frames"] == 48


def test_decode_npy(clip, frames, tmp_path, capsys):
    out, pts = tmp_path / "x.npy", tmp_path / "pts.npy"
    assert main(["decode", clip, str(out), "--pts", str(pts), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["shape"] == [48, 96, 160, 3]
    np.testing.assert_array_equal(np.load(out), frames)
    np.testing.assert_allclose(np.load(pts), np.arange(48) / 25, atol=1e-9)


def test_decode_in_blocks_is_the_same(clip, frames, tmp_path):
    out = tmp_path / "x.npy"
    # 1 MB holds 21 frames of 160x96 RGB.
    argv = ["decode", clip, str(out), "--memory", "1", "--start", "3", "--stride", "2"]
    assert main(argv) == 0
    np.testing.assert_array_equal(np.load(out), frames[3::2])


def test_decode_indices_and_timestamps(clip, frames, tmp_path):
    out = tmp_path / "x.npy"
    assert main(["decode", clip, str(out), "--indices=5,5,-1,0"]) == 0
    np.testing.assert_array_equal(np.load(out), frames[[5, 5, -1, 0]])
    assert main(["decode", clip, str(out), "--timestamps", "0:1:0.2", "--force"]) == 0
    np.testing.assert_array_equal(np.load(out), frames[[0, 5, 10, 15, 20]])


def test_a_range_of_times_ends_with_the_video(clip, clips, frames, tmp_path, capsys):
    out = tmp_path / "x.npy"
    assert main(["decode", clip, str(out), "--timestamps", "0:5:0.5"]) == 0
    np.testing.assert_array_equal(np.load(out), frames[[0, 12, 25, 37]])
    late = str(clips.path("h264_start_delay.mp4"))  # from 1.5 s on
    assert main(["decode", late, str(out), "--timestamps", "1.5:99:0.5", "--force"]) == 0
    seconds = len(clips.frames("h264_start_delay.mp4")) / 25
    assert len(np.load(out)) == np.ceil(seconds / 0.5)
    assert main(["decode", clip, str(out), "--timestamps", "2:5:0.5", "--force"]) == 1
    assert capsys.readouterr().err.endswith(
        "ends at 1.92 s, and no time of --timestamps is before\n"
    )
    assert main(["decode", clip, str(out), "--timestamps", "0,5", "--force"]) == 1


def test_an_error_names_its_file_once(clips, tmp_path, capsys):
    broken = str(clips.path("broken_h264.mp4"))
    for argv in (["decode", broken, "x.npy"], ["transcode", broken, "x.ts"]):
        assert main([*argv[:2], str(tmp_path / argv[2])]) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"tf-nvcodec: {broken}: frame 25 (1 s)")
        assert error.count(broken) == 1


def test_decode_options_reach_the_op(clip, tmp_path):
    out = tmp_path / "x.npy"
    argv = "--size 40x24 --crop 80x48+8+2 --resize-method area --dtype float32 --layout tchw"
    normal = "--mean 0.5,0.5,0.5 --std 0.25,0.25,0.25 --stop 4 --threads 1 --backend cpu"
    assert main(["decode", clip, str(out), *argv.split(), *normal.split()]) == 0
    expected = nvc.decode_video(
        Path(clip).read_bytes(),
        stop=4,
        size=(24, 40),
        crop=(2, 8, 48, 80),
        resize_method="area",
        dtype=tf.float32,
        layout="tchw",
        mean=[0.5] * 3,
        std=[0.25] * 3,
    ).frames
    np.testing.assert_array_equal(np.load(out), expected)


def test_decode_png(clip, frames, tmp_path, capsys):
    folder = tmp_path / "frames"
    assert main(["decode", clip, f"{folder}/f_%03d.png", "--stop", "3"]) == 0
    names = sorted(p.name for p in folder.iterdir())
    assert names == ["f_000.png", "f_001.png", "f_002.png"]
    image = tf.io.decode_png((folder / "f_002.png").read_bytes()).numpy()
    np.testing.assert_array_equal(image, frames[2])
    capsys.readouterr()
    assert main(["decode", clip, f"{folder}/f_%03d.png", "--stop", "3"]) == 1
    assert "exists already (use --force" in one_line_error(capsys)


def test_decode_refuses_to_replace(clip, tmp_path, capsys):
    out = tmp_path / "x.npy"
    out.write_bytes(b"mine")
    assert main(["decode", clip, str(out)]) == 1
    assert "exists already (use --force" in one_line_error(capsys)
    assert out.read_bytes() == b"mine"


def test_decode_bad_input_leaves_no_output(tmp_path, capsys):
    bad, out = tmp_path / "bad.mp4", tmp_path / "x.npy"
    bad.write_bytes(bytes(1000))
    assert main(["decode", str(bad), str(out)]) == 1
    assert one_line_error(capsys).startswith(f"tf-nvcodec: {bad}: ")
    assert [p.name for p in tmp_path.iterdir()] == ["bad.mp4"]


def test_decode_out_of_range(clip, tmp_path, capsys):
    assert main(["decode", clip, str(tmp_path / "x.npy"), "--start", "48"]) == 1
    assert "no frame in 48:" in one_line_error(capsys)
    assert main(["decode", clip, str(tmp_path / "x.npy"), "--indices", "48"]) == 1
    assert "48" in one_line_error(capsys)
    assert list(tmp_path.iterdir()) == []


def test_encode_lossless_npy(frames, tmp_path, capsys):
    source, out = tmp_path / "x.npy", tmp_path / "x.mkv"
    np.save(source, frames[:6])
    argv = ["encode", str(source), str(out), "--codec", "ffv1", "--fps", "30000/1001", "--json"]
    assert main(argv) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["frames"], result["codec"], result["container"]) == (6, "ffv1", "mkv")
    assert result["bytes"] == out.stat().st_size
    again = nvc.decode_video(out.read_bytes())
    np.testing.assert_array_equal(again.frames, frames[:6])
    assert float(nvc.probe(out.read_bytes()).fps) == pytest.approx(30000 / 1001, rel=1e-3)


def test_encode_png_folder(frames, clip, tmp_path):
    folder, out = tmp_path / "frames", tmp_path / "x.mp4"
    assert main(["decode", clip, str(folder)]) == 0
    assert main(["encode", str(folder), str(out), "--fps", "25", "--crf", "10", "--gop", "8"]) == 0
    again = nvc.decode_video(out.read_bytes()).frames.numpy()
    assert again.shape == frames.shape
    assert np.mean((again.astype(float) - frames) ** 2) < 30


def test_encode_16_bit_png(tmp_path):
    deep = np.random.default_rng(0).integers(0, 65536, (2, 16, 16, 3), np.uint16)
    for index, frame in enumerate(deep):
        tf.io.write_file(str(tmp_path / f"{index}.png"), tf.io.encode_png(frame))
    from tf_nvcodec.cli import frames_in, runtime

    class Args:
        input = str(tmp_path / "%d.png")
        input_format = None
        size = None

    np.testing.assert_array_equal(frames_in.read(runtime.load(), Args()).frames, deep)


def test_encode_y4m(clip, tmp_path):
    y4m, out = tmp_path / "x.y4m", tmp_path / "x.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-frames:v", "5", str(y4m)], check=True)
    assert main(["encode", str(y4m), str(out), "--codec", "ffv1"]) == 0
    stored = nvc.decode_video(Path(clip).read_bytes(), stop=5, pixel_format="native").frames
    again = nvc.decode_video(out.read_bytes(), pixel_format="native").frames
    np.testing.assert_array_equal(again, stored)


def test_encode_refuses_images_of_two_sizes(tmp_path, capsys):
    for name, side in (("0.png", 16), ("1.png", 32)):
        data = tf.io.encode_png(np.zeros((side, side, 3), np.uint8))
        tf.io.write_file(str(tmp_path / name), data)
    assert main(["encode", str(tmp_path / "%d.png"), str(tmp_path / "x.mp4")]) == 1
    assert "32x32 with 3 channels of uint8, but" in one_line_error(capsys)


def test_encode_refuses_other_dtypes(tmp_path, capsys):
    source = tmp_path / "x.npy"
    np.save(source, np.zeros((2, 16, 16, 3), np.float64))
    assert main(["encode", str(source), str(tmp_path / "x.mp4")]) == 1
    assert "dtype float64 is none of uint8" in one_line_error(capsys)


def test_encode_options_reach_the_encoder(frames, tmp_path):
    source, out = tmp_path / "x.npy", tmp_path / "x.mp4"
    np.save(source, frames[:4])
    argv = "--codec hevc --option x265-params=lossless=1 --pixel-format gbrp --preset ultrafast"
    assert main(["encode", str(source), str(out), *argv.split()]) == 0
    np.testing.assert_array_equal(nvc.decode_video(out.read_bytes()).frames, frames[:4])


def test_encode_refuses_what_the_codec_cannot_hold(tmp_path, capsys):
    source, out = tmp_path / "x.npy", tmp_path / "x.webm"
    np.save(source, np.zeros((2, 16, 16, 3), np.uint8))
    assert main(["encode", str(source), str(out), "--codec", "h264"]) == 1
    assert one_line_error(capsys).startswith(f"tf-nvcodec: {out}: ")
    assert not out.exists()


def test_transcode_keeps_samples_and_times(clip, tmp_path):
    out = tmp_path / "x.mkv"
    assert main(["transcode", clip, str(out), "--codec", "ffv1"]) == 0
    source = nvc.decode_video(Path(clip).read_bytes(), pixel_format="native")
    again = nvc.decode_video(out.read_bytes(), pixel_format="native")
    np.testing.assert_array_equal(again.frames, source.frames)
    np.testing.assert_allclose(again.pts, source.pts, atol=1e-3)


@pytest.mark.parametrize(
    ("extension", "crf"),
    [("ts", "10"), ("h264", "10"), ("hevc", "10"), ("obu", "10"), ("mjpeg", "1")],
)
def test_transcode_in_pieces(clip, frames, tmp_path, extension, crf):
    out = tmp_path / f"x.{extension}"
    argv = ["transcode", clip, str(out), "--memory", "1", "--crf", crf]
    assert main(argv) == 0
    again = nvc.decode_video(out.read_bytes())
    assert again.frames.shape == frames.shape
    assert np.mean((again.frames.numpy().astype(float) - frames) ** 2) < 40
    np.testing.assert_allclose(np.diff(again.pts), 1 / 25, atol=1e-4)
    heard = subprocess.run(
        ["ffmpeg", "-v", "warning", "-i", str(out), "-f", "null", "-"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    assert not re.search("corrupt|discontinu|error|DTS", heard, re.IGNORECASE), heard


def test_transcode_refuses_what_does_not_fit(clip, tmp_path, capsys):
    assert main(["transcode", clip, str(tmp_path / "x.mp4"), "--memory", "1"]) == 1
    assert "above --memory 1" in one_line_error(capsys)
    assert list(tmp_path.iterdir()) == []


def test_preview(clip, tmp_path, capsys):
    out = tmp_path / "sheet.png"
    argv = ["preview", clip, str(out), "--frames", "6", "--columns", "3", "--width", "64", "--json"]
    assert main(argv) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["indices"] == [4, 12, 20, 28, 36, 44]
    np.testing.assert_allclose(result["pts"], np.array(result["indices"]) / 25, atol=1e-9)
    sheet = tf.io.decode_png(out.read_bytes()).numpy()
    assert sheet.shape[1] == 3 * (64 + 8) + 8


def test_ctrl_c_leaves_nothing(tmp_path):
    clip = Path(__file__).resolve().parents[1] / "golden" / "media" / "bigbuckbunny_720p.mp4"
    command = ["-c", SCRIPT, "decode", clip, tmp_path / "frames", "--memory", "8"]
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with start(*command) as child:
            deadline = time.monotonic() + 200
            while not (tmp_path / "frames").exists():
                assert child.poll() is None, child.stderr.read()
                assert time.monotonic() < deadline
                time.sleep(0.02)
            child.send_signal(number)
            assert child.wait(100) == code
            assert "Traceback" not in child.stderr.read()
        assert list(tmp_path.iterdir()) == []


def test_ctrl_c_between_the_folders_leaves_nothing(tmp_path, monkeypatch):
    made = os.mkdir

    def interrupted_after(path, mode=0o777):
        made(path, mode)
        if ".tf-nvcodec-" in os.fspath(path):
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "mkdir", interrupted_after)
    with pytest.raises(KeyboardInterrupt), ImageFolder(str(tmp_path / "frames"), force=False):
        pass
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_does_not_wait_for_the_encoder(tmp_path):
    frames = np.random.default_rng(0).integers(0, 256, (200, 360, 640, 3), np.uint8)
    np.save(tmp_path / "noise.npy", frames)
    # A file appears when encode_video is called. To encode noise with preset placebo takes minutes.
    code = (
        "import sys; sys.argv[0] = 'tf-nvcodec'; from tf_nvcodec.cli import encode, main;"
        "begin = encode.encode;"
        "encode.encode = lambda *a: (open(a[1].output + '.begun', 'w').close(), begin(*a))[1];"
        "sys.exit(main())"
    )
    out = tmp_path / "x.mp4"
    slow = ["--preset", "placebo"]
    if "libx264" not in nvc.build_info()["ffmpeg"]["encoders"].split(","):
        slow = ["--codec", "av1", "--preset", "2"]
    command = ["-c", code, "encode", tmp_path / "noise.npy", out, *slow]
    with start(*command) as child:
        while not (tmp_path / "x.mp4.begun").exists():
            assert child.poll() is None, child.stderr.read()
            time.sleep(0.02)
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert child.wait(200) == 130
        assert time.monotonic() - began < 20
        assert child.stderr.read() == "tf-nvcodec: interrupted\n"
    assert not out.exists()


def test_debug_shows_the_traceback(tmp_path):
    done = run("-c", SCRIPT, "probe", tmp_path / "none.mp4", "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_closed_pipe_is_quiet(clip):
    with start("-c", SCRIPT, "probe", "--json", *[clip] * 20) as child:
        child.stdout.close()
        assert child.wait() == 1
        assert child.stderr.read() == ""


def test_doctor_json():
    done = run("-c", SCRIPT, "doctor", "--json")
    report = json.loads(done.stdout)
    found = {check["name"]: check for check in report["checks"]}
    assert done.returncode == 0, report
    assert report["ok"] is True
    assert found["TensorFlow"]["detail"] == tf.__version__
    assert found["op library"]["status"] == "ok"
    for name in ("libavformat", "libavcodec", "libavutil", "libswscale"):
        assert found[name]["detail"].startswith(nvc.build_info()[name]["run"])
    available, _ = nvc.is_available("nvdec", reason=True)
    assert found["NVDEC"]["status"] == ("ok" if available else "absent")


def test_doctor_where_tensorflow_is_broken(tmp_path):
    (tmp_path / "tensorflow.py").write_text("raise ImportError('broken on purpose')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = tf_nvcodec("doctor", PYTHONPATH=path)
    assert done.returncode == 1
    assert done.stderr == ""
    assert "broken on purpose" in done.stdout
    built_with = nvc.build_info()["tensorflow"]["build"]
    assert f"-> pip install --force-reinstall tensorflow=={built_with}\n" in done.stdout


def test_doctor_where_importing_crashes(tmp_path):
    (tmp_path / "tensorflow.py").write_text("import os; os.abort()\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = tf_nvcodec("doctor", PYTHONPATH=path)
    assert done.returncode == 1
    assert "ended the process with code -6" in done.stdout


def test_doctor_where_the_library_is_missing(tmp_path):
    done = run("-c", SCRIPT, "doctor", "--json", TF_NVCODEC_LIBRARY=str(tmp_path / "none.so"))
    assert done.returncode == 1
    found = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert found["TensorFlow"]["status"] == "ok"
    assert found["op library"]["status"] == "missing"
    assert "none.so" in found["op library"]["detail"]
    # A wheel that has FFmpeg inside runs where no other one is.
    if nvc.build_info()["ffmpeg"]["linked"] != "static":
        assert found["libavcodec"]["status"] == "ok"


def test_commands_say_when_the_library_is_missing(clip, tmp_path):
    done = run("-c", SCRIPT, "probe", clip, TF_NVCODEC_LIBRARY=str(tmp_path / "none.so"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "run `tf-nvcodec doctor`" in done.stderr


def test_transcode_from_a_clock_of_milliseconds(frames, tmp_path):
    """Matroska rounds even times to milliseconds. They count as even, so MP4 may have B-frames."""
    source, out = tmp_path / "x.mkv", tmp_path / "x.mp4"
    many = np.concatenate([frames] * 8)
    source.write_bytes(nvc.encode_video(many, 29.97, container="mkv").numpy())
    assert main(["transcode", str(source), str(out), "--codec", "h264", "--bf", "2"]) == 0
    video = nvc.decode_video(out.read_bytes())
    assert len(video.frames) == len(many)
    np.testing.assert_allclose(video.pts, np.arange(len(many)) * 1001 / 30000, atol=1e-6)


def test_export(tmp_path, clip, capsys):
    keras = tf.keras.Sequential([tf.keras.Input([8, 8, 3]), tf.keras.layers.Flatten()])
    keras.add(tf.keras.layers.Dense(2))
    network, model = str(tmp_path / "network.keras"), str(tmp_path / "model")
    keras.save(network)
    (tmp_path / "names.txt").write_text("cat\ndog\n")
    options = ["--clips", "3", "--values=-1,1", "--labels", str(tmp_path / "names.txt")]
    command = ["export", network, model, *options, "--top-k", "1", "--check", clip]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "3 x 1 frames of 8x8 from each video" in printed
    assert "a fresh process gives the same for 1 videos" in printed
    answer = tf.saved_model.load(model).signatures["serving_default"](
        contents=tf.constant([Path(clip).read_bytes()])
    )
    assert answer["labels"].numpy()[0, 0] in (b"cat", b"dog")
    assert main(command) == 1
    assert "is not empty (--force replaces it)" in one_line_error(capsys)
    assert main([*command, "--force", "--json", "--mean", "0.5"]) == 1
    assert "value_range and mean / std both" in one_line_error(capsys)
    assert main(["export", str(tmp_path / "none"), str(tmp_path / "new")]) == 1
    assert "no SavedModel there" in one_line_error(capsys)
    assert main(["export", network, model, "--values", "1"]) == 2
    assert "--values needs two numbers" in one_line_error(capsys)
