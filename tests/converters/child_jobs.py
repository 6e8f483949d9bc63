"""What test_child.py runs in child processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from converters.child import run_in_child
from converters.errors import EngineError
from converters.output_folder import new_output
from converters.progress import Progress


def double(value: int) -> dict[str, object]:
    print("to stdout")
    print("to stderr", file=sys.stderr)
    return {"doubled": 2 * value, "pid": os.getpid(), "path": sys.path}


def show_progress(enabled: bool | None) -> None:
    progress = Progress(enabled)
    with progress.step("building", total=2) as step:
        step.note("engine 1 of 2")
        step.advance()
        step.advance()


def end_by_signal(number: int) -> None:
    print("TensorRT says: out of luck", file=sys.stderr, flush=True)
    os.kill(os.getpid(), number)


def abort() -> None:
    print("check failed", file=sys.stderr, flush=True)
    os.abort()


def leave(code: int) -> None:
    os._exit(code)


def refuse() -> None:
    raise EngineError("no engine for 3x3: build it")


def fail() -> None:
    raise ZeroDivisionError("a bug")


def no_json() -> object:
    return object()


def hang(started: str, listens: bool) -> None:
    """Writes its own and its child's process ids, then works for a minute."""
    if not listens:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    helper = subprocess.Popen(["sleep", "60"])
    whole = Path(started + ".part")
    whole.write_text(f"{os.getpid()} {helper.pid}")
    whole.rename(started)
    time.sleep(60)


def convert_and_hang(out: str, started: str, listens: bool) -> None:
    """The parent's side of a conversion in a child: main() of a process of its own."""
    with new_output(out) as folder:
        (folder / "half").write_text("half")
        run_in_child("child_jobs:hang", {"started": started, "listens": listens})
