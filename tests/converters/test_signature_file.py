"""Names of signatures as names of files: each its own, and none leads elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from trt_graphs import SEGMENTED

from converters.report.event_files import write_event_files
from converters.report.inspect_model import inspect_model
from converters.segments.exclusions import RECORDED
from converters.util.paths import as_file_name, signature_of

ODD = ("../../ESC", "/tmp/x", "a/b", "a_b", "a%2Fb", ".", "..", "n\0l", "\u00e9\u4e2d", "100 %")


def test_every_name_is_one_component_and_comes_back() -> None:
    written = [as_file_name(name) for name in ODD]
    assert not any(set("/\0") & set(name) for name in written)
    assert not {".", ".."} & set(written)
    assert [signature_of(name) for name in written] == list(ODD)
    for plain in ("serving_default", "predict-2.x", "a b"):
        assert as_file_name(plain) == plain


def test_long_names_stay_apart(tmp_path: Path) -> None:
    first, second = (as_file_name("\u4e2d" * 400 + end) for end in "ab")
    assert first != second
    (tmp_path / f"left_out.{first}.csv").touch()


def renamed(folder: Path, name: str, source: str = "two_engines") -> Path:
    """A golden model whose signature has this name."""
    from tensorflow.core.protobuf import saved_model_pb2

    message = saved_model_pb2.SavedModel.FromString(
        (SEGMENTED / source / "saved_model.pb").read_bytes()
    )
    signatures = message.meta_graphs[0].signature_def
    signatures[name].CopyFrom(signatures["serving_default"])
    del signatures["serving_default"]
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(message.SerializeToString())
    return folder


@pytest.mark.parametrize("name", ["../../../ESC", "n\0l", "x" * 5000])
def test_event_files_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a" / "events"
    written = write_event_files(renamed(tmp_path / "a" / "model", name), folder)
    assert len(written) == 2
    for path in written:
        assert path.parent.parent.parent == folder and path.resolve().is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]


@pytest.mark.parametrize("name", ["a/b", "a_b", "\u4e2d" * 100])
def test_the_report_of_a_signature_is_its_own(tmp_path: Path, name: str) -> None:
    model = renamed(tmp_path / "model", name)
    row = "OP Name|Reason|Count\nCumsum|TF-TRT has it so|1\n"
    other = as_file_name("a_b" if name == "a/b" else "a/b")
    (model / f"left_out.{other}.csv").write_text(row.replace("has it so", "has it otherwise"))
    (model / f"left_out.{as_file_name(name)}.csv").write_text(row)
    (out,) = inspect_model(model, ask=False).left_out
    assert (out.reason, out.source) == ("TF-TRT has it so", RECORDED)
