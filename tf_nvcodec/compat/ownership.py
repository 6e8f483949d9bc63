"""Objects of the C API as Python has them: which process owns them, and who may call them when."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

from tf_nvcodec.compat.errors import PyNvVCException


class Single:
    """Has a handle of the C API, which a copy would free a second time."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} can't be copied or pickled")


class Handle(ctypes.c_void_p):
    """The address of an object of the C API, which `free_object` frees with this one.

    A fork leaves it alone: the object's threads, its GPU's memory and its file are the parent's,
    and what waits for them there would wait for ever.
    """

    def __init__(self, free_object: Any, address: int | None = None) -> None:
        super().__init__(address)
        self._free_object = free_object
        self.process = os.getpid()

    @property
    def is_inherited(self) -> bool:
        """Whether it came with a fork."""
        return self.process != os.getpid()

    def free(self) -> None:
        """A second call does nothing."""
        if self and not self.is_inherited:
            self._free_object(self)
        self.value = None

    __del__ = free


def inherited(what: str, process: int) -> PyNvVCException:
    """The error of using what came with a fork."""
    return PyNvVCException(
        f"{what} was made in process {process}, and this is a fork of it, {os.getpid()}, which "
        "has neither its threads nor its GPU's memory: make another one here, or start processes "
        'with multiprocessing.get_context("spawn")'
    )


class _OfOneProcess:
    """Only the process that made it may use it."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._process = os.getpid()

    @property
    def is_inherited(self) -> bool:
        """Whether it came with a fork."""
        return self._process != os.getpid()

    def check_process(self) -> None:
        """Raises PyNvVCException in a fork, where the lock may be held by a thread of the past."""
        if self.is_inherited:
            raise inherited(self._what, self._process)


# The locks' own `with` can't be interrupted between taking them and the block, as an __enter__ in
# Python can: Ctrl-C leaves nothing locked.


class Turns(_OfOneProcess):
    """Threads call an object of the C API one after the other."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._lock = threading.RLock()

    def turn(self) -> Any:
        """What to hold, in `with`, during a call; a second thread waits.

        Raises:
          PyNvVCException: This thread is in a call already, whose callback or signal handler this
            is; or this is a fork.
        """
        self.check_process()
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise PyNvVCException(
                f"{self._what} is in a call of this thread, which a callback or a signal handler "
                "can't wait for: use it after the call"
            )
        return self._lock


class Guard(_OfOneProcess):
    """Only one thread at a time ought to call an object of the C API."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._lock = threading.Lock()

    def alone(self) -> threading.Lock:
        """What to hold, in `with`, during a call.

        Raises:
          PyNvVCException: Another call runs, also one of this thread's, whose callback this is; or
            this is a fork.
        """
        self.check_process()
        if self._lock.locked():
            raise PyNvVCException(
                f"{self._what} is in use by another call: it is for one thread at a time"
            )
        return self._lock
