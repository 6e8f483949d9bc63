"""Who may use an object of the C API: only the process that made it, and which thread when."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

from tf_nvcodec.compat.errors import PyNvVCException


class Single:
    """An object with a handle of the C API. It cannot be copied: a copy would free it twice."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} can't be copied or pickled")


class Handle(ctypes.c_void_p):
    """The address of an object of the C API, which `free_object` frees together with this handle.

    A fork does not free it: the object's threads, GPU memory and file belong to the parent process,
    and the fork would wait for them forever.
    """

    def __init__(self, free_object: Any, address: int | None = None) -> None:
        super().__init__(address)
        self._free_object = free_object
        self.process = os.getpid()

    @property
    def is_inherited(self) -> bool:
        """Whether this process is a fork of the one that made it."""
        return self.process != os.getpid()

    def free(self) -> None:
        """Frees the object. A second call does nothing."""
        if self and not self.is_inherited:
            self._free_object(self)
        self.value = None

    __del__ = free


def inherited(what: str, process: int) -> PyNvVCException:
    """Returns the error for using an object of the parent process in a fork."""
    return PyNvVCException(
        f"{what} was made in process {process}, and this is a fork of it, {os.getpid()}, which "
        "has neither its threads nor its GPU's memory: make another one here, or start processes "
        'with multiprocessing.get_context("spawn")'
    )


class _OfOneProcess:
    """An object that only the process that made it may use."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._process = os.getpid()

    @property
    def is_inherited(self) -> bool:
        """Whether this process is a fork of the one that made it."""
        return self._process != os.getpid()

    def check_process(self) -> None:
        """Raises PyNvVCException in a fork, where a thread that is gone may hold the lock."""
        if self.is_inherited:
            raise inherited(self._what, self._process)


# The classes below return their locks for a `with` statement. A lock's own __enter__ is C code,
# which Ctrl-C cannot interrupt between taking the lock and entering the block; Python code could
# leave the lock taken.


class Turns(_OfOneProcess):
    """Lets threads call an object of the C API one after the other."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._lock = threading.RLock()

    def turn(self) -> Any:
        """Returns the lock to hold, in `with`, during a call. A second thread waits for it.

        Raises:
          PyNvVCException: This thread is in a call already, and this is its callback or a signal
            handler; or this process is a fork.
        """
        self.check_process()
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise PyNvVCException(
                f"{self._what} is in a call of this thread, which a callback or a signal handler "
                "can't wait for: use it after the call"
            )
        return self._lock


class Guard(_OfOneProcess):
    """Makes a call of an object of the C API during another call an error."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._lock = threading.Lock()

    def alone(self) -> threading.Lock:
        """Returns the lock to hold, in `with`, during a call.

        Raises:
          PyNvVCException: Another call runs, possibly one of this thread whose callback this is; or
            this process is a fork.
        """
        self.check_process()
        if self._lock.locked():
            raise PyNvVCException(
                f"{self._what} is in use by another call: it is for one thread at a time"
            )
        return self._lock
