"""Translates encoding parameters for libavcodec's h264_nvenc, hevc_nvenc and av1_nvenc.

The options are checked against libavcodec's own tables of names and values, which need no GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection

from tf_nvcodec.compat.encode_parameters import EncodeParameters
from tf_nvcodec.compat.errors import PyNvVCExceptionUnsupported
from tf_nvcodec.compat.library import check, declare

_ENCODERS = {"h264": "h264_nvenc", "hevc": "hevc_nvenc", "av1": "av1_nvenc"}
_TUNES = {
    "high_quality": "hq",
    "low_latency": "ll",
    "ultra_low_latency": "ull",
    "lossless": "lossless",
}

_check_options = declare(
    "encoder_check_options",
    [ctypes.c_char_p, *[ctypes.POINTER(ctypes.c_char_p)] * 2, ctypes.c_int],
)


def check_options(encoder: str, options: dict[str, str]) -> None:
    """Raises unless libavcodec's `encoder` has each of the options and takes its value.

    Raises:
      InvalidValueError: It does not; the message names the option.
      PyNvVCExceptionUnsupported: This machine's FFmpeg has no such encoder.
    """
    texts = ctypes.c_char_p * max(len(options), 1)
    names = texts(*(name.encode() for name in options))
    values = texts(*(value.encode() for value in options.values()))
    check(_check_options(encoder.encode(), names, values, len(options)))


def encoder_of(codec: str) -> str:
    """Returns libavcodec's name of NVENC for `codec`."""
    return _ENCODERS[codec]


def options_for(parameters: EncodeParameters) -> dict[str, str]:
    """Returns libavcodec's options for NVENC.

    The GPU, the distance of key frames, the timing information, parameter sets and colours are no
    options; the caller sets them in other ways.

    Raises:
      PyNvVCExceptionUnsupported: libavcodec does not pass a parameter on to NVENC.
    """
    if parameters.slices is not None and parameters.slices != (3, 1):
        mode, data = parameters.slices
        raise PyNvVCExceptionUnsupported(
            f"slice::mode={mode} with slice::data={data}: libavcodec has NVENC make one slice "
            "of a picture, which is mode 3 with data 1"
        )
    options = {
        "preset": f"p{parameters.preset}",
        "tune": _TUNES[parameters.tuning],
        "rc": parameters.rc,
        "forced-idr": "1",
        "bf": str(_b_frames(parameters)),
    }
    if parameters.low_latency and not parameters.lookahead:
        options["delay"] = (
            "0"  # packets come as soon as NVENC has them, not when all its surfaces are full
        )
    if parameters.rc == "constqp":
        _constant_qp(parameters, options)
    else:
        _rate(parameters, options)
    if parameters.multipass is not None:
        options["multipass"] = parameters.multipass
    if parameters.lookahead is not None:
        options["rc-lookahead"] = str(parameters.lookahead)
        options["no-scenecut"] = "1"
    if parameters.aq is not None:
        options["spatial-aq"] = "1"
        if parameters.aq > 0:
            options["aq-strength"] = str(parameters.aq)
    if parameters.temporal_aq is not None:
        options["temporal-aq"] = str(parameters.temporal_aq)
    if parameters.key_frame_scale is not None:
        options["ldkfs"] = str(parameters.key_frame_scale)
    return options


def ignored_by(parameters: EncodeParameters, given: Collection[str]) -> list[tuple[str, str]]:
    """Returns the names of the parameters that `options_for` leaves out, and why.

    They change only time, quality and rate. `given` has the names that the caller passed.
    """
    found = []
    if "max_res" in given:
        found.append(("max_res", "libavcodec sizes NVENC's buffers by the frames"))
    if parameters.vbv_start is not None:
        found.append(("vbvinit", "libavcodec leaves the VBV buffer's start to NVENC"))
    bounds = {"qmin": parameters.qp_min, "qmax": parameters.qp_max}
    if parameters.rc == "cbr":
        for name, value in {"initqp": parameters.qp_start, **bounds}.items():
            if value is not None:
                found.append((name, "libavcodec tells NVENC of it with rc vbr only"))
        return found
    if parameters.qp_max is not None and parameters.qp_min is None:
        found.append(("qmax", "libavcodec tells NVENC of it together with qmin only"))
    for name, value in bounds.items():
        if value is not None and len(set(value)) != 1:
            found.append((name, "for B and I frames, libavcodec has one for all: P's"))
    return found


def _b_frames(parameters: EncodeParameters) -> int:
    """Returns the number of B-frames in a row, which the times of packets depend on.

    It is always set, because libavcodec does not report the number that NVENC would choose.
    """
    if parameters.gop == 1:
        return 0
    if parameters.b_frames is not None:
        return parameters.b_frames
    # As in encode_video: every GPU makes B-frames for H.264, not every one for HEVC.
    return 2 if parameters.codec == "h264" and not parameters.low_latency else 0


def _constant_qp(parameters: EncodeParameters, options: dict[str, str]) -> None:
    """Sets the QPs. libavcodec computes those of I and B frames as P's times a factor plus an
    offset."""
    inter_p, inter_b, intra = parameters.qp
    options.update(
        b="0",
        qp=str(inter_p),
        i_qfactor="1",
        i_qoffset=str(intra - inter_p),
        b_qfactor="1",
        b_qoffset=str(inter_b - inter_p),
    )


def _rate(parameters: EncodeParameters, options: dict[str, str]) -> None:
    options["b"] = str(parameters.bitrate)
    if parameters.max_bitrate is not None:
        options["maxrate"] = str(parameters.max_bitrate)
    size = parameters.vbv_size
    if size is None and parameters.rc == "cbr":
        size = parameters.bitrate
    if size is not None:
        options["bufsize"] = str(size)
    if parameters.rc == "cbr":
        return
    if parameters.qp_start is not None:
        for name, qp in zip(("init_qpP", "init_qpB", "init_qpI"), parameters.qp_start):
            options[name] = str(qp)
    if parameters.qp_min is not None:
        options["qmin"] = str(parameters.qp_min[0])
    if parameters.qp_max is not None and parameters.qp_min is not None:
        options["qmax"] = str(parameters.qp_max[0])
