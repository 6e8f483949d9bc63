"""Runs conversions on a disk that is really full. copied_tftrt.py replaces TF-TRT, as in
test_convert.py, or TensorFlow saves the model again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from copied_models import SHAPES, Model, X, here, save

from converters import ConversionSpec
from converters.util.errors import OutputError

pytest_plugins = ["copied_tftrt", "small_disk"]  # fixtures tftrt, small_disk, full_disk

FULL = "out cannot be written: .*No space left on device.* MB are free there now.*Make room"


class Large(Model):
    """Has 2 MB of weights, more than the small disk holds."""

    def __init__(self) -> None:
        super().__init__()
        self.more = tf.Variable(np.ones((500, 1000), np.float32))


@pytest.mark.parametrize("saved", [False, True], ids=["files are copied", "TensorFlow saves"])
def test_the_output_s_disk(
    tmp_path: Path, tftrt: dict[str, Any], small_disk: Path, saved: bool
) -> None:
    source = save(tmp_path / "model", Large())
    older = small_disk / "older"
    older.mkdir()
    (older / "file").touch()
    if saved:
        tftrt["model"] = lambda spec: save(Path(tftrt["calls"][-1]["folder"]), Large())
    spec = ConversionSpec(input_shapes=SHAPES)
    with pytest.raises(OutputError, match=f"{small_disk}/{FULL}"):
        here(source, small_disk / "out", spec)
    assert os.listdir(small_disk) == ["older"]
    with pytest.raises(OutputError, match="older cannot be written"):
        here(source, older, spec, overwrite=True)
    assert os.listdir(small_disk) == ["older"] and os.listdir(older) == ["file"]


def test_the_disk_of_temporary_files(
    tmp_path: Path, tftrt: dict[str, Any], full_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = save(tmp_path / "model")
    monkeypatch.setattr("tempfile.tempdir", str(full_disk))
    says = f"{full_disk}/.*: cannot be written: .*No space left.*set TMPDIR to a folder with room"
    with pytest.raises(OutputError, match=says):
        here(source, tmp_path / "out", ConversionSpec("INT8"), calibration_data=[X[:4]])
    assert os.listdir(full_disk) == ["filler"] and not (tmp_path / "out").exists()
