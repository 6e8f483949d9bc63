"""Checks the parameters of an encoder, one by one and against each other."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tf_nvcodec.compat import encode_table, encode_values
from tf_nvcodec.compat.errors import InvalidValueError, PyNvVCExceptionUnsupported

DEFAULT_BITRATE = 10_000_000
DEFAULT_GOP = 250
LONGEST_GOP = 1_000_000
DEFAULT_QP = (28, 31, 25)
DEFAULT_AV1_QP = (112, 112, 112)

_RATE_NAMES = ("bitrate", "maxbitrate", "vbvbufsize", "vbvinit")
_QP_NAMES = ("qmin", "qmax", "initqp")


class IgnoredParameterWarning(UserWarning):
    """A parameter of CreateEncoder has no effect; the message says which and why."""


@dataclass(frozen=True)
class EncodeParameters:
    """The parameters of an encoder. QPs are for P, B and I frames; None means "not given"."""

    codec: str
    fps: Fraction
    rc: str
    bitrate: int
    max_bitrate: int | None
    vbv_size: int | None
    vbv_start: int | None
    qp: tuple[int, int, int]
    qp_start: tuple[int, int, int] | None
    qp_min: tuple[int, int, int] | None
    qp_max: tuple[int, int, int] | None
    gop: int
    b_frames: int | None
    preset: int
    tuning: str
    multipass: str | None
    lookahead: int | None
    aq: int | None
    temporal_aq: int | None
    key_frame_scale: int | None
    color_space: str | None
    tick: tuple[int, int] | None
    slices: tuple[int, int] | None
    repeat_sets: bool
    gpu: int | None

    @property
    def low_latency(self) -> bool:
        return self.tuning in ("low_latency", "ultra_low_latency")

    @property
    def lossless(self) -> bool:
        return self.tuning == "lossless"


def ignore(name: str, why: str) -> None:
    """Warns that the parameter `name` has no effect."""
    warnings.warn(f"{name} has no effect: {why}", IgnoredParameterWarning, stacklevel=2)


def flatten(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns parameters by their full names, with groups split and aliases replaced. Those that a
    0 leaves unset are not among them."""
    flat: dict[str, Any] = {}
    for key, value in given.items():
        members = {key: value}
        if key in encode_table.GROUPS and isinstance(value, Mapping):
            members = {encode_table.GROUPS[key] + name: item for name, item in value.items()}
        for name, item in members.items():
            full = encode_table.ALIASES.get(name, name)
            if full in flat:
                raise InvalidValueError(f"{full} is given twice")
            flat[full] = item
    unset = [name for name in encode_table.UNSET_BY_ZERO if encode_values.is_zero(flat.get(name))]
    return {name: item for name, item in flat.items() if name not in unset}


def _check_each(given: Mapping[str, Any]) -> dict[str, Any]:
    flat = flatten(given)
    codec_row = encode_table.BY_NAME["codec"]
    codec = encode_values.parse(codec_row.kind, "codec", flat.get("codec", "h264"), "h264")
    values = {"codec": codec}
    for name, value in flat.items():
        row = encode_table.BY_NAME.get(name)
        if row is None:
            known = ", ".join(encode_table.BY_NAME)
            raise InvalidValueError(
                f"CreateEncoder has no parameter {name!r} (got {value!r}); it has {known}"
            )
        if codec not in row.codecs:
            raise InvalidValueError(
                f"{name}={value!r} is for codec {' and '.join(row.codecs)}; got codec {codec}: "
                f"{row.rule(codec).text}"
            )
        values[name] = encode_values.parse(row.kind, name, value, codec)
    return values


def _rate_control(values: Mapping[str, Any]) -> str:
    """Returns the rate control: cbr with a bitrate or a buffer, else constant QP.

    PyNvVideoCodec does the same with a bitrate.
    """
    tuning = values.get("tuning_info", "high_quality")
    rates = [name for name in _RATE_NAMES if name in values]
    rc = values.get("rc")
    if tuning == "lossless":
        clash = [*rates, *(name for name in ("constqp", *_QP_NAMES) if name in values)]
        if rc not in (None, "constqp"):
            clash.append("rc")
        if clash:
            raise InvalidValueError(
                f"tuning_info lossless leaves no rate to control; got {clash[0]}="
                f"{values[clash[0]]!r}: leave it out or tune for something else"
            )
        return "constqp"
    if rc is None:
        if "bitrate" in values and "constqp" in values:
            raise InvalidValueError(
                f"bitrate={values['bitrate']} and constqp={values['constqp']} exclude each other: "
                "give one of them, or rc"
            )
        rc = "cbr" if rates else "constqp"
    if rc != "constqp" and "constqp" in values:
        raise InvalidValueError(
            f"constqp={values['constqp']} needs rc constqp; got rc {rc}: leave one of them out"
        )
    return rc


