"""Progress shows steps as lines, as bars, or not at all."""

from __future__ import annotations

import io
import re
import time

import pytest

from converters.util import progress
from converters.util.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines(stream: io.StringIO) -> list[str]:
    """Returns what was shown, with T in place of the times."""
    return [re.sub(r"\d+\.\d", "T", line) for line in stream.getvalue().splitlines()]


def test_lines():
    stream = io.StringIO()
    shown = Progress(stream=stream)
    with shown.step("segmenting"):
        pass
    with shown.step("calibrating", total=2) as step:
        step.advance()
        step.note("batch 1 is all zeros")
    assert lines(stream) == [
        "[    T s] segmenting ...",
        "[    T s] segmenting: done in T s",
        "[    T s] calibrating (2) ...",
        "[    T s] calibrating: batch 1 is all zeros",
        "[    T s] calibrating: done in T s",
    ]
    assert [name for name, _ in shown.timings] == ["segmenting", "calibrating"]
    assert all(0 <= seconds < 5 for _, seconds in shown.timings)


@pytest.mark.parametrize(
    ("failure", "says"),
    [(ValueError, "failed after T s"), (KeyboardInterrupt, "stopped after T s")],
)
def test_a_step_that_fails(failure, says):
    stream = io.StringIO()
    shown = Progress(stream=stream)
    with pytest.raises(failure), shown.step("building"):
        raise failure
    assert lines(stream)[-1] == f"[    T s] building: {says}"
    assert shown.timings == []


def test_a_long_step_says_that_it_lives(monkeypatch):
    monkeypatch.setattr(progress, "_REDRAW_S", 0.01)
    monkeypatch.setattr(progress, "_STILL_RUNNING_S", 0.05)
    monkeypatch.setattr(progress, "_COUNT_S", 0.0)
    stream = io.StringIO()
    with Progress(stream=stream).step("building", total=3) as step:
        while "still running" not in stream.getvalue():
            time.sleep(0.005)
        step.advance()
        while stream.getvalue().count("1 of 3") < 2:
            time.sleep(0.005)
        step.busy("timing kernels", time.monotonic() - 60)
        while not re.search(r"building: 1 of 3; timing kernels, 6\d s\n", stream.getvalue()):
            time.sleep(0.005)
        step.busy("", time.monotonic())
        while not stream.getvalue().endswith("building: 1 of 3\n"):
            time.sleep(0.005)
    assert lines(stream)[-1] == "[    T s] building: done in T s"


def test_bars_on_a_terminal():
    stream = Terminal()
    shown = Progress(stream=stream)
    with shown.step("calibrating", total=4) as step:
        step.advance(4)
        step.busy("timing kernels", time.monotonic() - 60)
        step._bar.refresh()
        while not re.search(r"4/4 00:\d\d, timing kernels, 6\d s", stream.getvalue()):
            time.sleep(0.005)
    text = stream.getvalue()
    assert re.search(r"\rcalibrating [█#]+ 4/4 00:0\d", text)
    assert re.search(r"\[ +\d+\.\d s\] calibrating: done in \d+\.\d s\n$", text)
    with shown.step("segmenting"):
        pass
    assert re.search(r"\rsegmenting 00:0\d", stream.getvalue())


def test_silence():
    stream = Terminal()
    shown = Progress(enabled=False, stream=stream)
    with shown.step("calibrating", total=4) as step:
        step.advance()
        step.note("a note")
    assert stream.getvalue() == ""
    assert [name for name, _ in shown.timings] == ["calibrating"]


def test_without_a_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    """If stderr is closed when Python starts, sys.stderr is None."""
    monkeypatch.setattr("sys.stderr", None)
    progress = Progress()
    with progress.step("one", 2) as step:
        step.advance()
        step.note("half of it")
    assert [name for name, _ in progress.timings] == ["one"]
