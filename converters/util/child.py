"""Child processes and their environment variables.

Jobs that use TensorRT run in a child process, so that an abort inside TensorRT does not end the
caller.
"""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any, TextIO

from converters.util import errors, progress
from converters.util.custom_ops import load_custom_ops, loaded_custom_ops
from converters.util.errors import ConverterError, CrashError, OutputError

# After Ctrl-C the child has this long to tidy up. A build inside TensorRT does not react, and is
# killed then.
_GRACE_S = 3.0
_LOOK_S = 0.5
_TAIL_LINES = 20
# Signals from outside: from the user, or from a system that runs out of memory.
_SENT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
_INTERRUPTED = 130

# The child finds this package where the parent found it, whatever PYTHONPATH says.
_BOOT = """\
import sys
sys.path[:] = filter(None, sys.path)  # a json.py in the working folder is not meant
import json
job = json.load(open(sys.argv[1]))
sys.path[:] = job["sys_path"]
from converters.util.child import run_job
code = run_job(job)
sys.stdout.flush()
sys.stderr.flush()
import os
os._exit(code)  # TensorFlow and CUDA take seconds to tidy up what ends with the process anyway
"""


def run_in_child(
    job: Callable[..., Any] | str,
    kwargs: Mapping[str, Any],
    log: str | os.PathLike[str] | None = None,
    keep_log: Callable[[], bool] = lambda: True,
) -> Any:
    """Calls `job` with `kwargs` in a new process and returns its result; both must be JSON.

    `job` is a function at the top of a module, or "module:function". The child has this
    process's sys.path, custom ops and child_environment(). Its `Progress` is shown on this
    process's stderr; everything else that it prints goes to the file `log`. When this process is
    interrupted or ends, the child ends too. The caller removes what the child has half written
    (see new_output). `keep_log` is asked when the child has failed: False leaves no log behind, for
    a caller that drops the error.

    Raises:
      ConverterError: the child's own error, of the same class. If the child ends in another way,
        the error names the cause and shows the log's last lines. If there are more, it names a
        temporary file with all of them, which stays. It is a CrashError if the child crashed: not
        if the job raised, nor if a signal came from outside.
    """
    name = _job_name(job)
    with tempfile.TemporaryDirectory(prefix="trt-convert-") as work:
        log_path = Path(log) if log is not None else Path(work) / "log"
        job_path = Path(work) / "job.json"
        result_path = Path(work) / "result.json"
        # The child sends its progress through a pipe, because stderr is no file in a notebook.
        read, write = os.pipe()
        with open(read, "rb", buffering=0) as shown, open(write, "wb", buffering=0) as sends:
            described = {
                "job": name,
                "kwargs": dict(kwargs),
                "sys_path": [os.path.abspath(entry) for entry in sys.path],
                "result": str(result_path),
                "progress": sends.fileno(),
                "terminal": sys.stderr is not None and sys.stderr.isatty(),
                "parent": os.getpid(),
                "custom_ops": loaded_custom_ops(),
            }
            try:
                job_path.write_text(json.dumps(described), encoding="utf-8")
            except OSError as error:
                raise OutputError(
                    f"{job_path} cannot be written: {error.strerror}. Set TMPDIR to a folder with "
                    "room"
                ) from error
            code = _run(job_path, log_path, shown, sends)
        answer = json.loads(result_path.read_text(encoding="utf-8")) if result_path.exists() else {}
        if "result" in answer:
            return answer["result"]
        raise _failure(name, code, answer, log_path, keep_log)


def _job_name(job: Callable[..., Any] | str) -> str:
    if isinstance(job, str):
        return job
    if job.__module__ == "__main__" or "." in job.__qualname__:
        raise ValueError(f"{job.__qualname__} is no function at the top of a module to import")
    return f"{job.__module__}:{job.__qualname__}"


def _run(job_path: Path, log_path: Path, shown: FileIO, sends: FileIO) -> int:
    columns = shutil.get_terminal_size().columns
    with open(log_path, "wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-c", _BOOT, str(job_path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(sends.fileno(),),
            env=child_environment(COLUMNS=str(columns)),
            # Ctrl-C at the terminal reaches only this process, which then ends the child.
            start_new_session=True,
        )
    sends.close()
    screen = threading.Thread(target=_relay, args=(shown,), daemon=True)
    screen.start()
    try:
        code = _wait(child)
    except BaseException:
        _stop(child)
        raise
    finally:
        screen.join(timeout=1.0)
    return code


def _wait(child: subprocess.Popen[bytes]) -> int:
    """Waits in short steps: a Ctrl-C that another thread receives does not wake this one."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(_LOOK_S)


def _relay(shown: FileIO) -> None:
    """Copies what the child's Progress writes to stderr, piece by piece, as bars need it."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with contextlib.suppress(OSError, ValueError):
        while piece := shown.read(4096):
            # The child waits until the pipe is read: go on reading when stderr takes no more.
            with contextlib.suppress(OSError, ValueError):
                if sys.stderr is not None:
                    sys.stderr.write(decoder.decode(piece))
                    sys.stderr.flush()


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Ends the child and the processes it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGINT)
    try:
        child.wait(timeout=_GRACE_S)
    except BaseException:  # a second Ctrl-C among them
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _failure(
    name: str,
    code: int,
    answer: Mapping[str, Any],
    log_path: Path,
    keep_log: Callable[[], bool],
) -> ConverterError:
    if "error" in answer:
        kind = getattr(errors, answer["error"], ConverterError)
        found: ConverterError = kind(answer["message"])
        return found
    crashed = "unexpected" not in answer and code != _INTERRUPTED
    if code < 0:
        crashed = -code not in _SENT
        try:
            ended = f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            ended = f"was ended by signal {-code}"
        if -code == signal.SIGKILL:
            ended += " (the system does that to a process that takes too much memory)"
    elif "unexpected" in answer:
        ended = f"failed: {answer['unexpected']}"
    else:
        ended = f"left with exit code {code} and no result"
    lines = log_path.read_text(errors="replace").splitlines()
    tail = lines[-_TAIL_LINES:]
    kept = _kept(log_path) if len(lines) > len(tail) and keep_log() else None
    where = f" (all of it: {kept})" if kept else ""
    said = "; the last that it said" + where + ":\n  " + "\n  ".join(tail) if tail else ""
    kind = CrashError if crashed else ConverterError
    return kind(f"the child process of {name} {ended}{said}")