def _check_rates(values: Mapping[str, Any], rc: str) -> None:
    if rc == "constqp":
        for name in (*_RATE_NAMES, *_QP_NAMES):
            if name in values:
                ignore(name, "rate control is constqp")
        return
    least_qp, most_qp = values.get("qmin"), values.get("qmax")
    if least_qp and most_qp and any(least > most for least, most in zip(least_qp, most_qp)):
        raise InvalidValueError(f"qmin={list(least_qp)} is above qmax={list(most_qp)}")
    bitrate = values.get("bitrate", DEFAULT_BITRATE)
    most = values.get("maxbitrate")
    if most is not None and most < bitrate:
        raise InvalidValueError(f"maxbitrate={most} is below the bitrate of {bitrate}")
    size, start = values.get("vbvbufsize"), values.get("vbvinit")
    if size is None and rc == "cbr":
        size = bitrate
    if size is None and most is not None:
        size = most
    if start is not None and (size is None or start > size):
        raise InvalidValueError(
            f"vbvinit={start} does not fit the VBV buffer of {size or 0} bits: give a vbvbufsize "
            "of at least as much"
        )


def _slices(values: Mapping[str, Any]) -> tuple[int, int] | None:
    mode, data = values.get("slice::mode", 0), values.get("slice::data", 0)
    if mode != 0 and data == 0:
        raise InvalidValueError(f"slice::mode={mode} needs slice::data, from 1 on")
    return (mode, data) if data != 0 else None


def _tick(values: Mapping[str, Any]) -> tuple[int, int] | None:
    names = ("timingInfo::num_unit_in_ticks", "timingInfo::timescale")
    given = [name for name in names if name in values]
    if len(given) == 1:
        other = names[1 - names.index(given[0])]
        raise InvalidValueError(f"{given[0]}={values[given[0]]} needs {other} with it")
    return (values[names[0]], values[names[1]]) if given else None


def _check_size(values: Mapping[str, Any], width: int, height: int) -> None:
    most = values.get("max_res")
    if most is not None and (width > most[0] or height > most[1]):
        raise InvalidValueError(
            f"max_res={most[0]}x{most[1]} is less than the frames' {width}x{height}"
        )


def read(given: Mapping[str, Any], width: int, height: int) -> EncodeParameters:
    """Reads the parameters of an encoder for frames of `width` x `height` pixels.

    Raises:
      InvalidValueError: A name, type, range, codec or combination is wrong; the message names the
        parameter, the value and what is allowed.
    """
    values = _check_each(given)
    _check_size(values, width, height)
    rc = _rate_control(values)
    _check_rates(values, rc)
    gop = min(values.get("gop", values.get("idrperiod", DEFAULT_GOP)), LONGEST_GOP)
    gop = min(gop, values.get("idrperiod", gop))
    lossless = values.get("tuning_info") == "lossless"
    default_qp = DEFAULT_AV1_QP if values["codec"] == "av1" else DEFAULT_QP
    return EncodeParameters(
        codec=values["codec"],
        fps=values.get("fps", Fraction(30)),
        rc=rc,
        bitrate=0 if rc == "constqp" else values.get("bitrate", DEFAULT_BITRATE),
        max_bitrate=None if rc == "constqp" else values.get("maxbitrate"),
        vbv_size=None if rc == "constqp" else values.get("vbvbufsize"),
        vbv_start=None if rc == "constqp" else values.get("vbvinit"),
        qp=(0, 0, 0) if lossless else values.get("constqp", default_qp),
        qp_start=None if rc == "constqp" else values.get("initqp"),
        qp_min=None if rc == "constqp" else values.get("qmin"),
        qp_max=None if rc == "constqp" else values.get("qmax"),
        gop=gop,
        b_frames=values.get("bf"),
        preset=int(values.get("preset", "P4")[1:]),
        tuning=values.get("tuning_info", "high_quality"),
        multipass=values.get("multipass"),
        lookahead=values.get("lookahead"),
        aq=values.get("aq"),
        temporal_aq=values.get("temporalaq"),
        key_frame_scale=values.get("ldkfs"),
        color_space=values.get("colorspace"),
        tick=_tick(values),
        slices=_slices(values),
        repeat_sets=bool(values.get("repeatspspps", 0)),
        gpu=values.get("gpu_id"),
    )


def apply_cpu_rules(given: Mapping[str, Any], codec: str) -> None:
    """Warns about parameters that the CPU's encoder ignores, and refuses others that it lacks.

    Raises:
      PyNvVCExceptionUnsupported: Without the parameter the stream would have other contents.
    """
    for name, value in flatten(given).items():
        rule = encode_table.BY_NAME[name].rule(codec)
        if rule.how == "ignored":
            ignore(name, f"on the CPU, {rule.text}")
        elif rule.how == "refused":
            raise PyNvVCExceptionUnsupported(f"{name}={value!r} on the CPU: {rule.text}")
