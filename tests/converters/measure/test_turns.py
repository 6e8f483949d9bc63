"""Children measure one at a time, and their errors arrive in the parent."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import measured_jobs
import pytest

from converters.measure.turns import TurnTaker
from converters.util.errors import CrashError, EngineError


@pytest.fixture
def kept_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the logs that stay."""
    folder = tmp_path / "kept"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def taker(folder: Path, name: str) -> TurnTaker:
    work = folder / name
    work.mkdir()
    kwargs = {"name": name, "log": str(folder / "log")}
    return TurnTaker(measured_jobs.take_turns, kwargs, work)


def test_two_children_take_turns(tmp_path: Path) -> None:
    with taker(tmp_path, "a") as a, taker(tmp_path, "b") as b:
        assert a.start() == {"name": "a"} and b.start() == {"name": "b"}
        for _ in range(3):
            a.turn(sleep=0.01)
            b.turn(sleep=0)
        assert a.end() == {"name": "a", "turns": 3}
        assert b.end() == {"name": "b", "turns": 3}
    assert (tmp_path / "log").read_text().split("\n")[:-1] == [
        f"{name} {what}" for _ in range(3) for name in "ab" for what in ("begins", "ends")
    ]


def test_the_error_of_a_turn_is_the_parents(tmp_path: Path) -> None:
    with taker(tmp_path, "a") as a:
        a.start()
        with pytest.raises(EngineError, match="no engine for 3x3"):
            a.turn(fail="no engine for 3x3")


def test_a_crash_in_a_turn(tmp_path: Path, kept_logs: Path) -> None:
    with taker(tmp_path, "a") as a:
        a.start()
        with pytest.raises(CrashError, match="SIGABRT") as caught:
            a.turn(crash=True)
    (kept,) = kept_logs.glob("*.log")
    assert str(kept) in str(caught.value)


def test_a_model_that_does_not_load(tmp_path: Path) -> None:
    child = TurnTaker(measured_jobs.cannot_load, {}, tmp_path)
    with child, pytest.raises(EngineError, match="convert the model"):
        child.start()


def test_leaving_the_block_ends_the_child(tmp_path: Path, kept_logs: Path) -> None:
    """Nobody is told the name of its log, which must not stay then."""
    a = taker(tmp_path, "a")
    with pytest.raises(KeyboardInterrupt), a:
        a.start()
        pid = a._pid
        assert pid is not None
        raise KeyboardInterrupt
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not list(kept_logs.iterdir())


def test_leaving_the_block_before_the_child_has_begun(tmp_path: Path) -> None:
    with taker(tmp_path, "a") as a:
        pass
    assert not a._thread.is_alive()
