"""The folder that TensorFlow Serving loads, read by TensorFlow Serving's own messages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import served_models
import tensorflow as tf
from golden_clips import Clips
from google.protobuf import text_format

from tf_nvcodec.cli.app import main
from tf_nvcodec.deploy.tf_serving import write_servable

prediction_log_pb2 = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return served_models.export(tmp_path_factory.mktemp("exported") / "model")


def models_of(folder: Path) -> dict[str, str]:
    from tensorflow_serving.config import model_server_config_pb2

    text = (folder / "models.config").read_text()
    config = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    assert all(
        each.model_platform == "tensorflow" and each.model_version_policy.latest.num_versions == 2
        for each in config.model_config_list.config
    )
    return {each.name: each.base_path for each in config.model_config_list.config}


def test_warm_up_requests(model: Path, tmp_path: Path, clips: Clips) -> None:
    videos = [clips.path("h264.mp4"), clips.path("av1.mp4")]
    made = write_servable(model, tmp_path, "colors", warm_up=videos)
    assert made == tmp_path / "colors" / "1"
    records = tf.data.TFRecordDataset(str(made / "assets.extra" / "tf_serving_warmup_requests"))
    served = tf.saved_model.load(str(made)).signatures["serving_default"]
    for record, video in zip(records, videos):
        request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        assert (request.model_spec.name, request.model_spec.signature_name) == (
            "colors",
            "serving_default",
        )
        given = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
        assert given["contents"].tolist() == [video.read_bytes()]
        answer = served(contents=tf.constant(given["contents"]))
        assert answer["status"].numpy().tolist() == [b""]


def test_configurations(model: Path, tmp_path: Path) -> None:
    write_servable(model, tmp_path, "a", base_path="/models/")
    write_servable(model, tmp_path, "b", max_batch=16, batches=3, queue_delay=2, version=5)
    assert write_servable(model, tmp_path, "b").name == "6"
    assert models_of(tmp_path) == {"a": "/models/a", "b": "/models/b"}
    assert (tmp_path / "batching_parameters.txt").read_text().splitlines()[:2] == [
        "max_batch_size { value: 16 }",
        "batch_timeout_micros { value: 2000 }",
    ]
    assert not (tmp_path / "a" / "1" / "assets.extra").exists()
    (tmp_path / "other").mkdir()
    sized = tmp_path / "sized"
    shutil.copytree(model, sized)
    (sized / "assets.extra").mkdir()
    (sized / "assets.extra" / "tf_nvcodec_batches.json").write_text('{"largest_batch": 5}')
    write_servable(sized, tmp_path / "other", "c")
    text = (tmp_path / "other" / "batching_parameters.txt").read_text()
    assert text.startswith("max_batch_size { value: 5 }")
    with pytest.raises(FileExistsError, match="has a version 5 already"):
        write_servable(model, tmp_path, "b", version=5)
    (tmp_path / "models.config").write_text("{")
    with pytest.raises(ValueError, match="is no configuration of models"):
        write_servable(model, tmp_path, "b")
    with pytest.raises(ValueError, match="at most 1000 warm-up requests"):
        write_servable(model, tmp_path, "b", warm_up=["x"] * 1001)
    with pytest.raises(ValueError, match="one input, of strings"):
        write_servable(model, tmp_path, "b", warm_up=["x"], signature="frames")


def test_without_the_package(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow_serving", None)
    assert main(["deploy", "tf-serving", str(model), str(tmp_path), "--name", "m"]) == 1
    assert f"pip install tensorflow-serving-api=={tf.__version__}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_command(model: Path, tmp_path: Path, clips: Clips, capsys: Any) -> None:
    deploy = ["deploy", "tf-serving", str(model), str(tmp_path), "--name", "m"]
    assert main([*deploy, "--base-path", "/models", "--warm-up", str(clips.path("h264.mp4"))]) == 0
    printed = capsys.readouterr().out
    assert "--model_config_file=/models/models.config --enable_batching" in printed
    assert "--batching_parameters_file=/models/batching_parameters.txt" in printed


@pytest.mark.slow
def test_a_cpp_server_without_python(model: Path, tmp_path: Path, clips: Clips) -> None:
    """Loads the folder as TensorFlow Serving does, with the ops linked in."""
    if shutil.which("g++") is None or not (ROOT / "scripts" / "bazel.sh").exists():
        pytest.skip("needs the sources and a compiler")
    good, bad = clips.path("h264.mp4"), tmp_path / "bad.mp4"
    bad.write_bytes(b"this is no video")
    made = write_servable(model, tmp_path / "models", "colors", warm_up=[good, good])
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run(
        [ROOT / "scripts" / "bazel.sh", "build", "//examples/cpp_server"],
        env=environment,
        check=True,
        capture_output=True,
    )
    program = ROOT / "build" / tf.__version__ / "bazel-bin" / "examples/cpp_server/cpp_server"
    for name in ("PYTHONPATH", "TF_NVCODEC_LIBRARY"):
        environment.pop(name, None)
    done = subprocess.run(
        [program, made],
        input=f"{good}\n{bad}\nnone.mp4\n",
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines[0][:2] == ["ready", "2 warm-up requests"]
    want = served_models.answers(model, [good.read_bytes()])
    assert lines[1][1] == b",".join(want["labels"][0]).decode()
    assert "is not a video container" in lines[2][1]
    assert lines[3][1] == "no such file"
    # Its library is not Python's, and Python is not in it.
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    assert "libtensorflow_cc" in linked
    assert "libpython" not in linked
    assert np.isfinite(float(lines[1][2].split()[0]))
    nothing = subprocess.run(
        [program, tmp_path], env=environment, capture_output=True, text=True, check=False
    )
    assert nothing.returncode == 1
    assert str(tmp_path) in nothing.stderr
