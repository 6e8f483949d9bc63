"""The folders that Triton loads, read as Triton reads them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import served_models
import tensorflow as tf
from golden_clips import Clips
from google.protobuf import text_format

import tf_nvcodec as nvc
from tf_nvcodec.cli.app import main
from tf_nvcodec.deploy.triton_repository import write_repository

model_config_pb2 = pytest.importorskip("tritonclient.grpc.model_config_pb2")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return served_models.export(tmp_path_factory.mktemp("exported") / "model")


def config_of(repository: Path, name: str) -> Any:
    text = (repository / name / "config.pbtxt").read_text()
    return text_format.Parse(text, model_config_pb2.ModelConfig())


def save(folder: Path, **shapes: Any) -> Path:
    """Writes a model whose outputs are its inputs."""

    class Same(tf.Module):
        pass

    module = Same()
    specs = [tf.TensorSpec(shape, dtype, name) for name, (shape, dtype) in shapes.items()]

    @tf.function(input_signature=specs)
    def run(*tensors: tf.Tensor) -> Any:
        return {f"same_{spec.name}": tf.identity(each) for spec, each in zip(specs, tensors)}

    module.run = run
    tf.saved_model.save(module, str(folder), run)
    return folder


def test_the_files_and_the_configuration(model: Path, tmp_path: Path, clips: Clips) -> None:
    clip = clips.path("h264.mp4")
    made = write_repository(
        model,
        tmp_path,
        "colors",
        max_batch=4,
        batches=2,
        instances=3,
        queue_delay=1.5,
        timeout=20,
        max_megabytes=2.5,
        warm_up=[clip],
        imports=["tf_nvcodec", "more"],
        python="/p",
    )
    assert made == tmp_path / "colors" / "1"
    assert {path.name for path in made.iterdir()} == {
        "__pycache__",
        "model.py",
        "model_process.py",
        "model.savedmodel",
        "version.json",
        "warm_up",
    }
    assert [path.read_bytes() for path in (made / "warm_up").iterdir()] == [clip.read_bytes()]
    assert [path.name for path in tmp_path.iterdir()] == ["colors"]
    config = config_of(tmp_path, "colors")
    assert (config.name, config.backend, config.max_batch_size) == ("colors", "python", 4)
    assert config.dynamic_batching.max_queue_delay_microseconds == 1500
    assert [group.count for group in config.instance_group] == [3]
    assert config.version_policy.latest.num_versions == 2
    (contents,) = config.input
    string = model_config_pb2.TYPE_STRING
    assert (contents.name, contents.data_type, list(contents.dims)) == ("contents", string, [1])
    assert not contents.HasField("reshape")
    assert json.loads((made / "version.json").read_text()) == {
        "signature": "serving_default",
        "imports": ["tf_nvcodec", "more"],
        "flat_inputs": ["contents"],
    }
    outputs = {each.name: (each.data_type, list(each.dims)) for each in config.output}
    assert outputs == {
        "color": (model_config_pb2.TYPE_FP32, [3]),
        "labels": (string, [2]),
        "pts": (model_config_pb2.TYPE_FP64, [4]),
        "scores": (model_config_pb2.TYPE_FP32, [2]),
        "status": (string, [1]),
    }
    assert {name: value.string_value for name, value in config.parameters.items()} == {
        "batches": "2",
        "timeout": "20",
        "max_bytes": "2500000",
        "python": "/p",
    }


def test_versions(model: Path, tmp_path: Path) -> None:
    write_repository(model, tmp_path, "colors")
    before = (tmp_path / "colors" / "config.pbtxt").stat()
    assert write_repository(model, tmp_path, "colors").name == "2"
    assert write_repository(model, tmp_path, "colors", version=7).name == "7"
    assert write_repository(model, tmp_path, "colors").name == "8"
    # A server that polls would load all versions again if the configuration were new.
    assert (tmp_path / "colors" / "config.pbtxt").stat() == before
    with pytest.raises(FileExistsError, match="has a version 7 already"):
        write_repository(model, tmp_path, "colors", version=7)
    other = save(tmp_path / "other", x=([None, 3], tf.float32))
    with pytest.raises(ValueError, match="have other inputs or outputs"):
        write_repository(other, tmp_path, "colors")
    assert write_repository(other, tmp_path, "other_name").name == "1"


def test_settings_stay_unless_others_are_given(model: Path, tmp_path: Path) -> None:
    write_repository(model, tmp_path, "colors", timeout=20, max_batch=4)
    write_repository(model, tmp_path, "colors", batches=3)
    config = config_of(tmp_path, "colors")
    told = {name: value.string_value for name, value in config.parameters.items()}
    assert (config.max_batch_size, told["timeout"], told["batches"]) == (4, "20", "3")


def test_batches_of_the_size_that_suits_the_model(model: Path, tmp_path: Path) -> None:
    ours = tmp_path / "model"
    nvc.export_video_model(
        lambda frames: tf.reduce_mean(frames, [1, 2]),
        ours,
        takes=tf.TensorSpec([None, 8, 8, 3]),
        clips_per_video=2,
        network_batches=[6, 32],
    )
    write_repository(ours, tmp_path, "first")
    assert config_of(tmp_path, "first").max_batch_size == 16
    # A conversion after the export knows better, and the user best.
    made = {"name": "serving_default", "shapes": [{"contents": [5]}]}
    record = {"spec": {"explicit_batch": False}, "signatures": [made]}
    (ours / "conversion.json").write_text(json.dumps(record))
    write_repository(ours, tmp_path, "second")
    assert config_of(tmp_path, "second").max_batch_size == 5
    write_repository(ours, tmp_path, "third", max_batch=2)
    assert config_of(tmp_path, "third").max_batch_size == 2
    # What the first version had stays.
    write_repository(ours, tmp_path, "third")
    assert config_of(tmp_path, "third").max_batch_size == 2
    write_repository(model, tmp_path, "any")
    assert config_of(tmp_path, "any").max_batch_size == 8
    (ours / "conversion.json").write_text("[]")
    with pytest.raises(ValueError, match="no record of a conversion"):
        write_repository(ours, tmp_path, "none")


def test_a_model_is_not_copied_into_itself(model: Path) -> None:
    with pytest.raises(ValueError, match="would be copied into itself"):
        write_repository(model, model, "a")
    with pytest.raises(ValueError, match="would be copied into itself"):
        write_repository(model, model.parent, model.name)


def test_every_dtype_and_unknown_dimensions(tmp_path: Path) -> None:
    dtypes = {"bool": "BOOL", "uint8": "UINT8", "int64": "INT64", "float16": "FP16"}
    dtypes.update({"bfloat16": "FP32", "float64": "FP64", "string": "STRING"})
    shapes = {name: ([None, None, 2], tf.as_dtype(name)) for name in dtypes}
    write_repository(save(tmp_path / "model", **shapes), tmp_path / "models", "same")
    config = config_of(tmp_path / "models", "same")
    for tensor in config.output:
        wanted = f"TYPE_{dtypes[tensor.name[5:]]}"
        assert model_config_pb2.DataType.Name(tensor.data_type) == wanted
        assert list(tensor.dims) == [-1, 2]


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"name": "a b"}, ValueError, "'a b' is no name for a model"),
        ({"name": ".."}, ValueError, "is no name"),
        ({"max_batch": 0}, ValueError, "max_batch must be positive, got 0"),
        ({"timeout": -1}, ValueError, "timeout must be positive"),
        ({"timeout": float("nan")}, ValueError, "timeout must be positive"),
        ({"queue_delay": -1}, ValueError, "queue_delay must not be negative"),
        ({"version": 0}, ValueError, "version must be positive"),
        ({"signature": "x"}, ValueError, "no signature 'x', only: frames, serving_default"),
        ({"warm_up": ["none.mp4"]}, FileNotFoundError, "none.mp4: no such file"),
        ({"warm_up": ["a"], "signature": "frames"}, ValueError, "one input, of strings"),
    ],
)
def test_wrong_arguments(
    model: Path, tmp_path: Path, arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        write_repository(model, tmp_path / "models", **{"name": "m", **arguments})
    assert not list((tmp_path / "models").glob("*/[0-9]*"))


@pytest.mark.parametrize(
    ("shape", "dtype", "says"),
    [
        ([4, 3], tf.float32, "'x' has the shape .4, 3.: a server batches requests"),
        ([], tf.float32, "a first dimension of any size"),
        ([None, 3], tf.complex64, "is complex64, which Triton does not have"),
    ],
)
def test_models_that_cannot_be_served(
    tmp_path: Path, shape: Any, dtype: tf.DType, says: str
) -> None:
    made = save(tmp_path / "model", x=(shape, dtype))
    with pytest.raises(ValueError, match=says):
        write_repository(made, tmp_path / "models", "m")
    with pytest.raises(FileNotFoundError, match="no SavedModel there"):
        write_repository(tmp_path / "nothing", tmp_path / "models", "m")


def test_the_command(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deploy = ["deploy", "triton", str(model), str(tmp_path / "models"), "--name", "colors"]
    assert main([*deploy, "--max-batch", "2", "--import", "more", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == {
        "version": str(tmp_path / "models" / "colors" / "1"),
        "command": ["tf-nvcodec", "serve", str(tmp_path / "models")],
    }
    config = config_of(tmp_path / "models", "colors")
    assert config.max_batch_size == 2
    version = tmp_path / "models" / "colors" / "1" / "version.json"
    assert json.loads(version.read_text())["imports"] == ["tf_nvcodec", "more"]
    assert config.parameters["python"].string_value == sys.executable
    assert main([*deploy, "--model-version", "1"]) == 1
    assert "has a version 1 already (give another --model-version)" in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "none")]) == 1
    assert "no such folder (write it with `tf-nvcodec deploy triton`)" in capsys.readouterr().err
