"""Translates encoding parameters for the CPU's encoders: libx264, libx265 and libsvtav1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tf_nvcodec.compat.encode_parameters import EncodeParameters, ignore
from tf_nvcodec.compat.errors import InvalidValueError, PyNvVCExceptionUnsupported

_X26X_PRESETS = ("ultrafast", "superfast", "veryfast", "fast", "medium", "slow", "slower")
_SVT_PRESETS = (12, 11, 10, 9, 8, 5, 4)  # without 6 and 7, which hang after slower ones
_X26X_LOOKAHEAD, _SVT_LOOKAHEAD = 250, 120
# These are the values of the presets.
_X265_LOOKAHEAD, _X265_B_FRAMES = (5, 10, 15, 15, 20, 25, 40), (3, 3, 4, 4, 4, 4, 8)
_X264_B_FRAMES = (0, 3, 3, 3, 3, 3, 3)
_SVT_B_FRAMES = 15  # between two frames of the lowest layer of SVT-AV1's pyramid
_MACROBLOCK, _CODING_TREE = 16, 64
# NVENC counts AV1's quantiser index in 256 steps, SVT-AV1 in 64.
_SVT_QP_STEP, _SVT_MAX_QP = 4, 63
_SVT_BUFFER_MS = (20, 10000)
# x264 and x265 keep the ratio of quantisers between these bounds; in QP, a ratio is 6 * log2 of it.
_LEAST_RATIO, _MOST_RATIO = 0.01, 10.0
# x264 counts the QPs of 10-bit video from 0, the others from -12.
_X264_DEEP_QP = 12


@dataclass
class CpuSettings:
    """Settings of an encoder: `options` of libavcodec and `params` of the encoder library."""

    options: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)


def settings_for(parameters: EncodeParameters, width: int, height: int, deep: bool) -> CpuSettings:
    """Returns the settings of the CPU's encoder for frames of this size in pixels.

    Args:
      parameters: The parameters.
      width: The width of the frames.
      height: The height of the frames.
      deep: Whether samples have 10 bits.

    Raises:
      InvalidValueError, PyNvVCExceptionUnsupported: The encoder has no such setting; the message
        names the parameter and its value.
    """
    if parameters.codec == "h264":
        return _x264(parameters, width, height, deep)
    if parameters.codec == "hevc":
        return _x265(parameters, height)
    return _svt_av1(parameters)


def b_frames_of(parameters: EncodeParameters, settings: Mapping[str, str]) -> int:
    """Returns the largest number of B-frames in a row that an encoder with these settings makes."""
    if parameters.gop == 1 or settings.get("pred-struct") == "1":
        return 0
    if "bf" in settings:
        return int(settings["bf"])
    if parameters.codec == "av1":
        return _SVT_B_FRAMES
    of_preset = _X264_B_FRAMES if parameters.codec == "h264" else _X265_B_FRAMES
    return of_preset[parameters.preset - 1]


def _equal(name: str, qps: tuple[int, int, int], encoder: str) -> int:
    if len(set(qps)) != 1:
        raise PyNvVCExceptionUnsupported(
            f"{name}={list(qps)}: {encoder} has one for P, B and I frames: give three equal ones"
        )
    return qps[0]


def _qp_ratios(qp: tuple[int, int, int], encoder: str) -> dict[str, str]:
    """Returns the ratios of quantisers, P to I and B to P. A quantiser doubles every 6 QP."""
    ratios = {"ipratio": 2 ** ((qp[0] - qp[2]) / 6), "pbratio": 2 ** ((qp[1] - qp[0]) / 6)}
    for name, ratio in ratios.items():
        if not _LEAST_RATIO <= ratio <= _MOST_RATIO:
            raise PyNvVCExceptionUnsupported(
                f"constqp={list(qp)}: {encoder} keeps {name} from {_LEAST_RATIO} to {_MOST_RATIO}, "
                f"that is 2 ** (difference / 6); got {ratio:.3g}"
            )
    return {name: f"{ratio:.6f}" for name, ratio in ratios.items()}


def _x26x_rate(parameters: EncodeParameters, settings: CpuSettings) -> None:
    settings.options["b"] = str(parameters.bitrate)
    size = parameters.vbv_size
    if parameters.rc == "cbr":
        most = parameters.bitrate
        size = size or parameters.bitrate
        if parameters.max_bitrate not in (None, most):
            ignore("maxbitrate", "rc cbr keeps the bitrate")
    else:
        most = parameters.max_bitrate or (2 * parameters.bitrate if size else 0)
        size = size or most
    if most:
        settings.options["maxrate"] = str(most)
        settings.options["bufsize"] = str(size)
    if parameters.vbv_start is not None and size:
        settings.params["vbv-init"] = f"{parameters.vbv_start / size:.6f}"


def _x26x(parameters: EncodeParameters, encoder: str, deep_qp: int) -> CpuSettings:
    """Returns the settings that have the same names in x264 and x265."""
    settings = CpuSettings()
    options, params = settings.options, settings.params
    options["preset"] = _X26X_PRESETS[parameters.preset - 1]
    options["forced-idr"] = "1"
    params["scenecut"] = "0"
    b_frames = parameters.b_frames
    if parameters.low_latency:
        options["tune"] = "zerolatency"
        b_frames = b_frames or 0
    if b_frames is not None:
        options["bf"] = str(b_frames)
        params["b-adapt"] = "0"
    if parameters.rc != "constqp":
        _x26x_rate(parameters, settings)
    elif not parameters.lossless:
        options["qp"] = str(parameters.qp[0] + deep_qp)
        params.update(_qp_ratios(parameters.qp, encoder))
        params["b-pyramid"] = "0"  # a B-frame that others refer to would get another QP
    if parameters.qp_min is not None:
        params["qpmin"] = str(_equal("qmin", parameters.qp_min, encoder) + deep_qp)
    if parameters.qp_max is not None:
        params["qpmax"] = str(_equal("qmax", parameters.qp_max, encoder) + deep_qp)
    if parameters.lookahead is not None:
        params["rc-lookahead"] = str(min(parameters.lookahead, _X26X_LOOKAHEAD))
    if parameters.aq is not None:
        if parameters.rc == "constqp":
            ignore("aq", f"{encoder} keeps rc constqp to the letter")
        else:
            params["aq-mode"] = "1"
            params["aq-strength"] = str(parameters.aq / 8 if parameters.aq else 1.0)
    return settings


def _check_slices(data: int, rows: int, what: str) -> None:
    if data > rows:
        raise InvalidValueError(f"slice::data={data}: a frame has {rows} {what}")


def _x264(parameters: EncodeParameters, width: int, height: int, deep: bool) -> CpuSettings:
    settings = _x26x(parameters, "libx264", _X264_DEEP_QP if deep else 0)
    if parameters.lossless:
        settings.options["qp"] = "0"
    if parameters.temporal_aq is not None:
        if parameters.rc == "constqp":
            ignore("temporalaq", "libx264 keeps rc constqp to the letter")
        else:
            settings.params["mbtree"] = str(parameters.temporal_aq)
    if parameters.slices is not None:
        mode, data = parameters.slices
        columns, rows = math.ceil(width / _MACROBLOCK), math.ceil(height / _MACROBLOCK)
        if mode == 1:
            settings.params["slice-max-size"] = str(data)
        elif mode == 3:
            _check_slices(data, rows, "rows of macroblocks")
            settings.params["slices"] = str(data)
        else:
            settings.params["slice-max-mbs"] = str(min(data * (columns if mode == 2 else 1), 2**30))
        if parameters.low_latency:
            # With more threads the encoder would cut each frame into slices for them.
            settings.options["threads"] = "1"
    return settings


def _look_past_b_frames(parameters: EncodeParameters, settings: CpuSettings) -> None:
    """Makes the look-ahead longer than the B-frames in a row, as x265 requires."""
    preset = parameters.preset - 1
    low_latency, lookahead = parameters.low_latency, parameters.lookahead
    b_frames = parameters.b_frames
    if b_frames is None:
        b_frames = 0 if low_latency else _X265_B_FRAMES[preset]
    if lookahead:
        if b_frames < lookahead:
            return
        if parameters.b_frames is not None:
            raise InvalidValueError(
                f"lookahead={lookahead}: libx265 looks further ahead than bf={b_frames}: give "
                "more, or fewer B-frames"
            )
        settings.options["bf"] = str(lookahead - 1)
        return
    ahead = 0 if low_latency or lookahead == 0 else _X265_LOOKAHEAD[preset]
    if 0 < b_frames >= ahead:
        settings.params["rc-lookahead"] = str(b_frames + 1)


def _x265(parameters: EncodeParameters, height: int) -> CpuSettings:
    settings = _x26x(parameters, "libx265", 0)
    _look_past_b_frames(parameters, settings)
    settings.params["open-gop"] = "0"
    settings.params["info"] = "0"  # no message with x265's settings in the parameter sets
    if parameters.lossless:
        settings.params["lossless"] = "1"
    if parameters.temporal_aq is not None:
        if parameters.rc == "constqp":
            ignore("temporalaq", "libx265 keeps rc constqp to the letter")
        else:
            settings.params["cutree"] = str(parameters.temporal_aq)
    if parameters.slices is not None:
        mode, data = parameters.slices
        if mode != 3:
            raise PyNvVCExceptionUnsupported(
                f"slice::mode={mode}: libx265 counts slices only: use slice::mode 3"
            )
        _check_slices(data, math.ceil(height / _CODING_TREE), "rows of coding tree units")
        settings.params["slices"] = str(data)
    return settings


def _svt_qp(qp: int) -> int:
    return min(max(round(qp / _SVT_QP_STEP), 1), _SVT_MAX_QP)


def _svt_constant_qp(qp: tuple[int, int, int], settings: CpuSettings) -> None:
    if qp[0] != qp[1]:
        raise PyNvVCExceptionUnsupported(
            f"constqp={list(qp)}: libsvtav1 has one for P and B frames: give two equal ones"
        )
    base = _svt_qp(qp[0])
    settings.options["qp"] = str(base)
    # Otherwise each layer of the pyramid has an offset of its own. The offsets count NVENC's steps.
    settings.params["use-fixed-qindex-offsets"] = "1"
    settings.params["key-frame-qindex-offset"] = str(qp[2] - base * _SVT_QP_STEP)


def _svt_low_delay(parameters: EncodeParameters) -> bool:
    if parameters.rc == "vbr" and parameters.b_frames == 0 and not parameters.low_latency:
        ignore("bf", "on the CPU, SVT-AV1 goes without B-frames with rc cbr and constqp only")
        return False
    return parameters.low_latency or parameters.rc == "cbr" or parameters.b_frames == 0


def _svt_rate(parameters: EncodeParameters, settings: CpuSettings) -> None:
    if parameters.gop == 1:
        raise PyNvVCExceptionUnsupported(
            f"gop=1 with rc {parameters.rc}: SVT-AV1 makes every frame a key frame with rc constqp "
            "only"
        )
    settings.options["b"] = str(parameters.bitrate)
    if parameters.rc == "vbr" and not parameters.low_latency:
        if parameters.vbv_size is not None:
            ignore("vbvbufsize", "on the CPU, SVT-AV1 has a buffer with rc cbr only")
        return
    if parameters.rc == "vbr":
        ignore("rc", "on the CPU, SVT-AV1 has rc cbr for low latency, in place of vbr")
    settings.params["rc"] = "2"
    if parameters.vbv_size is not None:
        milliseconds = 1000 * parameters.vbv_size // parameters.bitrate
        least, most = _SVT_BUFFER_MS
        settings.params["buf-sz"] = str(min(max(milliseconds, least), most))


def _svt_av1(parameters: EncodeParameters) -> CpuSettings:
    settings = CpuSettings()
    options, params = settings.options, settings.params
    if parameters.lossless:
        raise PyNvVCExceptionUnsupported(
            "tuning_info=lossless: SVT-AV1 has no lossless mode: use codec h264 or hevc"
        )
    options["preset"] = str(_SVT_PRESETS[parameters.preset - 1])
    options["flags"] = "+cgop"
    params["scd"] = "0"
    if _svt_low_delay(parameters):
        params["pred-struct"] = "1"
    if parameters.b_frames:
        ignore("bf", "on the CPU, SVT-AV1's pyramid decides how many frames look forward")
    if parameters.rc == "constqp":
        _svt_constant_qp(parameters.qp, settings)
    else:
        _svt_rate(parameters, settings)
    if parameters.qp_min is not None:
        options["qmin"] = str(_svt_qp(_equal("qmin", parameters.qp_min, "libsvtav1")))
    if parameters.qp_max is not None:
        options["qmax"] = str(_svt_qp(_equal("qmax", parameters.qp_max, "libsvtav1")))
    if parameters.lookahead is not None:
        params["lookahead"] = str(min(parameters.lookahead, _SVT_LOOKAHEAD))
    return settings
