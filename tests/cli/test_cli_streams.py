"""The command line's standard streams: closed, empty, full or pipes. Names that are not UTF-8."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fork_server import run

from tf_nvcodec.cli import main

SCRIPT = "import sys; sys.argv[0] = 'tf-nvcodec'; from tf_nvcodec.cli import main; sys.exit(main())"


def tf_nvcodec(redirection: str, *args: object, **environment: str) -> subprocess.CompletedProcess:
    """`tf-nvcodec ARGS REDIRECTION`, as a shell does it."""
    return subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable, "-c", SCRIPT, *map(str, args)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        capture_output=True,
        check=False,
    )


@pytest.fixture
def clip(clips) -> str:
    """48 frames of 160x96."""
    return str(clips.path("h264.mp4"))


def one_line(stderr: bytes) -> str:
    assert stderr.count(b"\n") == 1, stderr
    return stderr.decode()


def test_a_full_disk_behind_stdout(clip):
    with open("/dev/full", "w") as full:
        done = run("-c", SCRIPT, "probe", clip, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "tf-nvcodec: standard output: No space left on device\n"


def test_nothing_on_stdin():
    empty = run("-c", SCRIPT, "probe", "-")
    closed = tf_nvcodec("<&-", "probe", "-")
    assert empty.returncode == closed.returncode == 1
    assert empty.stderr == "tf-nvcodec: standard input: is empty\n"
    assert one_line(closed.stderr) == empty.stderr


def test_closed_streams(clip, tmp_path):
    out = tmp_path / "x.npy"
    done = tf_nvcodec("<&- >&- 2>&-", "decode", clip, out, "--stop", 2)
    assert done.returncode == 0
    # The new file may get the number of a closed stream. Nothing is printed into it.
    assert np.load(out).shape == (2, 96, 160, 3)
    assert out.stat().st_size == 256 + np.load(out).nbytes


def test_a_filter(clip, tmp_path):
    options = ["--container", "ts", "--codec", "h264", "--stop", "5"]
    out = tmp_path / "out.ts"
    with open(clip, "rb") as file, open(out, "wb") as written:
        done = run("-c", SCRIPT, "transcode", "-", "-", *options, stdin=file, stdout=written)
    assert (done.returncode, done.stderr) == (0, "")
    assert out.read_bytes()[:1] == b"G"
    assert out.stat().st_size % 188 == 0


@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii:strict"])
def test_a_name_that_is_not_text(clip, tmp_path, encoding):
    name = os.fsdecode(b"caf\xe9.mp4")
    shutil.copy(clip, tmp_path / name)
    done = tf_nvcodec("", "probe", tmp_path / name, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    shown = b"caf\xe9.mp4" if encoding.startswith("utf") else b"caf\\udce9.mp4"
    assert os.fsencode(tmp_path) + b"/" + shown in done.stdout
    if encoding.startswith("utf"):
        # Quiet, because pytest-xdist can't send such a name with the test's output.
        out = str(tmp_path / f"{name}.npy")
        assert main(["decode", str(tmp_path / name), out, "--quiet"]) == 0
        assert (tmp_path / f"{name}.npy").exists()


def test_python_m_is_as_quiet_as_the_script(tmp_path):
    """The options are read before TensorFlow is imported, and a broken TensorFlow is reported."""
    (tmp_path / "tensorflow.py").write_text("raise ImportError('broken on purpose')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "tf_nvcodec.cli", "doctor", "--json"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(done.stdout)["ok"] is False


def test_what_is_no_array_is_one_line(tmp_path, capsys):
    good, out = str(tmp_path / "good.npy"), str(tmp_path / "out.mp4")
    np.save(good, np.zeros((2, 32, 32, 3), np.uint8))
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "bad.npy").write_bytes(b"x")
    (tmp_path / "short.npy").write_bytes(Path(good).read_bytes()[:200])
    for name in ("empty.npy", "bad.npy", "short.npy"):
        bad = str(tmp_path / name)
        for argv in ([bad, out], [good, out, "--pts", bad]):
            assert main(["encode", *argv]) == 1
            error = capsys.readouterr().err
            assert error.startswith(f"tf-nvcodec: {bad}: is not a whole .npy file"), error
    assert main(["encode", good, out, "--pts", str(tmp_path / "none.npy")]) == 1
    assert "none.npy: no such file" in capsys.readouterr().err
    assert not Path(out).exists()


def test_frames_without_their_times_are_not_left(clip, tmp_path, capsys):
    out = tmp_path / "x.npy"
    assert main(["decode", clip, str(out), "--pts", str(tmp_path / "no" / "t.npy")]) == 1
    assert "t.npy: the folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
