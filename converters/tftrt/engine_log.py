"""Shows each engine while it is built, and what TensorRT times for it. Only TensorFlow's log tells.

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
# Lines of TensorRT, logged with int8.proof.LOG_LAYERS. It times the kernels of one layer after the
# other, for each profile anew.
_PROFILE = re.compile(r"Constructing optimization profile number \d+ \[(\d+)/(\d+)\]")
_TIMES = "TensorRT times kernels"
_LAYER = "=============== Computing costs for "


class EngineLines:
    """Reads lines of TensorFlow's log about engines; `feed` takes the lines in their order."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._count = self._total = 0
        self._last = time.monotonic()
        self._timing, self._since = "", self._last
        self._layers = self._before = 0

    @property
    def busy(self) -> tuple[str, float]:
        """What TensorRT is timing, how far it is, and since when; ("", ...) for nothing known."""
        if not self._timing:
            return "", self._since
        name = next(iter(self._began)) + ": " if len(self._began) == 1 else ""
        before = f", {self._before} in the profile before" if self._before else ""
        layers = f" ({self._layers} layers so far{before})" if self._layers else ""
        return f"{name}{self._timing}{layers}", self._since

    def _times(self, what: str, layers_before: int = 0) -> None:
        self._timing, self._since = what, time.monotonic()
        self._layers, self._before = 0, layers_before

    def feed(self, line: str) -> str | None:
        """The note to show for the line, with the seconds that an engine took; None for no note."""
        if _LAYER in line:
            self._timing = self._timing or _TIMES
            self._layers += 1
            return None
        if match := _PROFILE.search(line):
            profile, profiles = match[1], match[2]
            several = profiles != "1"
            what = f"{_TIMES} for profile {profile} of {profiles}" if several else _TIMES
            self._times(what, self._layers if profile != "1" else 0)
            return what if several else None
        now = time.monotonic()
        if match := _BEGUN.search(line):
            name = match[1].split("/")[-1]
            self._began[name] = now
            self._times(_TIMES)
            return f"{name} for {match[2]} ..."
        if match := _ENDED.search(line):
            name = match[2].split("/")[-1]
            if name not in self._began:
                return None
            self._times("")
            how = "built in" if match[1].startswith("Added") else "failed after"
            return f"{name}: {how} {now - self._began.pop(name):.1f} s"
        if match := _COUNTED.search(line):
            self._count, self._total, self._last = 0, int(match[1]), now
            return f"{self._total} to build"
        if match := _REPLACED.search(line):
            self._count += 1
            self._times("")
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
    busy = lines.busy  # what the step itself says holds until the log tells more
    with open(log, "rb") as file:
        while True:
            last = over.wait(_POLL_S)  # then read once more what came before the end
            *whole, begun = (begun + file.read()).split(b"\n")
            for line in whole:
                if note := lines.feed(line.decode("utf-8", "replace")):
                    step.note(note)
            if busy != lines.busy:
                busy = lines.busy
                step.busy(*busy)
            if last:
                return
