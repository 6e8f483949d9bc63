"""Chooses the encoder of a stream, NVENC or the CPU's, by the same rule as encode_video."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Mapping
from typing import Any

from tf_nvcodec.compat import encode_cpu, encode_nvenc, encode_parameters
from tf_nvcodec.compat.encode_parameters import EncodeParameters
from tf_nvcodec.compat.encoder_library import NativeEncoder, Nvenc, nvenc_is_on
from tf_nvcodec.compat.errors import (
    InvalidValueError,
    PyNvVCException,
    PyNvVCExceptionUnsupported,
)

BACKENDS = ("auto", "cpu", "nvenc")
_DEEP_FORMATS = ("P010", "YUV420_10BIT", "YUV444_16BIT", "YUV444_10BIT")
# Reasons contain sizes and numbers of sessions, so their number is bounded.
_MOST_REASONS = 100
_said: set[str] = set()
_lock = threading.Lock()


def check_backend(backend: str) -> str:
    """Raises InvalidValueError unless `backend` is one of BACKENDS."""
    if backend not in BACKENDS:
        raise InvalidValueError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}")
    return backend


def open_encoder(
    given: Mapping[str, Any],
    values: EncodeParameters,
    width: int,
    height: int,
    fmt: str,
    full_range: bool,
    backend: str,
    nvenc: Nvenc,
) -> NativeEncoder:
    """Opens the encoder of `values`, which were read from `given`.

    "auto" takes NVENC if that is switched on, and the CPU if NVENC fails. The log says why, once
    for each reason.

    Raises:
      PyNvVCException: As CreateEncoder; with "nvenc" also if there is no NVENC.
    """
    new = functools.partial(
        NativeEncoder,
        codec=values.codec,
        pixel_format=fmt,
        width=width,
        height=height,
        fps=values.fps,
        gop=values.gop,
        color_space=values.color_space,
        full_range=full_range,
        tick=values.tick,
        repeat_sets=values.repeat_sets,
    )
    why = ""
    if backend == "nvenc" or (backend == "auto" and nvenc_is_on()):
        try:
            return _with_nvenc(new, given, values, nvenc)
        except PyNvVCExceptionUnsupported as error:
            if backend == "nvenc":
                cure = 'backend="auto" or "cpu" encodes on the CPU'
                raise type(error)(f'backend="nvenc": {error}; {cure}') from error
            why = str(error)
        except PyNvVCException as error:
            if backend == "nvenc":
                raise
            why = str(error)
    encode_parameters.apply_cpu_rules(given, values.codec)
    settings = encode_cpu.settings_for(values, width, height, fmt.upper() in _DEEP_FORMATS)
    native: NativeEncoder = new(options=settings.options, params=settings.params)
    # Parameters that the CPU does not take either are no reason to log.
    if why:
        _say(why)
    return native


def _with_nvenc(
    new: functools.partial[NativeEncoder],
    given: Mapping[str, Any],
    values: EncodeParameters,
    nvenc: Nvenc,
) -> NativeEncoder:
    native: NativeEncoder = new(options=encode_nvenc.options_for(values), params={}, nvenc=nvenc)
    for name, why in encode_nvenc.ignored_by(values, encode_parameters.flatten(given)):
        encode_parameters.ignore(name, f"with NVENC, {why}")
    return native


def _say(why: str) -> None:
    with _lock:
        if why in _said or len(_said) >= _MOST_REASONS:
            return
        _said.add(why)
    logging.getLogger("tf_nvcodec").warning("encoding on the CPU, not with NVENC: %s", why)
