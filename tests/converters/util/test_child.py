"""Runs jobs in a child process: results, errors, ends by a signal, and Ctrl-C."""

from __future__ import annotations

import errno
import io
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import child_jobs
import pytest
from processes import is_running, wait_for

from converters.util import child
from converters.util.child import child_environment, environment_variables, run_in_child
from converters.util.errors import ConverterError, CrashError, EngineError

pytest_plugins = ["small_disk"]  # fixture full_disk

SUPPORT = Path(__file__).resolve().parents[1] / "support"


@pytest.fixture(autouse=True)
def kept_logs(tmp_path_factory, monkeypatch) -> Path:
    """The folder of temporary files, where the logs of failed children stay."""
    folder = tmp_path_factory.mktemp("kept")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_the_result_comes_back(tmp_path):
    log = tmp_path / "log"
    answer = run_in_child(child_jobs.double, {"value": 21}, log)
    assert answer["doubled"] == 42
    assert answer["pid"] != os.getpid()
    assert answer["path"] == [os.path.abspath(entry) for entry in sys.path]
    assert sorted(log.read_text().splitlines()) == ["to stderr", "to stdout"]
    assert run_in_child("child_jobs:double", {"value": 1})["doubled"] == 2


def test_a_module_in_the_working_folder_shadows_nothing(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    monkeypatch.chdir(tmp_path)
    assert run_in_child("child_jobs:double", {"value": 2})["doubled"] == 4


def test_the_child_s_memory_comes_in_huge_pages(monkeypatch):
    switch = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not switch.exists() or "[madvise]" not in switch.read_text():
        pytest.skip("this kernel does not give huge pages to those who ask")
    if tuple(map(int, platform.libc_ver()[1].split("."))) < (2, 35):
        pytest.skip("this glibc asks for none")
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    assert run_in_child("child_jobs:asks_for_huge_pages", {"size": 64 << 20}) is True
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=0")
    both = "glibc.malloc.check=0:glibc.malloc.hugetlb=1"
    assert run_in_child("child_jobs:tunables", {}) == both
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0")
    assert run_in_child("child_jobs:tunables", {}) == "glibc.malloc.hugetlb=0"
    assert run_in_child("child_jobs:asks_for_huge_pages", {"size": 64 << 20}) is False


def test_progress_that_nobody_reads_stops_no_child(monkeypatch):
    class Broken(io.StringIO):
        def write(self, text):
            raise BrokenPipeError(errno.EPIPE, "nobody reads")

    monkeypatch.setattr(sys, "stderr", Broken())
    # The notes of this job are more than a pipe holds, so someone must read them.
    assert run_in_child("child_jobs:show_much", {"notes": 2000}) == 2000


def test_progress_comes_on_stderr_and_not_in_the_log(tmp_path, capsys):
    run_in_child("child_jobs:show_progress", {"enabled": None}, tmp_path / "log")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert [line.split("] ")[1] for line in shown.err.splitlines()[:2]] == [
        "building (2) ...",
        "building: engine 1 of 2",
    ]
    assert "building: done in" in shown.err
    assert (tmp_path / "log").read_text() == ""
    run_in_child("child_jobs:show_progress", {"enabled": False})
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL])
def test_a_signal_ends_the_child_alone(number):
    with pytest.raises(ConverterError) as caught:
        run_in_child("child_jobs:end_by_signal", {"number": int(number)})
    # SIGKILL comes from outside, so it does not count as a crash.
    assert isinstance(caught.value, CrashError) == (number != signal.SIGKILL)
    message = str(caught.value)
    assert f"child_jobs:end_by_signal was ended by {number.name}" in message
    assert "TensorRT says: out of luck" in message
    assert ("memory" in message) == (number == signal.SIGKILL)


@pytest.mark.parametrize("named", [True, False])
def test_a_crash_leaves_its_whole_log(tmp_path, kept_logs, named):
    """The message has the last lines. TensorRT's crashes need all of them, when the temporary
    folders of a conversion are gone."""
    log = tmp_path / "work" / "log"
    log.parent.mkdir()
    with pytest.raises(CrashError, match="SIGABRT") as caught:
        run_in_child(child_jobs.abort, {"lines": 100}, log if named else None)
    shutil.rmtree(log.parent)
    (kept,) = kept_logs.iterdir()
    assert f"(all of it: {kept})" in str(caught.value) and kept.suffix == ".log"
    assert "line 50\n" not in str(caught.value)
    assert kept.read_text().splitlines()[:2] == ["line 0", "line 1"]
    assert "check failed" in kept.read_text()


