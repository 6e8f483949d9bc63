"""Child processes that measure one at a time.

Each model has a child process of its own, which lives until all is measured. Only the child whose
turn it is works; the others wait for their next command. So two models can be compared round by
round, and what disturbs the machine meanwhile disturbs both.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any, TextIO

from converters.util.child import run_in_child

_LOOK_S = 0.5


class TurnTaker(contextlib.AbstractContextManager["TurnTaker"]):
    """A child process with the job `job`, which gets `kwargs` and the paths of two pipes,
    "commands" and "answers", for `commands_from`. `work` is an empty folder for the pipes.

    Leaving the `with` block ends the child process.
    """

    def __init__(self, job: Callable[..., Any], kwargs: Mapping[str, Any], work: Path) -> None:
        paths = {name: str(work / name) for name in ("commands", "answers")}
        for path in paths.values():
            os.mkfifo(path, 0o600)
        # Opened for both directions, opening a pipe waits for nobody.
        self._commands, self._answers = (os.open(path, os.O_RDWR) for path in paths.values())
        self._pid: int | None = None
        self._unread = b""
        self._left = False
        self._result: Future[Any] = Future()

        def run() -> None:
            try:
                # Nobody is told of a log that is kept after the block was left.
                found = run_in_child(job, {**kwargs, **paths}, keep_log=lambda: not self._left)
                self._result.set_result(found)
            except BaseException as error:
                self._result.set_exception(error)

        # The child ends with the thread that started it, so the thread waits for the child.
        self._thread = Thread(target=run, daemon=True)
        self._thread.start()

    def start(self) -> dict[str, Any]:
        """Waits until the child has loaded its model; returns what it says about that."""
        self._pid = int(self._answer()["pid"])
        return self._answer()

    def turn(self, **command: Any) -> None:
        """Lets the child run one command, and waits for its end. Raises the child's error."""
        os.write(self._commands, json.dumps(command).encode() + b"\n")
        self._answer()

    def end(self) -> Any:
        """Tells the child that there are no more commands; returns the job's result."""
        os.write(self._commands, b"\n")
        return self._result.result()

    def __exit__(self, *error: object) -> None:
        self._left = True
        with contextlib.suppress(Exception):
            if self._pid is None:
                self._pid = int(self._answer()["pid"])  # the first thing that it says
        if self._pid is not None and not self._result.done():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)
        self._thread.join()
        os.close(self._commands)
        os.close(self._answers)

    def _answer(self) -> dict[str, Any]:
        while b"\n" not in self._unread:
            ready, _, _ = select.select([self._answers], [], [], _LOOK_S)
            if ready:
                self._unread += os.read(self._answers, 1 << 16)
            elif self._result.done():
                self._result.result()
                raise AssertionError("the child ended without an answer")
        line, _, self._unread = self._unread.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found


class Commands:
    """The child's side of TurnTaker."""

    def __init__(self, commands: TextIO, answers: TextIO) -> None:
        self._commands = commands
        self._answers = answers

    def ready(self, **facts: Any) -> None:
        """Says that the model is loaded."""
        self._say(facts)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The commands, each answered when the next one is asked for."""
        while (line := self._commands.readline().strip()) != "":
            yield json.loads(line)
            self._say({})

    def _say(self, facts: Mapping[str, Any]) -> None:
        print(json.dumps(facts), file=self._answers, flush=True)


@contextlib.contextmanager
def commands_from(commands: str, answers: str) -> Iterator[Commands]:
    """Opens the pipes of a TurnTaker, and tells it the number of this process."""
    with open(commands, encoding="utf-8") as reads, open(answers, "w", encoding="utf-8") as writes:
        print(json.dumps({"pid": os.getpid()}), file=writes, flush=True)
        yield Commands(reads, writes)
