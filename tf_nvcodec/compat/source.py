"""The sources of a demuxer or a decoder: files, bytes, file objects and functions."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, Callable

from tf_nvcodec.compat.errors import InvalidValueError, PyNvVCException
from tf_nvcodec.compat.integers import whole
from tf_nvcodec.compat.library import check, declare
from tf_nvcodec.compat.ownership import Handle

# int64 read(int64 offset, void* out, size_t count)
_READ = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_size_t)
_HANDLE = ctypes.POINTER(ctypes.c_void_p)

_of_file = declare("source_of_file", [ctypes.c_char_p, _HANDLE])
_of_memory = declare(
    "source_of_memory", [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, _HANDLE]
)
_of_function = declare("source_of_function", [ctypes.c_char_p, _READ, ctypes.c_int64, _HANDLE])
_free = declare("source_free", [ctypes.c_void_p], None)


class SharedFile:
    """A file object that several sources read, each on its own thread."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.lock = threading.Lock()  # a seek and its read belong together


def _is_file_object(data: Any) -> bool:
    return hasattr(data, "read") and hasattr(data, "seek")


def shared(data: Any, before: Any = None) -> Any:
    """Wraps `data` for several sources.

    `before` is what an earlier call returned, for sources that still read.
    """
    if isinstance(before, SharedFile) and data is before.file:
        return before
    return SharedFile(data) if _is_file_object(data) else data


class Source:
    """A source of bytes for the C API. It must live as long as what is opened with it.

    Args:
      data: A path or a URL ("https://...", "s3://...", "gs://..."); bytes or another buffer of
        bytes; an object that has read() and seek(); or a function that is called with a bytearray,
        puts the next bytes at its beginning and returns how many, 0 at the end.

    Raises:
      TypeError: `data` is none of these.
      PyNvVCException: The file cannot be opened.
    """

    def __init__(self, data: Any) -> None:
        self._errors: list[BaseException] = []
        self._kept: Any = None
        self.handle = Handle(_free)
        if isinstance(data, (str, os.PathLike)):
            self.name = os.fspath(data)
            if isinstance(self.name, bytes):
                self.name = os.fsdecode(self.name)
            if "\0" in self.name:
                raise InvalidValueError(f"{self.name!r} is no path: it has a null character")
            if "://" in self.name:
                self._open_remote(self.name)
            else:
                check(_of_file(os.fsencode(self.name), ctypes.byref(self.handle)))
        elif isinstance(data, (bytes, bytearray, memoryview)):
            self.name = "contents"
            self._open_bytes(bytes(data))
        elif isinstance(data, SharedFile):
            self.name = str(getattr(data.file, "name", "the file object"))
            self._open_file_object(data)
        elif _is_file_object(data):
            self.name = str(getattr(data, "name", "the file object"))
            self._open_file_object(SharedFile(data))
        elif callable(data):
            self.name = "the bytes of the function"
            self._open_function(self._reader_of_stream(data), -1)
        else:
            raise TypeError(
                "the video must be a path, bytes, a file object with read() and seek(), or a "
                f"function that fills a bytearray, not {type(data).__name__}"
            )

    def check(self, code: int) -> None:
        """Raises as library.check does, but first the error that the user's function raised."""
        if self._errors:
            error = self._errors[0]
            self._errors.clear()
            raise error
        check(code)

    def _open_bytes(self, data: bytes) -> None:
        self._kept = data
        address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
        check(_of_memory(b"", address, len(data), ctypes.byref(self.handle)))

    def _open_remote(self, name: str) -> None:
        import tensorflow as tf

        try:
            file = tf.io.gfile.GFile(name, "rb")
            size = file.size()
        except tf.errors.OpError as error:
            raise PyNvVCException(f"{name}: {error.message}") from error
        self._open_function(self._reader_of_file(SharedFile(file)), size)

    def _open_file_object(self, shared: SharedFile) -> None:
        file = shared.file
        seekable = getattr(file, "seekable", None)
        if seekable is not None and not seekable():
            raise ValueError(
                f"{self.name} can't seek: pass a function that fills a bytearray instead"
            )
        with shared.lock:
            size = file.seek(0, os.SEEK_END)
            if size is None:
                size = file.tell()
        size = whole(f"the size of {self.name}", size, 0)
        self._open_function(self._reader_of_file(shared), size)

    def _open_function(self, read: Callable[[int, int, int], int], size: int) -> None:
        errors = self._errors  # a reference to self would be a cycle: self keeps this function

        def guarded(offset: int, out: int, count: int) -> int:
            try:
                return read(offset, out, count)
            except BaseException as error:  # an exception cannot pass through the C++ code
                errors.append(error)
                return -1

        self._kept = _READ(guarded)
        check(
            _of_function(
                self.name.encode("utf-8", "replace"), self._kept, size, ctypes.byref(self.handle)
            )
        )

    @staticmethod
    def _reader_of_file(shared: SharedFile) -> Callable[[int, int, int], int]:
        def read(offset: int, out: int, count: int) -> int:
            with shared.lock:
                shared.file.seek(offset)
                data = shared.file.read(count)
            if not isinstance(data, bytes):
                raise TypeError(f"read() gave {type(data).__name__}, not bytes: open it with 'rb'")
            if len(data) > count:
                raise ValueError(f"read({count}) gave {len(data)} bytes, more than asked for")
            ctypes.memmove(out, data, len(data))
            return len(data)

        return read

    @staticmethod
    def _reader_of_stream(fill: Callable[[bytearray], int]) -> Callable[[int, int, int], int]:
        def read(offset: int, out: int, count: int) -> int:
            buffer = bytearray(count)
            given = fill(buffer)
            # The function may have shortened the buffer, as by `buffer[:] = rest`.
            if not isinstance(given, int) or not 0 <= given <= min(count, len(buffer)):
                raise ValueError(
                    f"the function returned {given!r} for a bytearray of {count} bytes: it must "
                    "return how many bytes it put there, 0 at the end"
                )
            ctypes.memmove(out, bytes(buffer[:given]), given)
            return given

        return read