@pytest.mark.parametrize(
    ("job", "kwargs"), [("child_jobs:refuse", {}), ("child_jobs:abort", {"lines": 3})]
)
def test_an_error_that_says_all_leaves_no_log(kept_logs, job, kwargs):
    with pytest.raises(ConverterError) as caught:
        run_in_child(job, kwargs)
    assert "all of it" not in str(caught.value) and not list(kept_logs.iterdir())


def test_a_log_that_a_full_disk_cannot_keep(tmp_path, full_disk, monkeypatch):
    (tmp_path / "log").write_text("check failed")
    monkeypatch.setattr(tempfile, "tempdir", str(full_disk))
    assert child._kept(tmp_path / "log") is None
    assert os.listdir(full_disk) == ["filler"]


def test_an_exit_without_a_result():
    with pytest.raises(CrashError, match="left with exit code 7 and no result"):
        run_in_child("child_jobs:leave", {"code": 7})


def test_converter_errors_keep_their_class():
    with pytest.raises(EngineError) as caught:
        run_in_child("child_jobs:refuse", {})
    assert str(caught.value) == "no engine for 3x3: build it"


@pytest.mark.parametrize(
    ("job", "says"),
    [
        ("child_jobs:fail", "ZeroDivisionError: a bug"),
        ("child_jobs:no_json", "TypeError: Object of type object is not JSON serializable"),
        ("child_jobs:not_there", "AttributeError"),
        ("not_there:at_all", "No module named 'not_there'"),
    ],
)
def test_a_bug_shows_its_traceback(job, says):
    with pytest.raises(ConverterError, match="Traceback") as caught:
        run_in_child(job, {})
    assert says in str(caught.value)
    assert type(caught.value) is ConverterError


@pytest.mark.parametrize(
    ("user_s", "together"),
    [
        (None, "segment=1,trt_engine_op=1"),
        ("", "segment=1,trt_engine_op=1"),
        ("convert_nodes=2,op=1", "segment=1,trt_engine_op=1,convert_nodes=2,op=1"),
        ("segment=3", "segment=3,trt_engine_op=1"),
        ("segment=0,trt_engine_op=", "segment=1,trt_engine_op=1"),
        # TensorFlow would take "op,segment" for one module.
        ("op,segment=2", "segment=2,trt_engine_op=1,op="),
    ],
)
def test_the_user_s_modules_log_too(user_s, together, monkeypatch):
    monkeypatch.delenv("TF_CPP_VMODULE", raising=False)
    if user_s is not None:
        monkeypatch.setenv("TF_CPP_VMODULE", user_s)
    ours = {"TF_CPP_VMODULE": "segment=1,trt_engine_op=1"}
    with environment_variables(ours):
        assert run_in_child(child_jobs.modules, {}) == together
    assert os.environ.get("TF_CPP_VMODULE") == user_s
    assert child_environment(**ours)["TF_CPP_VMODULE"] == together


def test_a_job_must_be_importable():
    with pytest.raises(ValueError, match="top of a module"):
        run_in_child(lambda: None, {})


@pytest.mark.parametrize(
    ("number", "listens"),
    [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGKILL, True)],
    ids=["ctrl-c", "ctrl-c, while the child does not listen", "killed"],
)
def test_the_child_ends_with_its_parent(tmp_path, number, listens):
    started, out = tmp_path / "started", tmp_path / "out"
    code = (
        f"import child_jobs; child_jobs.convert_and_hang({str(out)!r}, {str(started)!r}, {listens})"
    )
    paths = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    (tmp_path / "tmp").mkdir()
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths, "TMPDIR": str(tmp_path / "tmp")},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert wait_for(started.exists, 100)
        child, helper = map(int, started.read_text().split())
        assert is_running(child) and is_running(helper)
        parent.send_signal(number)
        _, said = parent.communicate(timeout=60)
    finally:
        parent.kill()
    assert wait_for(lambda: not is_running(child), 30)
    if number == signal.SIGKILL:
        os.kill(helper, signal.SIGKILL)  # A killed parent cannot end its helper.
        return
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert wait_for(lambda: not is_running(helper), 30)
    assert os.listdir(tmp_path / "tmp") == []
    assert sorted(os.listdir(tmp_path)) == ["started", "tmp"]
