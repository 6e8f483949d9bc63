"""Named steps with their elapsed time: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, TextIO

# How often a bar's clock is redrawn, and after how long a silent step reports that it still runs.
_REDRAW_S = 0.5
_STILL_RUNNING_S = 30.0
# The least time between two lines that only show a count.
_COUNT_S = 10.0

# A child process writes to its parent's screen instead of its own stderr (child.py sets this).
default_stream: TextIO | None = None


class Progress:
    """Shows the steps of one job on stderr.

    `enabled`: False shows nothing, True bars, None bars where stderr is a terminal, else lines.
    `timings` collects (name, seconds) of the steps that ended without an error.
    """

    def __init__(self, enabled: bool | None = None, stream: TextIO | None = None) -> None:
        self._stream = stream or default_stream or sys.stderr
        # sys.stderr is None if the process was started with stderr closed.
        self._silent = enabled is False or self._stream is None
        self._bars = bool(enabled) or (
            enabled is None and not self._silent and self._stream.isatty()
        )
        self._began = time.monotonic()
        self._lock = threading.RLock()
        self.timings: list[tuple[str, float]] = []

    @contextlib.contextmanager
    def step(self, name: str, total: int | None = None) -> Iterator[Step]:
        """Shows `name` while the block runs; `total` is how often it will call `advance`."""
        step = Step(self, name, total)
        step._begin()
        try:
            yield step
        except BaseException as error:
            stopped = isinstance(error, (KeyboardInterrupt, GeneratorExit))
            step._end("stopped after" if stopped else "failed after")
            raise
        step._end("done in")
        self.timings.append((name, step.seconds))

    def say(self, text: str) -> None:
        """A line with the elapsed time before it."""
        if self._silent:
            return
        line = f"[{time.monotonic() - self._began:7.1f} s] {text}"
        with self._lock:
            if self._bars:
                from tqdm import tqdm

                tqdm.write(line, file=self._stream)
            else:
                print(line, file=self._stream, flush=True)


class Step:
    """One running step; made by `Progress.step`."""

    def __init__(self, progress: Progress, name: str, total: int | None) -> None:
        self._progress = progress
        self._name = name
        self._total = total
        self._count = 0
        self._began = self._spoke = time.monotonic()
        self._seconds: float | None = None
        self._busy, self._busy_since = "", self._began
        self._bar: Any = None
        self._over = threading.Event()

    @property
    def seconds(self) -> float:
        """How long the step has run, or ran."""
        return time.monotonic() - self._began if self._seconds is None else self._seconds

    def advance(self, n: int = 1) -> None:
        """Counts `n` parts as done."""
        with self._progress._lock:
            self._count += n
            if self._bar is not None:
                self._bar.update(n)
            elif time.monotonic() - self._spoke >= _COUNT_S:
                self._say(self._counted())

    def note(self, text: str) -> None:
        """A line about the step, such as the engine that is being built."""
        self._say(text)

    def busy(self, text: str, since: float) -> None:
        """What the step is doing, and since when (time.monotonic); "" for nothing that is known. It
        is shown with its seconds while the step says nothing else."""
        with self._progress._lock:
            self._busy, self._busy_since = text, since

    def _begin(self) -> None:
        if self._progress._silent:
            return
        if self._progress._bars:
            from tqdm import tqdm

            count = "{bar:24} {n_fmt}/{total_fmt} " if self._total is not None else ""
            self._bar = tqdm(
                total=self._total,
                desc=self._name,
                file=self._progress._stream,
                bar_format="{desc} " + count + "{elapsed}{postfix}",
                dynamic_ncols=True,
                leave=False,
            )
        else:
            of = "" if self._total is None else f" ({self._total})"
            self._progress.say(f"{self._name}{of} ...")
        threading.Thread(target=self._beat, daemon=True).start()

    def _end(self, how: str) -> None:
        self._seconds = time.monotonic() - self._began
        self._over.set()
        with self._progress._lock:
            if self._bar is not None:
                self._bar.close()
            self._progress.say(f"{self._name}: {how} {self._seconds:.1f} s")

    def _beat(self) -> None:
        """Shows that the step is alive: an engine takes minutes inside TensorRT."""
        while not self._over.wait(_REDRAW_S):
            with self._progress._lock:
                if self._over.is_set():
                    return
                if self._bar is not None:
                    self._bar.set_postfix_str(self._doing(), refresh=False)
                    self._bar.refresh()
                elif time.monotonic() - self._spoke >= _STILL_RUNNING_S:
                    known = "; ".join(filter(None, (self._counted(), self._doing())))
                    self._say(known or "still running")

    def _counted(self) -> str:
        if not self._count:
            return ""
        return f"{self._count}" if self._total is None else f"{self._count} of {self._total}"

    def _doing(self) -> str:
        seconds = time.monotonic() - self._busy_since
        return f"{self._busy}, {seconds:.0f} s" if self._busy else ""

    def _say(self, text: str) -> None:
        with self._progress._lock:
            self._spoke = time.monotonic()
            self._progress.say(f"{self._name}: {text}")
