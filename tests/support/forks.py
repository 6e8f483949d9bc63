"""Calls in a fork of the test's process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable

SECONDS = 60  # A child that takes longer hangs.


def in_a_fork(call: Callable[[], object]) -> str:
    """What `call` gives or raises there, and how the child ended."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def child() -> None:
        try:
            there.send(f"gave {call()!r}")
        except BaseException as error:
            there.send(f"{type(error).__name__}: {error}")

    process = context.Process(target=child)
    process.start()
    there.close()
    try:
        assert here.poll(SECONDS), "the child hangs in the call"
        said = here.recv()
        process.join(SECONDS)
        assert process.exitcode == 0, (
            f"the child, which said {said!r}, ended with {process.exitcode}"
        )
    finally:
        process.kill()
        process.join()
    return said