def _kept(log_path: Path) -> str | None:
    """A copy of the log that stays: the folder of the log goes when the caller's work ends. None if
    it cannot be written."""
    try:
        number, kept = tempfile.mkstemp(prefix="trt-convert-", suffix=".log")
    except OSError:
        return None
    os.close(number)
    try:
        shutil.copyfile(log_path, kept)
    except OSError:
        os.unlink(kept)
        return None
    return kept


def run_job(job: Mapping[str, Any]) -> int:
    """The child's side of run_in_child: runs the job and writes its answer; the exit code."""
    _end_with(job["parent"])
    with _screen(job) as screen:
        progress.default_stream = screen
        try:
            load_custom_ops(**job["custom_ops"])
            module, _, function = job["job"].partition(":")
            result = getattr(importlib.import_module(module), function)(**job["kwargs"])
            answer = {"result": result}
            text = json.dumps(answer)
        except ConverterError as error:
            traceback.print_exc()
            text = json.dumps({"error": type(error).__name__, "message": str(error)})
        except KeyboardInterrupt:
            return _INTERRUPTED
        except BaseException as error:
            traceback.print_exc()
            text = json.dumps({"unexpected": f"{type(error).__name__}: {error}"})
    unfinished = Path(job["result"] + ".part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.rename(job["result"])
    return 0 if "result" in json.loads(text) else 1


@contextlib.contextmanager
def _screen(job: Mapping[str, Any]) -> Iterator[TextIO]:
    with os.fdopen(job["progress"], "w", encoding="utf-8", buffering=1) as stream:
        # Progress asks whether its stream is a terminal. The parent's stderr decides that.
        stream.isatty = lambda: bool(job["terminal"])  # type: ignore[method-assign]
        yield stream


def _end_with(parent: int) -> None:
    """Asks the system to kill this process when the parent ends, for whatever reason."""
    set_death_signal = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


@contextlib.contextmanager
def environment_variables(values: Mapping[str, str]) -> Iterator[None]:
    """Sets the variables for this process and the child processes that start within. Entries of
    TF_CPP_VMODULE are added to the user's."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(_with_the_user_s_modules(values))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_MODULES = "TF_CPP_VMODULE"


def _with_the_user_s_modules(values: Mapping[str, str]) -> dict[str, str]:
    """`values`, with this process's TF_CPP_VMODULE added to theirs."""
    if _MODULES not in values:
        return dict(values)
    levels: dict[str, str] = {}
    for entry in filter(None, f"{values[_MODULES]},{os.environ.get(_MODULES, '')}".split(",")):
        module, _, level = entry.partition("=")
        # The higher level also logs the lines of the lower one, so that both get what they need.
        if module not in levels or _number(level) > _number(levels[module]):
            levels[module] = level
    entries = [f"{module}={level}" for module, level in levels.items()]
    return {**values, _MODULES: ",".join(entries)}


def _number(level: str) -> int:
    """TensorFlow takes a level that is no number for 0."""
    return int(level) if level.isdecimal() else 0


_TUNABLES = "GLIBC_TUNABLES"
_HUGE_PAGES = "glibc.malloc.hugetlb"


def child_environment(**more: str) -> dict[str, str]:
    """This process's environment with `more`, and huge pages for memory from malloc. Entries of
    TF_CPP_VMODULE in `more` are added to the user's.

    TensorFlow copies a graph with its weights in each of its passes, and the kernel clears each
    page of each copy at its first use. Freezing and cutting VGG16 takes 88 s with pages of 4 KiB
    and 52 s with huge pages, on two cores of a virtual machine. glibc has the setting since 2.35;
    older versions ignore it. A setting of the user's own is kept.
    """
    tunables = os.environ.get(_TUNABLES, "")
    if _HUGE_PAGES not in tunables:
        tunables = ":".join(filter(None, (tunables, f"{_HUGE_PAGES}=1")))
    return {**os.environ, _TUNABLES: tunables, **_with_the_user_s_modules(more)}
