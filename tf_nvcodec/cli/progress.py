"""The progress bar of long commands, and calls that Ctrl-C can interrupt."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any, Callable, TypeVar

T = TypeVar("T")

_abandoned: list[threading.Event] = []


class Progress:
    """A bar on stderr that counts frames; silent if stderr is no terminal or with `quiet`."""

    def __init__(self, label: str, total: int | None, quiet: bool) -> None:
        from tqdm import tqdm

        self._bar: Any = tqdm(
            total=total,
            desc=label,
            unit="frame",
            file=sys.stderr,
            disable=quiet or not sys.stderr.isatty(),
            dynamic_ncols=True,
            leave=False,
        )

    def advance(self, frames: int) -> None:
        self._bar.update(frames)

    def beat(self) -> None:
        """Redraws the elapsed time."""
        self._bar.refresh()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()


def interruptible(call: Callable[[], T], beat: Callable[[], None] | None = None) -> T:
    """Runs `call` in a thread and waits for it, so that Ctrl-C does not wait for a long op.

    `beat` is called about four times a second meanwhile. If the wait is interrupted, the thread
    keeps running; the process should then end with os._exit (see `has_abandoned_work`).
    """
    result: list[T] = []
    failure: list[BaseException] = []
    # Thread.join is no choice: a signal during it marks a running thread as ended (CPython 3.11).
    done = threading.Event()

    def work() -> None:
        try:
            result.append(call())
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=work, daemon=True).start()
    try:
        while not done.wait(0.25):
            if beat is not None:
                beat()
    except BaseException:
        _abandoned.append(done)
        raise
    if failure:
        raise failure[0]
    return result[0]


def has_abandoned_work() -> bool:
    """Whether a call that was interrupted is still running."""
    return any(not done.is_set() for done in _abandoned)


def batches(items: range, size: int) -> Iterator[range]:
    """Yields consecutive slices of `items`, each of at most `size` items."""
    for first in range(0, len(items), size):
        yield items[first : first + size]
