"""Encoding parameters as libavcodec's h264_nvenc and hevc_nvenc take them.

No machine of this project's has NVENC: the options are checked against libavcodec's own tables of
names and values, which need no GPU, and nothing here encodes yet.
"""

from __future__ import annotations

import ctypes

from tf_nvcodec.compat.encode_parameters import EncodeParameters, ignore
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
      InvalidValueError: It doesn't; the message names the option.
      PyNvVCExceptionUnsupported: This machine's FFmpeg has no such encoder.
    """
    texts = ctypes.c_char_p * max(len(options), 1)
    names = texts(*(name.encode() for name in options))
    values = texts(*(value.encode() for value in options.values()))
    check(_check_options(encoder.encode(), names, values, len(options)))


def encoder_of(codec: str) -> str:
    """libavcodec's name of NVENC for `codec`."""
    return _ENCODERS[codec]


def options_for(parameters: EncodeParameters) -> dict[str, str]:
    """Options of NVENC through libavcodec. The timing information, parameter sets and colours are
    not options: they are set as for the CPU's encoders.

    Raises:
      PyNvVCExceptionUnsupported: What libavcodec does not pass on to NVENC.
    """
    options = {
        "preset": f"p{parameters.preset}",
        "tune": _TUNES[parameters.tuning],
        "rc": parameters.rc,
        "g": str(parameters.gop),
        "forced-idr": "1",
        "gpu": str(parameters.gpu),
    }
    if parameters.slices is not None and parameters.slices != (3, 1):
        raise PyNvVCExceptionUnsupported(
            f"slice::mode={parameters.slices[0]}: libavcodec has NVENC make one slice of a picture"
        )
    if parameters.b_frames is not None:
        options["bf"] = str(parameters.b_frames)
    elif parameters.low_latency:
        options["bf"] = "0"
    if parameters.rc == "constqp":
        _constant_qp(parameters, options)
    else:
        _rate(parameters, options)
    if parameters.multipass is not None:
        options["multipass"] = parameters.multipass
    if parameters.lookahead is not None:
        options["rc-lookahead"] = str(parameters.lookahead)
    if parameters.aq is not None:
        options["spatial-aq"] = "1"
        if parameters.aq > 0:
            options["aq-strength"] = str(parameters.aq)
    if parameters.temporal_aq is not None:
        options["temporal-aq"] = str(parameters.temporal_aq)
    if parameters.key_frame_scale is not None:
        options["ldkfs"] = str(parameters.key_frame_scale)
    return options


def _constant_qp(parameters: EncodeParameters, options: dict[str, str]) -> None:
    """libavcodec makes the QPs of I and B frames of P's: times a factor, plus an offset."""
    if parameters.lossless:
        return
    inter_p, inter_b, intra = parameters.qp
    options.update(
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
    if parameters.vbv_size is not None:
        options["bufsize"] = str(parameters.vbv_size)
    if parameters.vbv_start is not None:
        options["rc_init_occupancy"] = str(parameters.vbv_start)
    if parameters.qp_start is not None:
        for name, qp in zip(("init_qpP", "init_qpB", "init_qpI"), parameters.qp_start):
            options[name] = str(qp)
    if parameters.qp_min is not None:
        if len(set(parameters.qp_min)) != 1:
            ignore("qmin", "for B and I frames, libavcodec has one for all: P's")
        options["qmin"] = str(parameters.qp_min[0])
