"""Makes calls in a fork of the test's process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable

SECONDS = 60  # If a child takes longer, it hangs.


def in_a_fork(call: Callable[[], object]) -> str:
    """Makes the call in a fork. Returns a text that says what it gives or raises. Fails if the fork
    hangs or does not end well."""
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
