"""Changes a running encoder: GetEncodeReconfigureParams and Reconfigure."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from tf_nvcodec.compat.encode_parameters import EncodeParameters, ignore
from tf_nvcodec.compat.encoder_enums import NV_ENC_MULTI_PASS, NV_ENC_PARAMS_RC_MODE
from tf_nvcodec.compat.errors import InvalidValueError, PyNvVCExceptionUnsupported

_MODES = {
    "constqp": NV_ENC_PARAMS_RC_MODE.CONSTQP,
    "vbr": NV_ENC_PARAMS_RC_MODE.VBR,
    "cbr": NV_ENC_PARAMS_RC_MODE.CBR,
}
_PASSES = {
    None: NV_ENC_MULTI_PASS.DISABLED,
    "qres": NV_ENC_MULTI_PASS.TWO_PASS_QUARTER_RESOLUTION,
    "fullres": NV_ENC_MULTI_PASS.TWO_PASS_FULL_RESOLUTION,
}


@dataclass
class EncodeReconfigureParams:
    """The rates of an encoder, in bits per second, and its buffers, in bits; 0 is unset."""

    rateControlMode: int
    multiPass: int
    averageBitrate: int
    vbvBufferSize: int
    maxBitRate: int
    vbvInitialDelay: int
    frameRateNum: int
    frameRateDen: int

    def copy(self) -> EncodeReconfigureParams:
        return copy.copy(self)


class Rate(NamedTuple):
    bitrate: int
    max_bitrate: int
    vbv_size: int
    fps: Fraction


def reconfigure_params(values: EncodeParameters) -> EncodeReconfigureParams:
    """Returns the parameters that an encoder of `values` starts with."""
    size = values.vbv_size or values.max_bitrate or 0
    if values.rc == "cbr":
        size = values.vbv_size or values.bitrate
    return EncodeReconfigureParams(
        rateControlMode=_MODES[values.rc],
        multiPass=_PASSES[values.multipass],
        averageBitrate=values.bitrate,
        vbvBufferSize=size,
        maxBitRate=values.max_bitrate or 0,
        vbvInitialDelay=values.vbv_start or 0,
        frameRateNum=values.fps.numerator,
        frameRateDen=values.fps.denominator,
    )


def _check_initial_delay(wanted: EncodeReconfigureParams, resized: bool) -> None:
    """Refuses another start of the same VBV buffer, and warns about that of a resized one."""
    start, size = wanted.vbvInitialDelay, wanted.vbvBufferSize
    if start > size:
        raise InvalidValueError(f"vbvInitialDelay={start} is above the vbvBufferSize of {size}")
    why = "the VBV buffer is filled only once, at the start of the stream"
    if not resized:
        raise PyNvVCExceptionUnsupported(
            f"vbvInitialDelay={start}: {why}: create another encoder, with vbvinit"
        )
    ignore("vbvInitialDelay", f"{why}; the new vbvBufferSize holds")


def rate_of(
    now: EncodeReconfigureParams, wanted: EncodeReconfigureParams, codec: str
) -> Rate | None:
    """Returns the rate that changes an encoder from `now` to `wanted`, or None for no change.

    Raises:
      InvalidValueError, PyNvVCExceptionUnsupported: As Reconfigure.
    """
    for name, value in vars(wanted).items():
        least = 1 if name.startswith("frameRate") else 0
        if not isinstance(value, int) or not least <= value < 2**31:
            raise InvalidValueError(f"{name} must be a whole number from {least} on; got {value!r}")
    changed = [name for name, value in vars(wanted).items() if value != getattr(now, name)]
    constant = NV_ENC_PARAMS_RC_MODE.CONSTQP
    if constant in (now.rateControlMode, wanted.rateControlMode):
        # Half of no bitrate is no bitrate, so this is an error even if nothing changes.
        what = f"{changed[0]}={getattr(wanted, changed[0])}" if changed else "Reconfigure"
        raise PyNvVCExceptionUnsupported(
            f"{what}: an encoder of codec {codec} can't begin or cease to control its rate, nor "
            'change anything with rc constqp: create one with a bitrate, or with rc "cbr" or "vbr"'
        )
    if "multiPass" in changed:
        raise PyNvVCExceptionUnsupported(
            f"multiPass={wanted.multiPass}: passes stay as they were at the start: create another "
            "encoder, with multipass"
        )
    if "vbvInitialDelay" in changed:
        _check_initial_delay(wanted, "vbvBufferSize" in changed)
        changed.remove("vbvInitialDelay")
    if not changed:
        return None
    if wanted.rateControlMode not in _MODES.values():
        raise InvalidValueError(
            f"rateControlMode must be of NV_ENC_PARAMS_RC_MODE; got {wanted.rateControlMode}"
        )
    if wanted.averageBitrate < 1000:
        raise InvalidValueError(
            f"averageBitrate must be at least 1000 bits per second; got {wanted.averageBitrate}"
        )
    most = wanted.maxBitRate
    if wanted.rateControlMode == NV_ENC_PARAMS_RC_MODE.CBR:
        most = wanted.averageBitrate
    elif wanted.vbvBufferSize and not most:
        most = 2 * wanted.averageBitrate
    if most and most < wanted.averageBitrate:
        raise InvalidValueError(
            f"maxBitRate={most} is below the averageBitrate of {wanted.averageBitrate}"
        )
    fps = Fraction(wanted.frameRateNum, wanted.frameRateDen)
    size = wanted.vbvBufferSize if most else 0
    return Rate(wanted.averageBitrate, most, size, fps)
