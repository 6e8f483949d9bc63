"""Some files are no model, or not one that the command takes. The error names the file and says
why."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from copied_models import keras_file, save, session_graph

from converters.checks.runnable import FrozenGraph, load_signatures
from converters.cli import main
from converters.model.model_source import open_source
from converters.model.trt_graph import load_graph
from converters.util.errors import ModelError


def unfrozen(folder: Path) -> Path:
    graph, _ = session_graph(folder)
    path = folder / "unfrozen.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


@pytest.mark.parametrize("outputs", [None, ["y"]])
def test_a_graph_that_is_not_frozen(tmp_path: Path, outputs: Any) -> None:
    path = unfrozen(tmp_path)
    says = r"unfrozen\.pb has variables \(w.*\): it is not frozen\. Give its MetaGraph"
    with pytest.raises(ModelError, match=says):
        open_source(path, tmp_path / "work", outputs=outputs)
    with pytest.raises(ModelError, match=says):
        load_signatures(FrozenGraph(path, outputs))


def test_variables_that_no_output_needs(tmp_path: Path) -> None:
    path = unfrozen(tmp_path)
    graph = tf.compat.v1.GraphDef.FromString(path.read_bytes())
    graph.node.add(name="z", op="Relu", input=["x"]).attr["T"].type = tf.float32.as_datatype_enum
    path.write_bytes(graph.SerializeToString())
    assert load_signatures(FrozenGraph(path, ["z"]))


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 5 << 30)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (sparse, f"has {5 << 30} bytes; a protobuf of 2 GiB or more"),
        (os.mkfifo, "is no regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "is no regular file"),
        (Path.touch, "is empty"),
    ],
    ids=["sparse", "pipe", "device", "empty"],
)
def test_files_that_are_not_read(tmp_path: Path, make: Any, says: str) -> None:
    path = tmp_path / "graph.pb"
    make(path)
    with pytest.raises(ModelError, match=f"graph.pb {says}"):
        load_graph(path)


def test_text_that_is_nested_too_deeply(tmp_path: Path) -> None:
    path = tmp_path / "graph.pbtxt"
    deep = "func { attr { key: 'a' value { " * 2000
    path.write_text(f"node {{ attr {{ key: 'a' value {{ {deep} {'} } } ' * 2001} }}")
    with pytest.raises(ModelError, match="graph.pbtxt is no frozen GraphDef, or is damaged"):
        load_graph(path)


def unbuilt(path: Path) -> None:
    tf.keras.Sequential([tf.keras.layers.Dense(2)]).save(path)


def odd_input(path: Path) -> None:
    tf.keras.Sequential([tf.keras.Input((3,), name="a b c"), tf.keras.layers.Dense(2)]).save(path)


def cut_off(path: Path) -> None:
    data = keras_file(path).read_bytes()
    path.write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize(
    ("name", "make", "says"),
    [
        ("a.keras", unbuilt, r"cannot be exported by Keras .* Build the model"),
        ("a.keras", cut_off, r"is no Keras file, or is cut off \(\d+ bytes\)"),
        ("a.keras", lambda path: path.write_bytes(b"\x07" * 99), r"is no Keras file, .*\(99 b"),
        ("a.h5", lambda path: path.write_bytes(b"\x07" * 99), r"is no Keras file, .*\(99 b"),
    ],
)
def test_keras_files(tmp_path: Path, name: str, make: Any, says: str) -> None:
    make(tmp_path / name)
    with pytest.raises(ModelError, match=rf"{name} {says}"):
        open_source(tmp_path / name, tmp_path / "work")


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_an_input_that_no_argument_can_be(tmp_path: Path, suffix: str) -> None:
    odd_input(tmp_path / f"a{suffix}")
    try:
        found = open_source(tmp_path / f"a{suffix}", tmp_path / "work")
    except ModelError as error:
        assert f"a{suffix} cannot be exported by Keras" in str(error) and "names" in str(error)
    else:
        assert found.signatures


@pytest.mark.parametrize(
    "command", [["inspect", "a.keras"], ["extract-plan", "a.keras", "out"], ["verify", "m", "a.h5"]]
)
def test_commands_that_take_no_keras_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    save(tmp_path / "m")
    for name in ("a.keras", "a.h5"):
        keras_file(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert main(command) == 1
    said = capsys.readouterr().err
    assert "is a Keras file" in said and "export the model" in said


@pytest.mark.parametrize("command", [["inspect", "model.ckpt"], ["verify", "model.ckpt", "m"]])
def test_a_checkpoint_in_place_of_its_graph(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    session_graph(tmp_path)
    save(tmp_path / "m")
    monkeypatch.chdir(tmp_path)
    assert main(command) == 1
    assert "is a checkpoint: give its MetaGraph, model.ckpt.meta" in capsys.readouterr().err
