"""An output folder appears complete or not at all, and replaces nothing unasked."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from converters.util.errors import EngineError, OutputError
from converters.util.outputs import new_output

pytest_plugins = ["small_disk"]


def files_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_folder_appears_at_the_end(tmp_path):
    out = tmp_path / "out"
    with new_output(out) as folder:
        assert folder.parent == tmp_path and not out.exists()
        (folder / "assets").mkdir()
        (folder / "assets" / "a").write_text("1")
    assert files_of(out) == {"assets/a": "1"}
    assert os.listdir(tmp_path) == ["out"]
    umask = os.umask(0o22)
    os.umask(umask)
    assert out.stat().st_mode & 0o777 == 0o777 & ~umask


@pytest.mark.parametrize("failure", [KeyboardInterrupt, EngineError, ZeroDivisionError, SystemExit])
def test_a_failure_leaves_nothing(tmp_path, failure):
    with pytest.raises(failure), new_output(tmp_path / "above" / "out") as folder:
        (folder / "half").write_text("half")
        raise failure("in the middle")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt, EngineError])
def test_overwriting_keeps_the_old_until_success(tmp_path, failure):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").write_text("old")
    with pytest.raises(failure), new_output(out, overwrite=True) as folder:
        (folder / "a").write_text("new")
        assert files_of(out) == {"a": "old"}
        raise failure("in the middle")
    assert files_of(out) == {"a": "old"}
    with new_output(out, overwrite=True) as folder:
        (folder / "b").write_text("new")
    assert files_of(out) == {"b": "new"}
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("how", ["denied", "a loop of links"])
def test_a_place_that_cannot_be_looked_at(tmp_path, monkeypatch, how):
    if how == "denied":  # Root may look anywhere, so the error is made up.

        def denied(self: Path) -> None:
            raise PermissionError(13, "Permission denied", str(self))

        (tmp_path / "out").mkdir()
        monkeypatch.setattr(Path, "iterdir", denied)
    else:
        (tmp_path / "out").symlink_to("out")
    with (
        pytest.raises(OutputError, match="out"),
        new_output(tmp_path / "out", overwrite=True),
    ):
        pass


@pytest.mark.parametrize("last", [1, 2])
def test_ctrl_c_while_the_old_is_replaced(tmp_path, monkeypatch, last):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").write_text("old")
    renames = []
    real = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        renames.append(target)
        moved = real(self, target)
        if len(renames) == last:
            raise KeyboardInterrupt
        return moved

    with pytest.raises(KeyboardInterrupt), new_output(out, overwrite=True) as folder:
        (folder / "a").write_text("new")
        monkeypatch.setattr(Path, "rename", interrupted)
    # new_output renames twice. If Ctrl-C comes after the first rename, the old output comes back.
    # If it comes after the second one, the new output stays.
    assert files_of(out) == {"a": "old" if last == 1 else "new"}
    assert os.listdir(tmp_path) == ["out"]


def test_an_old_output_that_cannot_be_put_back_is_not_lost(tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").write_text("old")
    renames = []
    real = Path.rename

    def failing(self: Path, target: Path) -> Path:
        renames.append(target)
        if len(renames) > 1:
            raise PermissionError(errno.EACCES, "Permission denied", str(target))
        return real(self, target)

    with pytest.raises(OSError), new_output(out, overwrite=True):
        monkeypatch.setattr(Path, "rename", failing)
    (kept,) = tmp_path.rglob("a")
    assert kept.read_text() == "old"


def test_an_existing_output_is_refused_before_anything_runs(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with new_output(out) as folder:  # An empty folder counts as no output.
        (folder / "a").write_text("1")
    with pytest.raises(OutputError, match=r"out exists already: .*--overwrite"), new_output(out):
        pytest.fail("the block ran")
    assert files_of(out) == {"a": "1"}
    with pytest.raises(OutputError, match="a is a file"), new_output(out / "a", overwrite=True):
        pytest.fail("the block ran")


def test_an_output_that_appears_meanwhile_is_kept(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(OutputError, match="meanwhile"), new_output(out) as folder:
        (folder / "a").write_text("mine")
        out.mkdir()
        (out / "b").write_text("theirs")
    assert files_of(out) == {"b": "theirs"}
    assert os.listdir(tmp_path) == ["out"]


def test_the_working_folder_is_not_overwritten(tmp_path, monkeypatch):
    (tmp_path / "work" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work" / "deep")
    refused = pytest.raises(OutputError, match="holds the working folder")
    with refused, new_output(tmp_path / "work", overwrite=True):
        pytest.fail("the block ran")


def test_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    with new_output(tmp_path / "link" / "out") as folder:
        (folder / "a").write_text("1")
    assert files_of(tmp_path / "disk" / "out") == {"a": "1"}


def test_an_unwritable_place(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"), new_output(tmp_path / "file/out"):
        pytest.fail("the block ran")


def test_errors_of_other_files_pass_through(tmp_path):
    with pytest.raises(FileNotFoundError), new_output(tmp_path / "out"):
        (tmp_path / "not there").read_text()


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        # tf.errors.ResourceExhaustedError has such a message.
        RuntimeError("out/variables/variables.data-0; No space left on device [Op:SaveV2]"),
        # Copying a folder such as assets.extra raises this.
        shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")]),
    ],
)
def test_what_a_full_disk_says(tmp_path, error):
    says = r"out cannot be written.*MB are free.*Make room"
    with pytest.raises(OutputError, match=says), new_output(tmp_path / "out"):
        raise error
    assert os.listdir(tmp_path) == []


def test_temporary_files_on_a_full_disk(small_disk, tmp_path, monkeypatch):
    """The disk of the output has room, but that of the temporary files is full."""
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    with pytest.raises(OutputError) as raised, new_output(tmp_path / "out"):
        (small_disk / "exported").write_bytes(bytes(2_000_000))
    assert f"and 0 MB in {small_disk}, where temporary files are" in str(raised.value)
    assert "or set TMPDIR to a folder with room" in str(raised.value)


def test_a_disk_that_is_really_full(small_disk):
    full = pytest.raises(OutputError, match="No space left on device")
    with full, new_output(small_disk / "out") as folder:
        (folder / "first").write_bytes(bytes(500_000))
        (folder / "second").write_bytes(bytes(1_000_000))
    assert os.listdir(small_disk) == []
    assert os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_bsize > 900_000
