"""Shows each engine while it is built, for progress. Only TensorFlow's log tells about engines.

In a child process the log is the file that stderr goes to. If stderr is no file, or the log has no
such lines (TensorFlow's default), nothing is shown.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import threading
import time
from collections.abc import Iterator

from converters.util.progress import Step

# For TF_CPP_VMODULE: V2's op then logs what it builds. V1 logs without it.
LOG_BUILDS = "trt_engine_op=1"

_POLL_S = 0.2

# Lines of V2's op when it runs; several may build at once.
_BEGUN = re.compile(r"Building a new TensorRT engine for (\S+) with input shapes: (.+)$")
_ENDED = re.compile(r"(Added new engine to cache of|Engine creation for) (\S+?)(?:\. | failed)")
# Lines of V1's graph pass: the number of engines, then each engine when it is built.
_COUNTED = re.compile(r"Number of TensorRT candidate segments: (\d+)$")
_REPLACED = re.compile(r"(Replaced|Cannot replace) segment \d+ consisting of (\d+) nodes by (\w+)")


class EngineLines:
    """Reads lines of TensorFlow's log about engines; `feed` takes the lines in their order."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._count = self._total = 0
        self._last = time.monotonic()

    def feed(self, line: str) -> str | None:
        """The note to show for the line, with the seconds that an engine took; None for no note."""
        now = time.monotonic()
        if match := _BEGUN.search(line):
            name = match[1].split("/")[-1]
            self._began[name] = now
            return f"{name} for {match[2]} ..."
        if match := _ENDED.search(line):
            name = match[2].split("/")[-1]
            if name not in self._began:
                return None
            how = "built in" if match[1].startswith("Added") else "failed after"
            return f"{name}: {how} {now - self._began.pop(name):.1f} s"
        if match := _COUNTED.search(line):
            self._count, self._total, self._last = 0, int(match[1]), now
            return f"{self._total} to build"
        if match := _REPLACED.search(line):
            self._count += 1
            how = "built in" if match[1] == "Replaced" else "failed after"
            seconds, self._last = now - self._last, now
            return (
                f"{self._count} of {self._total}, {match[3]} with {match[2]} nodes: {how} "
                f"{seconds:.1f} s"
            )
        return None


@contextlib.contextmanager
def engines_shown(step: Step) -> Iterator[None]:
    """Notes on `step` each engine that this process's log names while the block runs."""
    log = _own_log()
    if log is None:
        yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(log, step, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _own_log() -> int | None:
    """A file descriptor that reads what TensorFlow logs from now on."""
    try:
        if not stat.S_ISREG(os.fstat(2).st_mode):
            return None
        log = os.open("/proc/self/fd/2", os.O_RDONLY)
    except OSError:
        return None
    os.lseek(log, 0, os.SEEK_END)
    return log


def _watch(log: int, step: Step, over: threading.Event) -> None:
    lines, begun = EngineLines(), b""
    with open(log, "rb") as file:
        while True:
            last = over.wait(_POLL_S)  # then read once more what came before the end
            *whole, begun = (begun + file.read()).split(b"\n")
            for line in whole:
                if note := lines.feed(line.decode("utf-8", "replace")):
                    step.note(note)
            if last:
                return
