"""The examples run as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import fork_server
import pytest
import tensorflow as tf

import tf_nvcodec as nvc

ROOT = Path(__file__).resolve().parents[2]


def run(name: str, *args: object) -> str:
    return fork_server.printed_by(ROOT / "examples" / name, *args, timeout=800)


@pytest.mark.slow
def test_demo(tmp_path):
    printed = run("demo.py", "--out", tmp_path, "--quiet")
    assert re.search(r"decode +132 frames \(720, 1280, 3\) uint8, \d+\.\d frames/s", printed)
    assert re.search(r"encode +132 frames, H.264 in MP4, \d+ bytes, \d+\.\d frames/s", printed)
    assert float(re.search(r"PSNR +(\d+\.\d+) dB", printed)[1]) > 30
    assert int(nvc.probe((tmp_path / "reencoded.mp4").read_bytes()).num_frames) == 132
    sheet = tf.io.decode_png((tmp_path / "contact_sheet.png").read_bytes())
    assert sheet.shape[1] == 4 * (320 + 8) + 8


def test_demo_without_its_input(tmp_path):
    demo = ROOT / "examples" / "demo.py"
    done = fork_server.run(demo, "--input", "none.mp4", "--out", tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("demo: none.mp4: no such file\n")


def test_saved_model(clips, tmp_path):
    clip = clips.path("h264.mp4")
    lines = run("saved_model.py", clip, tmp_path / "model").splitlines()
    indices = [index * 48 // 8 for index in range(8)]
    frames = nvc.decode_frames_at(
        clip.read_bytes(), indices, size=(112, 112), dtype=tf.float32
    ).frames
    for line, index, color in zip(lines, indices, tf.reduce_mean(frames, [1, 2]).numpy()):
        expected = f"{index / 25:8.3f} s  mean RGB " + " ".join(f"{value:.3f}" for value in color)
        assert line == expected
    assert len(lines) == 8


@pytest.mark.slow
def test_bytes_to_labels(tmp_path):
    lines = run("bytes_to_labels.py", tmp_path).splitlines()
    named = [line.split() for line in lines if ".mp4" in line]
    assert len(named) == 6
    assert all(name.startswith(label) for name, label in named), named


def test_train(clips):
    clip = clips.path("h264.mp4")
    printed = run("train.py", clip, clip, "--steps", 3, "--batch-size", 2)
    assert re.search(r"loss \d+\.\d{4} after 3 steps", printed)


def test_nvdec_without_a_gpu(clips):
    """The example runs with --backend cpu, which works on any machine. On a machine with a GPU,
    tests/gpu/test_nvdec_example.py runs it with NVDEC."""
    clip = clips.path("h264.mp4")
    printed = run("nvdec.py", clip, clip, "--steps", 2, "--backend", "cpu")
    for way in ("tf.data decodes", "the step decodes"):
        assert re.search(rf"{way} +\d+\.\d clips/s, loss \d+\.\d{{4}}", printed)
    assert "decoder sessions    0 created" in printed


@pytest.mark.slow
@pytest.mark.timeout(900)  # Five processes start, one after another.
def test_distributed():
    lines = run("distributed.py").splitlines()
    assert lines[-1] == "every clip came exactly once, twice"
    undisturbed = lines.index("undisturbed")
    killed = lines.index("with a worker killed (SIGKILL) and started again")
    whole = r"  result    96 of 96 clips, 0 missing, 0 doubled, \d+\.\d s"
    assert re.fullmatch(whole, lines[killed - 1])
    assert re.fullmatch(whole, lines[-2])
    assert killed - undisturbed == 3  # The first reading is not disturbed and gives all clips.
    assert re.match(r"  killed    process \d+, after 32 clips", lines[killed + 1])
    came = [int(re.match(r"  reading \d (\d+) clips", line)[1]) for line in lines[killed + 2 : -2]]
    assert sum(came) == 96
