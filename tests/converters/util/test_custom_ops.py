"""Models with ops that are not TensorFlow's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import child_script
import pytest
import tensorflow as tf

from converters import ConversionSpec
from converters.util.custom_ops import load_custom_ops, loaded_custom_ops
from converters.util.errors import SpecError


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that decodes video, whose other signature takes numbers."""
    import tf_nvcodec as nvc

    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def decode(self, contents: tf.Tensor) -> Any:
            return nvc.decode_clips(contents, 2, size=(8, 8)).frames

        @tf.function(input_signature=[tf.TensorSpec([None, 4])])
        def double(self, x: tf.Tensor) -> Any:
            return 2 * x

    made = Model()
    folder = tmp_path_factory.mktemp("custom") / "model"
    tf.saved_model.save(made, str(folder), {"serving_default": made.decode, "double": made.double})
    return folder


def verify(model: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Compares the model with itself in a process that has not imported tf_nvcodec."""
    command = [sys.executable, "-m", "converters", "verify", str(model), str(model)]
    command += ["--signature", "double", "--shape", "x:3x4", "--no-check-engines", *options]
    return subprocess.run(
        command, env=child_script.environment(), capture_output=True, text=True, check=False
    )


def test_the_error_names_the_op_and_the_options(model: Path) -> None:
    done = verify(model)
    assert done.returncode == 1
    assert "has the op 'VideoDecodeClips', which TensorFlow does not know" in done.stderr
    assert "--import module" in done.stderr
    assert "--op-library ops.so" in done.stderr
    assert "cut off" not in done.stderr


@pytest.mark.slow
def test_an_import_reaches_child_processes(model: Path) -> None:
    done = verify(model, "--import", "tf_nvcodec", "--separate-processes")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_an_op_library_reaches_child_processes(model: Path) -> None:
    from tf_nvcodec.python import loader

    library = loader.library_path()
    done = verify(model, "--op-library", str(library), "--separate-processes")
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    before = loaded_custom_ops()
    with pytest.raises(SpecError, match="--import no_such_module. cannot be imported"):
        load_custom_ops(["no_such_module"])
    (tmp_path / "empty.so").write_bytes(b"")
    with pytest.raises(SpecError, match="--op-library. cannot be loaded"):
        load_custom_ops(op_libraries=[str(tmp_path / "empty.so")])
    assert loaded_custom_ops() == before


def test_the_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = ConversionSpec(imports=["tf_nvcodec", "a.b"], op_libraries=["ops.so"]).resolved()
    assert spec.imports == ("tf_nvcodec", "a.b")
    assert spec.op_libraries == (str(tmp_path / "ops.so"),)
    assert ConversionSpec.from_json(spec.to_json()).resolved() == spec
    with pytest.raises(SpecError, match="'a b' is no Python module"):
        ConversionSpec(imports=["a b"]).resolved()
