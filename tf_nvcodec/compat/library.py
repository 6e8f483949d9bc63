"""Calls the op library's C API (tf_nvcodec/capi). No other module of the package does.

ctypes lets other Python threads run during a call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from tf_nvcodec.compat.errors import of_status
from tf_nvcodec.python.loader import library_path

# This is the library of the ops: the dynamic linker does not load it a second time.
_library = ctypes.CDLL(str(library_path()))


def declare(name: str, argtypes: Sequence[Any], restype: Any = ctypes.c_int) -> Any:
    """Returns the C function nvc_`name` with its types.

    A function that can fail returns an int; pass it to `check`.

    Raises:
      ImportError: The library is older than the Python sources.
    """
    try:
        function = getattr(_library, f"nvc_{name}")
    except AttributeError as error:
        raise ImportError(
            f"{library_path()} has no function nvc_{name}: it was built from older sources. Build "
            "it again (make wheel)."
        ) from error
    function.argtypes = list(argtypes)
    function.restype = restype
    return function


_last_error = declare("last_error", [], ctypes.c_char_p)
_ffmpeg_version = declare(
    "ffmpeg_version", [ctypes.c_char_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t]
)


def check(code: int) -> None:
    """Raises the error of the last call on this thread, which returned `code`; 0 is no error."""
    if code != 0:
        raise of_status(code, _last_error().decode("utf-8", "replace"))


def ffmpeg_version(library: str) -> str:
    """Returns the version of a loaded FFmpeg library, such as "59.37.100" for "libavcodec"."""
    text = ctypes.create_string_buffer(64)
    check(_ffmpeg_version(library.encode(), text, len(text)))
    return text.value.decode()
