"""Models of bytes with TensorRT engines, converted before or after the export."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from golden_clips import Clips
from gpu_conversions import run
from make_clips import ensure_clips

import tf_nvcodec as nvc
from converters import ConversionSpec, convert
from converters.cli import main
from converters.spec.thresholds import default_thresholds

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

GARBAGE = b"this is no video"
NAMES = ("h264.mp4", "hevc_open_gop.mkv", "vp9.webm")
FRAMES = 4  # of a video


def data(name: str) -> bytes:
    return Clips(ensure_clips()).data(name)


class Classes(tf.Module):
    """A small network with two convolutions, on images or clips."""

    def __init__(self, clips: bool) -> None:
        super().__init__()
        self.clips = clips
        draw = tf.random.stateless_normal
        self.first = tf.Variable(draw([3] * (2 + clips) + [3, 16], [1, 2]) / 5)
        self.second = tf.Variable(draw([3] * (2 + clips) + [16, 16], [3, 4]) / 12)
        self.scores = tf.Variable(draw([16, 10], [5, 6]))
        frames = [FRAMES, 64, 64, 3] if clips else [64, 64, 3]
        self.serve = tf.function(
            self._serve, input_signature=[tf.TensorSpec([None, *frames], tf.float32, "frames")]
        )

    def _serve(self, frames: tf.Tensor) -> dict[str, tf.Tensor]:
        convolution = tf.nn.conv3d if self.clips else tf.nn.conv2d
        strides = [1, 1, 2, 2, 1] if self.clips else 2
        x = tf.nn.relu(convolution(frames, self.first, strides, "SAME"))
        x = tf.nn.relu(convolution(x, self.second, strides, "SAME"))
        x = tf.reduce_mean(x, [1, 2, 3] if self.clips else [1, 2])
        return {"scores": tf.matmul(x, self.scores)}


def saved(folder: Path, clips: bool = False) -> Path:
    module = Classes(clips)
    tf.saved_model.save(module, str(folder), signatures=module.serve)
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    for name in NAMES:
        (folder / name).write_bytes(data(name))
    return folder


def export(network: Path, folder: Path, clips: bool = False, **options: Any) -> Path:
    how = {"clips_per_video": 1 if clips else FRAMES, **options}
    nvc.export_video_model(network, folder, **how)
    return folder


def spec_of(precision: str, *videos: int, **options: Any) -> ConversionSpec:
    return ConversionSpec(
        precision,
        input_shapes=[{"contents": (count,)} for count in videos] or None,
        imports=["tf_nvcodec"],
        minimum_segment_size=2,
        # The network is not trained, so its best classes nearly tie.
        thresholds=default_thresholds(precision, generated=True),
        **options,
    )


def check_answers(native: Path, converted: Path, videos: int) -> None:
    """Compares the engines' answers, with a broken video among them, with the network's own."""
    contents = np.array([*(data(name) for name in NAMES), GARBAGE][-videos:], object)
    want, got = (run(folder, contents=contents) for folder in (native, converted))
    assert got["status"].tolist() == want["status"].tolist() and got["status"][-1]
    np.testing.assert_array_equal(got["pts"], want["pts"])
    scale = np.abs(want["scores"]).max()
    np.testing.assert_allclose(got["scores"], want["scores"], atol=0.03 * scale)
    assert not got["scores"][-1].any() and got["scores"][:-1].any()


@pytest.mark.parametrize("clips", [False, True], ids=["images", "clips"])
def test_a_model_of_bytes_is_converted(tmp_path: Path, files: Path, clips: bool) -> None:
    source = export(saved(tmp_path / "network", clips), tmp_path / "bytes", clips)
    report = convert(source, tmp_path / "out", spec_of("FP16", 3, 4), build_data=str(files))
    assert report.fresh.passed and report.verification.passed
    signatures = {signature.name: signature for signature in report.signatures}
    assert signatures["serving_default"].engines
    assert signatures["frames"].converter == "native"
    assert [run.shapes["contents"] for run in report.fresh.runs] == [(4,), (3,)]
    assert all(run.engines and not run.native for run in report.fresh.runs)
    check_answers(source, tmp_path / "out", 4)


def test_on_the_shell_without_shapes(tmp_path: Path, files: Path) -> None:
    source = export(saved(tmp_path / "network"), tmp_path / "bytes")
    command = ["convert", str(source), str(tmp_path / "out"), "--import", "tf_nvcodec"]
    command += ["--precision", "fp16", "--minimum-segment-size", "2", "--quiet"]
    command += ["--build-data", str(files), "--threshold", "top1=none", "--threshold", "top5=none"]
    assert main(command) == 0
    assert (tmp_path / "out" / "repeat.sh").read_text().count("--build-data") == 2


def test_int8_is_calibrated_on_videos(tmp_path: Path, files: Path) -> None:
    source = export(saved(tmp_path / "network"), tmp_path / "bytes")
    spec = spec_of("INT8", signatures=["serving_default"], require_int8=False)
    report = convert(source, tmp_path / "out", spec, calibration_data=str(files))
    assert report.fresh.passed and report.verification.passed
    assert report.calibration is not None
    assert [run.shapes for run in report.fresh.runs] == [{"contents": (1,)}]


def test_engines_inside_an_export_are_proved(tmp_path: Path) -> None:
    network = saved(tmp_path / "network")
    shapes = [{"frames": (FRAMES, 64, 64, 3)}]
    convert(network, tmp_path / "engines", ConversionSpec("FP16", input_shapes=shapes))
    videos = [data(name) for name in NAMES]
    # A process can load engines once, so each export has its own.
    report = exported_by_a_child(tmp_path / "engines", tmp_path / "bytes", videos[:1])
    assert report.returncode == 0, report.stderr[-3000:]
    # The engine is for one video: the frames of more run one after the other.
    report = exported_by_a_child(tmp_path / "engines", tmp_path / "split", videos)
    assert report.returncode == 0, report.stderr[-3000:]
    whole = "network_batches=[]"
    report = exported_by_a_child(tmp_path / "engines", tmp_path / "two", videos[:2], whole)
    assert report.returncode != 0
    assert "TensorFlow runs instead of TRTEngineOp" in report.stderr
    assert not (tmp_path / "two").exists()


def exported_by_a_child(
    network: Path, folder: Path, videos: list[bytes], *options: str
) -> subprocess.CompletedProcess[str]:
    videos_folder = folder.with_suffix(".videos")
    videos_folder.mkdir()
    for index, video in enumerate(videos):
        (videos_folder / f"{index}").write_bytes(video)
    code = "import pathlib, sys, tf_nvcodec as nvc; network, folder, videos, count = sys.argv[1:]; "
    code += "check = [p.read_bytes() for p in sorted(pathlib.Path(videos).iterdir())]; "
    arguments = ", ".join(["clips_per_video=int(count)", "check=check", *options])
    code += f"nvc.export_video_model(network, folder, {arguments})"
    command = [sys.executable, "-c", code, str(network), str(folder), str(videos_folder)]
    return subprocess.run([*command, str(FRAMES)], capture_output=True, text=True, check=False)


def test_requests_run_together_in_engines(tmp_path: Path) -> None:
    network = saved(tmp_path / "network")
    # Profiles for 1 and 3 videos alone: a batch of 2 is filled up.
    shapes = [{"frames": (FRAMES * count, 64, 64, 3)} for count in (1, 3)]
    spec = ConversionSpec("FP16", input_shapes=shapes, profile_strategy="Optimal")
    convert(network, tmp_path / "engines", spec)
    videos = [data(name) for name in NAMES]
    report = exported_by_a_child(tmp_path / "engines", tmp_path / "checked", videos[:2])
    assert report.returncode == 0, report.stderr[-3000:]
    made = export(tmp_path / "engines", tmp_path / "bytes")
    note = json.loads((made / "assets.extra" / "tf_nvcodec_batches.json").read_text())
    assert note == {"largest_batch": 3}
    native = export(network, tmp_path / "native")
    contents = np.array([data(name) for name in NAMES], object)
    want = run(native, contents=contents)["scores"]
    got = by_threads(made, list(contents) * 8)
    np.testing.assert_allclose(got, np.tile(want, (8, 1)), atol=0.03 * np.abs(want).max())


def by_threads(folder: Path, contents: list[bytes]) -> np.ndarray:
    """The scores of each video, asked for by eight threads."""
    model = tf.saved_model.load(str(folder))
    serve = model.signatures["serving_default"]

    def ask(video: bytes) -> np.ndarray:
        return serve(contents=tf.constant([video]))["scores"].numpy()

    with ThreadPoolExecutor(8) as threads:
        return np.concatenate(list(threads.map(ask, contents)))
