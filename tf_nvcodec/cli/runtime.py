"""The one place where the command line imports TensorFlow and the op library."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from tf_nvcodec.cli.errors import CliError, clean_message


class Runtime(NamedTuple):
    """The imported modules TensorFlow and tf_nvcodec.api."""

    tf: Any
    nvc: Any


def silence_tensorflow() -> None:
    """Sets variables that TensorFlow reads at import. It keeps what the user has set."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")


@functools.cache
def load() -> Runtime:
    """Imports both modules, or raises a CliError that says what to do."""
    with _native_stderr_held_back():
        try:
            import tensorflow as tf
        except Exception as error:
            raise _not_ready("TensorFlow does not import", error) from error
        try:
            from tf_nvcodec import api as nvc
        except Exception as error:
            raise _not_ready("the op library does not load", error) from error
    return Runtime(tf, nvc)


@contextlib.contextmanager
def _native_stderr_held_back() -> Iterator[None]:
    """Drops what C++ code writes to file descriptor 2.

    Newer versions of TensorFlow log during their import, before they read any setting. A
    TF_CPP_MIN_LOG_LEVEL below 3 keeps the output.
    """
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") != "3":
        yield
        return
    sys.stderr.flush()
    stderr = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)
            os.close(stderr)


def _not_ready(what: str, error: Exception) -> CliError:
    return CliError("", f"{what}: {clean_message(str(error))}", "run `tf-nvcodec doctor`")


def to_python(value: Any) -> Any:
    """Converts a scalar or vector tensor to a plain Python value that JSON can hold."""
    if hasattr(value, "numpy"):
        value = value.numpy()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (list, tuple)):
        return [to_python(item) for item in value]
    return value


def video_info(
    runtime: Runtime, video: bytes | str, timeout: float | None = None
) -> dict[str, Any]:
    """Returns what `probe` says of bytes or of a file, as a dictionary of plain values."""
    from tf_nvcodec.python.probe import probe_file

    if isinstance(video, str):
        info = probe_file(video, timeout=timeout)
    else:
        info = runtime.nvc.probe(video, timeout=timeout)
    return {name: to_python(value) for name, value in info._asdict().items()}
