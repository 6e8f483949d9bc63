"""The one place where the command line imports TensorFlow and the op library."""

from __future__ import annotations

import functools
import os
from typing import Any, NamedTuple

from tf_nvcodec.cli.errors import CliError, clean_message


class Runtime(NamedTuple):
    """TensorFlow and tf_nvcodec.api, imported."""

    tf: Any
    nvc: Any


def silence_tensorflow() -> None:
    """Settings that TensorFlow reads once, at import; what the user has set stays."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")


@functools.cache
def load() -> Runtime:
    """Imports both, or raises CliError that says what to do."""
    try:
        import tensorflow as tf
    except Exception as error:
        raise _not_ready("TensorFlow does not import", error) from error
    try:
        from tf_nvcodec import api as nvc
    except Exception as error:
        raise _not_ready("the op library does not load", error) from error
    return Runtime(tf, nvc)


def _not_ready(what: str, error: Exception) -> CliError:
    return CliError("", f"{what}: {clean_message(str(error))}", "run `tf-nvcodec doctor`")


def to_python(value: Any) -> Any:
    """A scalar or vector tensor as the plain Python value that JSON can hold."""
    if hasattr(value, "numpy"):
        value = value.numpy()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (list, tuple)):
        return [to_python(item) for item in value]
    return value


def video_info(runtime: Runtime, contents: bytes) -> dict[str, Any]:
    """`probe(contents)` as a dictionary of plain values."""
    info = runtime.nvc.probe(contents)
    return {name: to_python(value) for name, value in info._asdict().items()}
