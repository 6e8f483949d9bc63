"""The jobs that test_turns.py runs in child processes: they note when they begin and end a turn."""

from __future__ import annotations

import os
import time
from pathlib import Path

from converters.measure.turns import commands_from
from converters.util.errors import EngineError


def take_turns(name: str, log: str, commands: str, answers: str) -> dict[str, object]:
    """Each command has "sleep" seconds, or "fail" or "crash". It says more than an error shows."""
    print("a line\n" * 100, flush=True)
    with commands_from(commands, answers) as orders:
        orders.ready(name=name)
        turns = 0
        for order in orders:
            if "crash" in order:
                os.abort()
            if "fail" in order:
                raise EngineError(order["fail"])
            note(log, f"{name} begins")
            time.sleep(order["sleep"])
            note(log, f"{name} ends")
            turns += 1
        return {"name": name, "turns": turns}


def cannot_load(commands: str, answers: str) -> None:
    with commands_from(commands, answers):
        raise EngineError("there is no engine: convert the model")


def note(log: str, text: str) -> None:
    with Path(log).open("a") as file:
        file.write(text + "\n")
