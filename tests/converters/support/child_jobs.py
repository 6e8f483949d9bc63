"""The jobs that test_child.py and others run in child processes."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from converters.tftrt.engine_log import engines_shown
from converters.util.child import run_in_child
from converters.util.errors import EngineError
from converters.util.outputs import new_output
from converters.util.progress import Progress


def double(value: int) -> dict[str, object]:
    print("to stdout")
    print("to stderr", file=sys.stderr)
    return {"doubled": 2 * value, "pid": os.getpid(), "path": sys.path}


def asks_for_huge_pages(size: int) -> bool:
    """Returns whether malloc asks for huge pages when it allocates `size` bytes."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    address = libc.malloc(size) + size // 2
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if mapped := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(mapped[1], 16) <= address < int(mapped[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return "hg" in line.split()
    raise ValueError("malloc's memory is in no mapping")


def tunables() -> str:
    return os.environ["GLIBC_TUNABLES"]


def modules() -> str:
    return os.environ["TF_CPP_VMODULE"]


def show_progress(enabled: bool | None) -> None:
    progress = Progress(enabled)
    with progress.step("building", total=2) as step:
        step.note("engine 1 of 2")
        step.advance()
        step.advance()


def show_much(notes: int) -> int:
    with Progress(None).step("building") as step:
        for number in range(notes):
            step.note(f"{number} {'x' * 80}")
    return notes


def end_by_signal(number: int) -> None:
    print("TensorRT says: out of luck", file=sys.stderr, flush=True)
    os.kill(os.getpid(), number)


def abort(lines: int) -> None:
    for number in range(lines):
        print("line", number, file=sys.stderr)
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
    """Writes the ids of this process and of its child to a file, then works for a minute."""
    if not listens:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    helper = subprocess.Popen(["sleep", "60"])
    whole = Path(started + ".part")
    whole.write_text(f"{os.getpid()} {helper.pid}")
    whole.rename(started)
    time.sleep(60)


def convert_and_hang(out: str, started: str, listens: bool) -> None:
    """Does what a conversion does in the parent: it makes an output folder and starts a child."""
    with new_output(out) as folder:
        (folder / "half").write_text("half")
        run_in_child("child_jobs:hang", {"started": started, "listens": listens})


def build_engines(log: str, expected: int = 0) -> None:
    """Writes the recorded lines of TF-TRT in the file `log` to stderr, as a conversion does. Waits
    until `expected` notes are shown."""
    shown = 0
    with Progress(None).step("building") as step, engines_shown(step):
        note = step.note

        def counted(text: str) -> None:
            nonlocal shown
            note(text)
            shown += 1

        step.note = counted
        for line in Path(log).read_text().splitlines():
            print(line, file=sys.stderr, flush=True)
        end = time.monotonic() + 20
        while shown < expected and time.monotonic() < end:
            time.sleep(0.05)
        step.note("still in the block")
