"""Tests encode_video(backend=...): what "auto" and "nvenc" do with and without an NVENC."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from child_script import finished
from encoded import CONTAINERS, FAST, moving
from fork_server import run

import tf_nvcodec as nvc

FRAMES = moving(4, 64, 96)


@pytest.fixture
def no_nvenc() -> str:
    available, reason = nvc.is_available("nvenc", reason=True)
    if available:
        pytest.skip("this machine has an NVENC")
    return reason


@pytest.mark.parametrize("codec", CONTAINERS)
def test_auto_is_the_cpu_byte_for_byte(codec: str) -> None:
    def encode(backend: str) -> bytes:
        video = nvc.encode_video(
            FRAMES, 30, codec, "mkv", preset=FAST.get(codec), num_threads=1, backend=backend
        )
        return bytes(video.numpy())

    assert encode("auto") == encode("cpu")


_PLAIN = """
import os, sys, numpy as np, tf_nvcodec as nvc
frames = np.load(sys.argv[1])
for tried in "01":
    os.environ["TF_NVCODEC_EXPERIMENTAL_NVENC"] = tried
    sys.stderr.write(f"tried: {tried}\\n")
    for _ in range(3):
        video = nvc.encode_video(frames, num_threads=1).numpy()
    open(sys.argv[2] + tried, "wb").write(video)
"""


@pytest.mark.usefixtures("no_nvenc")
def test_auto_that_tries_nvenc_falls_back_and_says_so_once(tmp_path: Any) -> None:
    np.save(tmp_path / "frames.npy", FRAMES)
    # TensorFlow reads the log level once, so the calls run in a new process.
    done = finished(
        "-c", _PLAIN, tmp_path / "frames.npy", tmp_path / "video", TF_CPP_MIN_LOG_LEVEL="1"
    )
    _, untried, tried = done.stderr.split("tried: ")
    assert untried.count("encodes on the CPU, not with NVENC") == 0
    assert tried.count("encodes on the CPU, not with NVENC") == 1
    plain = nvc.encode_video(FRAMES, num_threads=1).numpy()
    for name in ("video0", "video1"):
        assert (tmp_path / name).read_bytes() == plain


def test_nvenc_without_one_says_what_is_missing_and_what_to_do(no_nvenc: str) -> None:
    for codec in ("h264", "hevc"):
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            nvc.encode_video(FRAMES, codec=codec, backend="nvenc", preset="p5", crf=20)
        assert f'backend="nvenc": {no_nvenc}' in caught.value.message
        assert 'backend="auto" or "cpu" encodes on the CPU' in caught.value.message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"codec": "vp9", "container": "mkv"}, "h264, hevc and av1, not vp9"),
        ({"preset": "p8"}, "p1 to p7; got"),
        ({"crf": 52}, "from 0 (best) to 51"),
        ({"options": {"gpu": 1}}, "sets the same as backend; give that"),
    ],
)
def test_nvenc_refuses(options: dict[str, Any], words: str) -> None:
    """These calls are errors, whether there is a GPU or not."""
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        nvc.encode_video(FRAMES, backend="nvenc", **options)
    assert words in caught.value.message


def test_the_command_line_passes_the_backend(no_nvenc: str, tmp_path: Any) -> None:
    np.save(tmp_path / "frames.npy", FRAMES)
    command = ["-m", "tf_nvcodec.cli", "encode", "frames.npy", "out.mp4"]
    done = run(*command, "--encoder", "nvenc", cwd=tmp_path)
    assert done.returncode == 1
    assert no_nvenc in done.stderr
    assert not (tmp_path / "out.mp4").exists()
    assert run(*command, "--encoder", "cpu", "-q", cwd=tmp_path).returncode == 0
    assert (tmp_path / "out.mp4").stat().st_size > 0


@pytest.mark.gpu
@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_on_a_gpu(codec: str) -> None:
    """If the GPU has an NVENC, the test decodes what it encodes. If not, the error names the
    GPU."""
    available, detail = nvc.is_available("nvenc", reason=True)
    frames = moving(30, 256, 320)
    if available and codec in detail.split(": ")[1].split(", "):
        for options in ({}, {"bf": 0, "gop": 10}, {"crf": 20}, {"bitrate": 2_000_000}):
            contents = nvc.encode_video(frames, codec=codec, backend="nvenc", **options)
            video = nvc.decode_video(contents, backend="cpu")
            assert video.frames.shape == frames.shape
            np.testing.assert_allclose(video.pts, np.arange(30) / 30, atol=1e-6)
            assert np.abs(video.frames.numpy().astype(int) - frames).mean() < 12
        return
    with pytest.raises((tf.errors.FailedPreconditionError, tf.errors.UnimplementedError)) as caught:
        nvc.encode_video(frames, codec=codec, backend="nvenc")
    named = "no NVENC on " in caught.value.message
    assert named or "libnvidia-encode" in caught.value.message or "av1" in caught.value.message
